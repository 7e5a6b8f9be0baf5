//! Parses the settings of the attribute, and checks them against the function.
//!
//! It reports names that match no parameter, so that no description lacks an argument that a person expects.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Token};

use crate::faults::Faults;
use crate::function::Function;

const KNOWN: &str = "`description`, `exclude_keys`, `name`, `payload`, `presentation` and `risk`";
const RISKS: [(&str, &str); 3] = [("low", "Low"), ("high", "High"), ("irreversible", "Irreversible")];

/// The settings of one tool.
pub(crate) struct Settings {
    /// The name that the model sees.
    pub(crate) name: String,
    /// The description that a person reads.
    pub(crate) description: Option<Description>,
    /// The arguments that go into neither memory nor the audit log.
    pub(crate) exclude_keys: Vec<LitStr>,
    /// The function that makes the payload.
    pub(crate) payload: Option<Expr>,
    /// The function that makes the content of the prompt.
    pub(crate) presentation: Option<Expr>,
    /// The variant of `Risk`.
    pub(crate) risk: Option<Ident>,
}

/// The description that a person reads.
pub(crate) enum Description {
    /// A text with arguments filled in.
    Template(LitStr),
    /// A function that makes the text.
    Function(Expr),
}

impl Settings {
    /// Parses the tokens in the parentheses of the attribute.
    pub(crate) fn read(tokens: TokenStream, function: &Function) -> syn::Result<Self> {
        let pairs = Punctuated::<Pair, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut faults = Faults::default();
        let mut seen: Vec<&Ident> = Vec::new();
        let mut named: Option<LitStr> = None;
        let mut settings = Self {
            name: function.plain_name(),
            description: None,
            exclude_keys: Vec::new(),
            payload: None,
            presentation: None,
            risk: None,
        };
        for Pair { key, value } in &pairs {
            if seen.contains(&key) {
                faults.at(key, format!("duplicate setting `{key}`"));
                continue;
            }
            seen.push(key);
            match key.to_string().as_str() {
                "description" => settings.description = faults.keep(description(key, value)),
                "exclude_keys" => settings.exclude_keys = faults.keep(texts(key, value)).unwrap_or_default(),
                "name" => named = faults.keep(text(key, value)),
                "payload" => settings.payload = faults.keep(callable(key, value)),
                "presentation" => settings.presentation = faults.keep(callable(key, value)),
                "risk" => settings.risk = faults.keep(text(key, value).and_then(|text| risk(&text))),
                _ => faults.at(key, format!("unknown setting `{key}`\nhint: the settings are {KNOWN}")),
            }
        }
        if let Some(name) = &named {
            settings.name = name.value();
        }
        check_name(&settings.name, named.map_or(function.name.span(), |name| name.span()), &mut faults);
        settings.check_keys(function, &mut faults);
        settings.check_template(function, &mut faults);
        faults.none_or(settings)
    }

    fn check_keys(&self, function: &Function, faults: &mut Faults) {
        let mut seen = Vec::new();
        for key in &self.exclude_keys {
            let name = key.value();
            if !function.arguments().any(|argument| argument.key() == name) {
                faults.at(key, no_argument(&name, function));
            } else if seen.contains(&name) {
                faults.at(key, format!("duplicate key `{name}`"));
            }
            seen.push(name);
        }
    }

    fn check_template(&self, function: &Function, faults: &mut Faults) {
        let Some(Description::Template(literal)) = &self.description else { return };
        let text = literal.value();
        if text.trim().is_empty() {
            faults.at(
                literal,
                "the description is empty\nhint: omit it to get a description made from the arguments",
            );
        }
        for part in text.split('{').skip(1) {
            let Some((name, _)) = part.split_once('}') else {
                faults.at(
                    literal,
                    "missing `}` after `{`\nhint: use a closure to make a description that contains braces",
                );
                continue;
            };
            if !function.arguments().any(|argument| argument.key() == name) {
                faults.at(literal, no_argument(&format!("{{{name}}}"), function));
            } else if self.exclude_keys.iter().any(|key| key.value() == name) {
                faults.at(literal, format!("`{name}` is excluded, so the description cannot show it"));
            }
        }
    }

