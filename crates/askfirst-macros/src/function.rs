//! Parses the marked function, and reports functions that cannot become a tool.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Item, Lit, Meta, Receiver, ReturnType, Signature, Visibility,
};

use crate::faults::Faults;
use crate::parameter::{Argument, Parameter};

/// The kind of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// A free function.
    Free,
    /// A method that takes `&self`.
    Method,
}

/// A function that can become a tool.
pub(crate) struct Function {
    pub(crate) name: Ident,
    pub(crate) visibility: Visibility,
    /// The `cfg` attributes of the function.
    pub(crate) conditions: Vec<Attribute>,
    /// The doc comment: a text, or an expression that gives one.
    pub(crate) doc: TokenStream,
    pub(crate) asyncness: Option<syn::Token![async]>,
    pub(crate) kind: FunctionKind,
    pub(crate) parameters: Vec<Parameter>,
    /// The span of the return type.
    pub(crate) output: Span,
}

impl Function {
    /// Parses the item under the attribute.
    pub(crate) fn read(item: TokenStream) -> syn::Result<Self> {
        let marked =
            syn::parse2::<MarkedFunction>(item.clone()).map_err(|fault| match syn::parse2::<Item>(item) {
                Ok(Item::Fn(_) | Item::Verbatim(_)) | Err(_) => fault,
                Ok(Item::Impl(_)) => Error::new(
                    Span::call_site(),
                    "`requires_approval` works only on functions\nhint: put it on the methods inside the `impl`",
                ),
                Ok(_) => Error::new(Span::call_site(), "`requires_approval` works only on functions"),
            })?;
        let signature = marked.signature;
        let mut faults = Faults::default();
        check_signature(&signature, &mut faults);
        if let Some(again) = marked.attributes.iter().find(|attribute| is_mark(attribute)) {
            faults.at(again, "duplicate attribute `requires_approval`");
        }
        if marked.body.is_none() {
            faults.at(&marked.end, "a tool needs a function with a body");
        }
        let (mut kind, mut parameters) = (FunctionKind::Free, Vec::new());
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    kind = FunctionKind::Method;
                    check_receiver(receiver, &mut faults);
                }
                FnArg::Typed(input) => parameters.extend(faults.keep(Parameter::read(input))),
            }
        }
        let mut invocations = parameters.iter().filter_map(Parameter::invocation);
        if let (Some(_), Some(second)) = (invocations.next(), invocations.next()) {
            faults.spanned(second, "a tool can have only one `Invocation` parameter");
        }
        let output = match &signature.output {
            ReturnType::Default => signature.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        faults.none_or(Self {
            name: signature.ident,
            visibility: marked.visibility,
            conditions: marked.attributes.iter().filter(|a| a.path().is_ident("cfg")).cloned().collect(),
            doc: doc(&marked.attributes),
            asyncness: signature.asyncness,
            kind,
            parameters,
            output,
        })
    }

    /// Iterates over the parameters that are arguments of the tool.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(Parameter::argument)
    }

    /// Returns the function's name without `r#`.
    pub(crate) fn plain_name(&self) -> String {
        self.name.unraw().to_string()
    }
}

/// A marked function whose body is not parsed.
struct MarkedFunction {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Option<TokenStream>,
    end: Option<syn::Token![;]>,
}

impl Parse for MarkedFunction {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.peek(syn::token::Brace).then(|| input.parse()).transpose()?,
            end: input.parse()?,
        })
    }
}

fn check_signature(signature: &Signature, faults: &mut Faults) {
    let name = &signature.ident;
    if let Some(token) = &signature.constness {
        faults.at(token, format!("`{name}` is `const`, but a tool runs only when it is called"));
    }
    if let Some(token) = &signature.unsafety {
        faults.at(token, format!("`{name}` is `unsafe`, but an agent cannot guarantee its preconditions"));
    }
    if let Some(abi) = &signature.abi {
        faults.at(abi, format!("`{name}` is `extern`, but a tool is a Rust function"));
    }
    if let Some(variadic) = &signature.variadic {
        faults.at(variadic, "a tool cannot be variadic\nhint: take a `Vec`");
    }
    if !signature.generics.params.is_empty() {
        faults.at(
            &signature.generics,
            format!("`{name}` is generic, but a tool needs concrete types\nhint: mark a function that calls it with concrete types"),
        );
    }
    if let Some(clause) = &signature.generics.where_clause {
        faults.at(clause, "a tool cannot have a `where` clause\nhint: put the bounds on the `impl`");
    }
}

fn check_receiver(receiver: &Receiver, faults: &mut Faults) {
    if receiver.reference.is_none() || receiver.mutability.is_some() {
        faults.at(receiver, "a tool shares `self` with other calls\nhint: take `&self`");
    }
}

fn is_mark(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "requires_approval")
}

fn doc(attributes: &[Attribute]) -> TokenStream {
    let parts = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
        _ => None,
    });
    let (mut texts, mut expressions) = (Vec::new(), Vec::new());
    for part in parts {
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = part {
            let text = text.value();
            let lines = text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line));
            texts.push(lines.collect::<Vec<_>>().join("\n"));
        } else {
            // Only the compiler can evaluate expressions such as `concat!` or `include_str!`.
            let before =
                std::mem::take(&mut texts).iter().map(|text| format!("{text}\n")).collect::<String>();
            expressions.push(quote!(#before, #part, "\n",));
        }
    }
    let text = texts.join("\n");
    if expressions.is_empty() {
        let text = text.trim();
        return quote!(#text);
    }
    quote!(::core::concat!(#(#expressions)* #text).trim())
}
