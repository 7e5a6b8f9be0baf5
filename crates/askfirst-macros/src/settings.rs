//! What stands in the brackets of the attribute, checked against the function. A name that fits no parameter is
//! refused here, so that no description shows a blank where a person expects an argument.

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
    /// How a person is told what a call does.
    pub(crate) description: Option<Description>,
    /// Arguments that are neither remembered nor recorded.
    pub(crate) exclude_keys: Vec<LitStr>,
    /// Makes the fingerprint.
    pub(crate) payload: Option<Expr>,
    /// Makes what is shown.
    pub(crate) presentation: Option<Expr>,
    /// The variant of `Risk`.
    pub(crate) risk: Option<Ident>,
}

/// How a person is told what a call does.
pub(crate) enum Description {
    /// A text with arguments filled in.
    Template(LitStr),
    /// A function makes it.
    Made(Expr),
}

impl Settings {
    /// Reads what stands in the brackets.
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
                faults.at(key, format!("`{key}` stands twice"));
                continue;
            }
            seen.push(key);
            match key.to_string().as_str() {
                "description" => settings.description = faults.keep(description(key, value)),
                "exclude_keys" => settings.exclude_keys = faults.keep(texts(key, value)).unwrap_or_default(),
                "name" => named = faults.keep(text(key, value)),
                "payload" => settings.payload = faults.keep(made(key, value)),
                "presentation" => settings.presentation = faults.keep(made(key, value)),
                "risk" => settings.risk = faults.keep(text(key, value).and_then(|text| risk(&text))),
                _ => faults.at(key, format!("there is no setting `{key}`\nhint: there are {KNOWN}")),
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
                faults.at(key, format!("`{name}` stands twice"));
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
                "the description is empty\nhint: leave it out to have one made from the arguments",
            );
        }
        for part in text.split('{').skip(1) {
            let Some((name, _)) = part.split_once('}') else {
                faults.at(
                    literal,
                    "a `{` has no `}`\nhint: a closure can make a description with braces in it",
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

    /// The calls that build the specification. The description takes the excluded keys from it, so they come first.
    pub(crate) fn steps(&self) -> TokenStream {
        let mut steps = TokenStream::new();
        if !self.exclude_keys.is_empty() {
            let keys = &self.exclude_keys;
            steps.extend(quote!(.exclude_keys([#(#keys),*])));
        }
        match &self.description {
            Some(Description::Template(text)) => steps.extend(quote!(.description(#text))),
            Some(Description::Made(made)) => steps.extend(quote!(.description_with(#made))),
            None => {}
        }
        if let Some(made) = &self.payload {
            steps.extend(quote!(.payload(#made)));
        }
        if let Some(made) = &self.presentation {
            steps.extend(quote!(.presentation(#made)));
        }
        if let Some(risk) = &self.risk {
            steps.extend(quote!(.risk(::askfirst::Risk::#risk)));
        }
        steps
    }
}

/// `key = value`.
struct Pair {
    key: Ident,
    value: Expr,
}

impl syn::parse::Parse for Pair {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let place = input.span();
        let shape = |_| Error::new(place, format!("expected `setting = value`\nhint: there are {KNOWN}"));
        let key = input.call(Ident::parse_any).map_err(shape)?;
        input.parse::<Token![=]>().map_err(shape)?;
        Ok(Self { key, value: input.parse()? })
    }
}

fn no_argument(name: &str, function: &Function) -> String {
    let keys: Vec<String> = function.arguments().map(|argument| format!("`{}`", argument.key())).collect();
    let keys = if keys.is_empty() { "it has none".to_owned() } else { format!("it has {}", keys.join(", ")) };
    format!("`{name}` is no argument of `{}`\nhint: {keys}", function.plain_name())
}

fn check_name(name: &str, span: Span, faults: &mut Faults) {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if name.is_empty() || !name.chars().all(fits) {
        faults.spanned(
            span,
            format!("`{name}` cannot name a tool\nhint: use ASCII letters, digits, `_`, `-`, `.` and `/` in `name = \"…\"`"),
        );
    }
}

fn description(key: &Ident, value: &Expr) -> syn::Result<Description> {
    if let Ok(template) = text(key, value) {
        return Ok(Description::Template(template));
    }
    made(key, value).map(Description::Made).map_err(|_| {
        Error::new_spanned(value, "`description` takes a text, the name of a function or a closure")
    })
}

fn made(key: &Ident, value: &Expr) -> syn::Result<Expr> {
    match bare(value) {
        Expr::Path(_) | Expr::Closure(_) => Ok(value.clone()),
        _ => Err(Error::new_spanned(value, format!("`{key}` takes the name of a function or a closure"))),
    }
}

fn text(key: &Ident, value: &Expr) -> syn::Result<LitStr> {
    match bare(value) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        _ => Err(Error::new_spanned(value, format!("`{key}` takes a text"))),
    }
}

fn texts(key: &Ident, value: &Expr) -> syn::Result<Vec<LitStr>> {
    let fault =
        || Error::new_spanned(value, format!("`{key}` takes a list of texts\nhint: `{key} = [\"body\"]`"));
    match bare(value) {
        Expr::Array(list) => list.elems.iter().map(|one| text(key, one).map_err(|_| fault())).collect(),
        _ => Err(fault()),
    }
}

fn risk(word: &LitStr) -> syn::Result<Ident> {
    let text = word.value();
    let known = RISKS.iter().find(|(name, _)| *name == text);
    known.map(|(_, variant)| format_ident!("{variant}", span = word.span())).ok_or_else(|| {
        Error::new(
            word.span(),
            format!("there is no risk `{text}`\nhint: there are `low`, `high` and `irreversible`"),
        )
    })
}

/// The expression without the invisible or plain brackets around it.
fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        other => other,
    }
}