    /// Generates the method calls that build the `ApprovalSpec`.
    ///
    /// `exclude_keys` comes first, because `description` uses it.
    pub(crate) fn steps(&self) -> TokenStream {
        let mut steps = TokenStream::new();
        if !self.exclude_keys.is_empty() {
            let keys = &self.exclude_keys;
            steps.extend(quote!(.exclude_keys([#(#keys),*])));
        }
        match &self.description {
            Some(Description::Template(text)) => steps.extend(quote!(.description(#text))),
            Some(Description::Function(f)) => steps.extend(quote!(.description_with(#f))),
            None => {}
        }
        if let Some(f) = &self.payload {
            steps.extend(quote!(.payload(#f)));
        }
        if let Some(f) = &self.presentation {
            steps.extend(quote!(.presentation(#f)));
        }
        if let Some(risk) = &self.risk {
            steps.extend(quote!(.risk(::askfirst::Risk::#risk)));
        }
        steps
    }
}

/// One setting: `key = value`.
struct Pair {
    key: Ident,
    value: Expr,
}

impl syn::parse::Parse for Pair {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        let error =
            |_| Error::new(span, format!("expected `setting = value`\nhint: the settings are {KNOWN}"));
        let key = input.call(Ident::parse_any).map_err(error)?;
        input.parse::<Token![=]>().map_err(error)?;
        Ok(Self { key, value: input.parse()? })
    }
}

fn no_argument(name: &str, function: &Function) -> String {
    let keys: Vec<String> = function.arguments().map(|argument| format!("`{}`", argument.key())).collect();
    let keys = if keys.is_empty() {
        "it has no arguments".to_owned()
    } else {
        format!("its arguments are {}", keys.join(", "))
    };
    format!("`{name}` is not an argument of `{}`\nhint: {keys}", function.plain_name())
}

fn check_name(name: &str, span: Span, faults: &mut Faults) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if name.is_empty() || !name.chars().all(fits) {
        faults.spanned(
            span,
            format!("invalid tool name `{name}`\nhint: set `name = \"…\"` with ASCII letters, digits, `_`, `-`, `.` and `/`"),
        );
    }
}

fn description(key: &Ident, value: &Expr) -> syn::Result<Description> {
    if let Ok(template) = text(key, value) {
        return Ok(Description::Template(template));
    }
    callable(key, value).map(Description::Function).map_err(|_| {
        Error::new_spanned(value, "`description` must be a string, the name of a function, or a closure")
    })
}

fn callable(key: &Ident, value: &Expr) -> syn::Result<Expr> {
    match bare(value) {
        Expr::Path(_) | Expr::Closure(_) => Ok(value.clone()),
        _ => Err(Error::new_spanned(value, format!("`{key}` must be the name of a function or a closure"))),
    }
}

fn text(key: &Ident, value: &Expr) -> syn::Result<LitStr> {
    match bare(value) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        _ => Err(Error::new_spanned(value, format!("`{key}` must be a string"))),
    }
}

fn texts(key: &Ident, value: &Expr) -> syn::Result<Vec<LitStr>> {
    let error = || {
        let message = format!("`{key}` must be a list of strings\nhint: write `{key} = [\"body\"]`");
        Error::new_spanned(value, message)
    };
    match bare(value) {
        Expr::Array(list) => list.elems.iter().map(|item| text(key, item).map_err(|_| error())).collect(),
        _ => Err(error()),
    }
}

fn risk(word: &LitStr) -> syn::Result<Ident> {
    let text = word.value();
    let known = RISKS.iter().find(|(name, _)| *name == text);
    known.map(|(_, variant)| format_ident!("{variant}", span = word.span())).ok_or_else(|| {
        Error::new(
            word.span(),
            format!("unknown risk `{text}`\nhint: the risks are `low`, `high` and `irreversible`"),
        )
    })
}

/// Returns the expression without invisible groups and parentheses around it.
fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}
