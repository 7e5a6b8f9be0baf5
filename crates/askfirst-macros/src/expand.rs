//! The code that is written beside the function. It names everything by full path and its own variables out of the
//! user's sight, so that nothing of the user's can stand in for it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::function::{Function, Kind};
use crate::parameter::Parameter;
use crate::settings::Settings;

/// The constructor of the tool.
pub(crate) fn tool(function: &Function, settings: &Settings) -> TokenStream {
    let Function { visibility, conditions, doc, name, .. } = function;
    let constructor = format_ident!("{}_tool", name.unraw(), span = name.span());
    let title = format!("The tool of `{}`: asks a person before it runs.", function.plain_name());
    let this = hidden("this");
    let (receiver, bounds) = match function.kind {
        Kind::Free => (None, None),
        Kind::Method => (
            Some(quote!(#this: ::std::sync::Arc<Self>)),
            Some(
                quote!(where Self: ::core::marker::Sized + ::core::marker::Send + ::core::marker::Sync + 'static),
            ),
        ),
    };
    let (tool_name, steps) = (&settings.name, settings.steps());
    let (arguments, run) = (arguments(function, settings), run(function, &this));
    let guard = free_only(function);
    quote! {
        #guard
        #(#conditions)*
        #[doc = #title]
        #[must_use]
        #visibility fn #constructor(#receiver) -> ::askfirst::FunctionTool #bounds {
            #arguments
            ::askfirst::FunctionTool::new(#tool_name, #doc, #run)
                .requires_approval(::askfirst::ApprovalSpec::default() #steps)
        }
    }
}

/// An associated function without `self` would be looked up as a free one, and another of that name would run in its
/// place. A nameless constant may stand wherever a free function may, and nowhere else; it is made by a macro whose name says
/// what is wrong, since that is all of ours that the compiler repeats.
fn free_only(function: &Function) -> Option<TokenStream> {
    match function.kind {
        Kind::Free => {
            Some(quote!(::askfirst::__private::a_tool_needs_a_free_function_or_a_method_with_self! {}))
        }
        Kind::Method => None,
    }
}

fn arguments(function: &Function, settings: &Settings) -> TokenStream {
    let fields = function.arguments().map(|argument| {
        let (name, held) = (&argument.name, &argument.held);
        quote!(#name: #held)
    });
    let title = &settings.name;
    quote! {
        #[derive(::askfirst::__private::serde::Deserialize, ::askfirst::__private::schemars::JsonSchema)]
        #[serde(crate = "::askfirst::__private::serde", deny_unknown_fields, rename = #title)]
        #[schemars(crate = "::askfirst::__private::schemars")]
        struct __Arguments { #(#fields),* }
    }
}

fn run(function: &Function, this: &Ident) -> TokenStream {
    let (arguments, invocation, returned) = (hidden("arguments"), hidden("invocation"), hidden("returned"));
    let name = &function.name;
    let handed = function.parameters.iter().map(|parameter| parameter.hand_over(&arguments, &invocation));
    let (clone, called) = match function.kind {
        Kind::Free => (None, quote!(#name(#(#handed),*))),
        Kind::Method => (
            Some(quote!(let #this = ::std::sync::Arc::clone(&#this);)),
            quote!(Self::#name(&#this, #(#handed),*)),
        ),
    };
    let awaited = function.asyncness.map(|_| quote!(.await));
    let outcome = quote_spanned! {function.output.resolved_at(Span::mixed_site())=>
        ::askfirst::__private::Returned::by(&#returned).outcome(#returned)
    };
    let arguments = match function.arguments().next() {
        Some(_) => arguments.to_token_stream(),
        None => quote!(_),
    };
    let invocation = match function.parameters.iter().find_map(Parameter::invocation) {
        Some(_) => invocation.to_token_stream(),
        None => quote!(_),
    };
    quote! {
        move |#arguments: __Arguments, #invocation: ::askfirst::Invocation| {
            #clone
            async move {
                let #returned = #called #awaited;
                #outcome
            }
        }
    }
}

fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
