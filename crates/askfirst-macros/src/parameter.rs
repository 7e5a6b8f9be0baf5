//! One parameter: what the tool holds for it, and how that is handed to the function. What would have to live
//! longer than the call, or cannot come out of JSON, is refused here.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, GenericArgument, Pat, PatType, Path, PathArguments, Type, TypeReference};

/// A parameter.
pub(crate) enum Parameter {
    /// It comes with the call.
    Argument(Argument),
    /// It is the call.
    Invocation(Pass, Span),
}

/// A parameter that is an argument of the tool.
pub(crate) struct Argument {
    /// Its name, as it is written.
    pub(crate) name: Ident,
    /// The type that the tool holds.
    pub(crate) held: TokenStream,
    pass: Pass,
}

/// How something held is handed to the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// It is given away.
    Given,
    /// It is lent.
    Lent,
    /// What is in an option is lent.
    LentInside,
    /// What is in an option is lent as what it stands for: a `String` as `str`.
    LentDeref,
}

impl Parameter {
    /// Reads a parameter.
    pub(crate) fn read(input: &PatType) -> syn::Result<Self> {
        if let Some(condition) = input.attrs.iter().find(|attribute| is_condition(attribute.path())) {
            return Err(Error::new_spanned(condition, "a parameter of a tool must always be there"));
        }
        let name = name(&input.pat)?;
        let ty = bare(&input.ty);
        if is_invocation(ty) {
            return Ok(Self::Invocation(Pass::Given, name.span()));
        }
        let (held, pass) = match ty {
            Type::Reference(reference) => {
                if reference.mutability.is_none() && is_invocation(bare(&reference.elem)) {
                    return Ok(Self::Invocation(Pass::Lent, name.span()));
                }
                (owned(reference)?.held, Pass::Lent)
            }
            _ => match option_of_reference(ty) {
                Some(reference) => {
                    let Owned { held, inside } = owned(reference)?;
                    (quote_spanned!(ty.span()=> ::core::option::Option<#held>), inside)
                }
                None => {
                    check_owned(ty)?;
                    (ty.to_token_stream(), Pass::Given)
                }
            },
        };
        Ok(Self::Argument(Argument { name, held, pass }))
    }

    /// The argument, if it is one.
    pub(crate) fn argument(&self) -> Option<&Argument> {
        match self {
            Self::Argument(argument) => Some(argument),
            Self::Invocation(..) => None,
        }
    }

    /// Where the invocation is asked for, if it is.
    pub(crate) fn invocation(&self) -> Option<Span> {
        match self {
            Self::Invocation(_, span) => Some(*span),
            Self::Argument(_) => None,
        }
    }

    /// The expression that hands it over.
    pub(crate) fn hand_over(&self, arguments: &Ident, invocation: &Ident) -> TokenStream {
        let (held, pass) = match self {
            Self::Argument(Argument { name, pass, .. }) => (quote!(#arguments.#name), pass),
            Self::Invocation(pass, _) => (invocation.to_token_stream(), pass),
        };
        match pass {
            Pass::Given => held,
            Pass::Lent => quote!(&#held),
            Pass::LentInside => quote!(#held.as_ref()),
            Pass::LentDeref => quote!(#held.as_deref()),
        }
    }
}

impl Argument {
    /// Its name in a call.
    pub(crate) fn key(&self) -> String {
        self.name.unraw().to_string()
    }
}

/// Whether an attribute may take a parameter out of the program.
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
            "a parameter of a tool needs a plain name\nhint: take it apart in the body",
        )),
    }
}

/// What is held for something that is lent, and how it is lent out of an option.
struct Owned {
    held: TokenStream,
    inside: Pass,
}

fn owned(reference: &TypeReference) -> syn::Result<Owned> {
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
            Ok(Owned { held: quote_spanned!(span=> ::std::vec::Vec<#element>), inside: Pass::LentDeref })
        }
        Type::Path(path) if path.path.is_ident("str") => {
            Ok(Owned { held: quote_spanned!(span=> ::std::string::String), inside: Pass::LentDeref })
        }
        Type::Path(path) if ends_with(&path.path, "Path") => Ok(Owned {
            held: quote_spanned!(span=> <#path as ::std::borrow::ToOwned>::Owned),
            inside: Pass::LentDeref,
        }),
        other => {
            check_owned(other)?;
            Ok(Owned { held: quote!(#other), inside: Pass::LentInside })
        }
    }
}

/// The reference in an `Option<&T>`.
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

/// The type without the invisible or plain brackets around it.
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

/// Refuses types that say in their spelling that they cannot be held.
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
            TokenTree::Punct(punct) => (punct.as_char() == '&')
                .then_some("a reference inside another type cannot be lent\nhint: take owned values"),
            TokenTree::Ident(ident) if after_tick => (ident != "static")
                .then_some("an argument lives only as long as the call\nhint: take owned values"),
            TokenTree::Ident(ident) => match ident.to_string().as_str() {
                "impl" => Some("a tool needs exact types\nhint: name the type instead of `impl`"),
                "dyn" => Some("a trait object cannot be an argument\nhint: name the type instead of `dyn`"),
                "Self" => Some("an argument needs its type by name\nhint: write it out instead of `Self`"),
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
