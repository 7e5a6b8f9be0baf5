//! Parses one parameter: the type that the tool owns for it, and how the tool passes it to the function.
//!
//! It reports parameters that would have to outlive the call, and those that cannot come from JSON.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, GenericArgument, Pat, PatType, Path, PathArguments, Type, TypeReference};

/// A parameter of the function.
pub(crate) enum Parameter {
    /// The parameter is an argument of the tool.
    Argument(Argument),
    /// The parameter is the invocation.
    Invocation(PassingMode, Span),
}

/// A parameter that is an argument of the tool.
pub(crate) struct Argument {
    /// The name in the source code.
    pub(crate) name: Ident,
    /// The type that the tool owns.
    pub(crate) owned_type: TokenStream,
    mode: PassingMode,
}

/// How the tool passes an owned value to the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassingMode {
    /// By value.
    Value,
    /// By reference.
    Reference,
    /// As an `Option` of a reference, with `as_ref`.
    OptionRef,
    /// As an `Option` of a dereferenced value, with `as_deref`: a `String` as `&str`.
    OptionDeref,
}

impl Parameter {
    /// Parses a parameter.
    pub(crate) fn read(input: &PatType) -> syn::Result<Self> {
        if let Some(condition) = input.attrs.iter().find(|attribute| is_condition(attribute.path())) {
            return Err(Error::new_spanned(condition, "a parameter of a tool cannot have a `cfg` attribute"));
        }
        let name = name(&input.pat)?;
        let ty = bare(&input.ty);
        if is_invocation(ty) {
            return Ok(Self::Invocation(PassingMode::Value, name.span()));
        }
        let (owned_type, mode) = match ty {
            Type::Reference(reference) => {
                if reference.mutability.is_none() && is_invocation(bare(&reference.elem)) {
                    return Ok(Self::Invocation(PassingMode::Reference, name.span()));
                }
                (owned_form(reference)?.ty, PassingMode::Reference)
            }
            _ => match option_of_reference(ty) {
                Some(reference) => {
                    let OwnedForm { ty: owned_type, in_option } = owned_form(reference)?;
                    (quote_spanned!(ty.span()=> ::core::option::Option<#owned_type>), in_option)
                }
                None => {
                    check_owned(ty)?;
                    (ty.to_token_stream(), PassingMode::Value)
                }
            },
        };
        Ok(Self::Argument(Argument { name, owned_type, mode }))
    }

    /// Returns the argument, if the parameter is one.
    pub(crate) fn argument(&self) -> Option<&Argument> {
        match self {
            Self::Argument(argument) => Some(argument),
            Self::Invocation(..) => None,
        }
    }

    /// Returns the span of the parameter, if it is the invocation.
    pub(crate) fn invocation(&self) -> Option<Span> {
        match self {
            Self::Invocation(_, span) => Some(*span),
            Self::Argument(_) => None,
        }
    }

    /// Generates the expression that passes the parameter to the function.
    pub(crate) fn pass(&self, arguments: &Ident, invocation: &Ident) -> TokenStream {
        let (value, mode) = match self {
            Self::Argument(Argument { name, mode, .. }) => (quote!(#arguments.#name), mode),
            Self::Invocation(mode, _) => (invocation.to_token_stream(), mode),
        };
        match mode {
            PassingMode::Value => value,
            PassingMode::Reference => quote!(&#value),
            PassingMode::OptionRef => quote!(#value.as_ref()),
            PassingMode::OptionDeref => quote!(#value.as_deref()),
        }
    }
}

impl Argument {
    /// Returns the argument's name in a call.
    pub(crate) fn key(&self) -> String {
        self.name.unraw().to_string()
    }
}

/// Whether an attribute can remove a parameter from the program.
fn is_condition(attribute: &Path) -> bool {
    attribute.is_ident("cfg") || attribute.is_ident("cfg_attr")
}

fn name(pattern: &Pat) -> syn::Result<Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(pattern.ident.clone())
        }
        other => Err(Error::new_spanned(
            other,
            "a parameter of a tool needs a plain name\nhint: destructure it in the body",
        )),
    }
}

/// The owned form of a borrowed type.
struct OwnedForm {
    ty: TokenStream,
    /// How the tool passes the value if it is in an `Option`.
    in_option: PassingMode,
}

fn owned_form(reference: &TypeReference) -> syn::Result<OwnedForm> {
    if let Some(token) = &reference.mutability {
        return Err(Error::new_spanned(token, "a tool cannot change its arguments\nhint: take it by value"));
    }
    if let Some(lifetime) = &reference.lifetime {
        return Err(Error::new_spanned(
            lifetime,
            "an argument lives only as long as the call\nhint: take it by value",
        ));
    }
    let inner = bare(&reference.elem);
    let span = inner.span();
    match inner {
        Type::Slice(slice) => {
            check_owned(&slice.elem)?;
            let element = &slice.elem;
            let ty = quote_spanned!(span=> ::std::vec::Vec<#element>);
            Ok(OwnedForm { ty, in_option: PassingMode::OptionDeref })
        }
        Type::Path(path) if path.path.is_ident("str") => {
            let ty = quote_spanned!(span=> ::std::string::String);
            Ok(OwnedForm { ty, in_option: PassingMode::OptionDeref })
        }
        Type::Path(path) if ends_with(&path.path, "Path") => Ok(OwnedForm {
            ty: quote_spanned!(span=> <#path as ::std::borrow::ToOwned>::Owned),
            in_option: PassingMode::OptionDeref,
        }),
        other => {
            check_owned(other)?;
            Ok(OwnedForm { ty: quote!(#other), in_option: PassingMode::OptionRef })
        }
    }
}

/// Returns the reference in an `Option<&T>`.
fn option_of_reference(ty: &Type) -> Option<&TypeReference> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(inside) = &last.arguments else { return None };
    match inside.args.first() {
        Some(GenericArgument::Type(inner)) if inside.args.len() == 1 => match bare(inner) {
            Type::Reference(reference) => Some(reference),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the type without invisible groups and parentheses around it.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        other => other,
    }
}

fn is_invocation(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if ends_with(&path.path, "Invocation"))
}

fn ends_with(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name && last.arguments.is_none())
}

/// Reports types whose tokens show that a tool cannot own them.
fn check_owned(ty: &Type) -> syn::Result<()> {
    check_tokens(ty.to_token_stream())
}

fn check_tokens(tokens: TokenStream) -> syn::Result<()> {
    let mut after_tick = false;
    for token in tokens {
        let tick = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        let message = match &token {
            TokenTree::Group(group) => {
                check_tokens(group.stream())?;
                None
            }
            TokenTree::Punct(punct) => (punct.as_char() == '&').then_some(
                "an argument cannot contain a reference inside another type\nhint: take owned values",
            ),
            TokenTree::Ident(ident) if after_tick => (ident != "static")
                .then_some("an argument lives only as long as the call\nhint: take owned values"),
            TokenTree::Ident(ident) => match ident.to_string().as_str() {
                "impl" => Some("a tool needs concrete types\nhint: name the type instead of `impl`"),
                "dyn" => Some("a trait object cannot be an argument\nhint: name the type instead of `dyn`"),
                "Self" => {
                    Some("an argument cannot have the type `Self`\nhint: name the type instead of `Self`")
                }
                _ => None,
            },
            TokenTree::Literal(_) => None,
        };
        if let Some(message) = message {
            return Err(Error::new(token.span(), message));
        }
        after_tick = tick;
    }
    Ok(())
}
