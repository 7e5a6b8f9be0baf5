//! Generates the code next to the marked function.
//!
//! The code uses full paths and hygienic variable names, so that no item in the user's code can replace them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::function::{Function, FunctionKind};
use crate::parameter::Parameter;
use crate::settings::Settings;

/// Generates the constructor of the tool.
pub(crate) fn tool(function: &Function, settings: &Settings) -> TokenStream {
    let Function { visibility, conditions, doc, name, .. } = function;
    let constructor = format_ident!("{}_tool", name.unraw(), span = name.span());
    let title = format!("Creates the tool for `{}`. Its calls need approval.", function.plain_name());
    let this = hidden("this");
    let (receiver, bounds) = match function.kind {
        FunctionKind::Free => (None, None),
        FunctionKind::Method => (
            Some(quote!(#this: ::std::sync::Arc<Self>)),
            Some(
                quote!(where Self: ::core::marker::Sized + ::core::marker::Send + ::core::marker::Sync + 'static),
            ),
        ),
    };
    let (tool_name, steps) = (&settings.name, settings.steps());
    let (arguments, run) = (arguments(function, settings), run(function, &this));
    let free_function_check = free_function_check(function);
    quote! {
        #free_function_check
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

/// Generates an item that does not compile next to an associated function without `self`.
///
/// The tool of such a function would run a free function of the same name instead. The item is an unnamed constant,
/// which is valid only where a free function is. A macro generates it, because the compiler shows that macro's name
/// in the error, and the name says what is wrong.
fn free_function_check(function: &Function) -> Option<TokenStream> {
    match function.kind {
        FunctionKind::Free => {
            Some(quote!(::askfirst::__private::a_tool_needs_a_free_function_or_a_method_with_self! {}))
        }
        FunctionKind::Method => None,
    }
}

fn arguments(function: &Function, settings: &Settings) -> TokenStream {
    let fields = function.arguments().map(|argument| {
        let (name, owned_type) = (&argument.name, &argument.owned_type);
        quote!(#name: #owned_type)
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
    let passed = function.parameters.iter().map(|parameter| parameter.pass(&arguments, &invocation));
    let (clone, call) = match function.kind {
        FunctionKind::Free => (None, quote!(#name(#(#passed),*))),
        FunctionKind::Method => (
            Some(quote!(let #this = ::std::sync::Arc::clone(&#this);)),
            quote!(Self::#name(&#this, #(#passed),*)),
        ),
    };
    let await_call = function.asyncness.map(|_| quote!(.await));
    let outcome = quote_spanned! {function.output.resolved_at(Span::mixed_site())=>
        ::askfirst::__private::NestedResult::for_type_of(&#returned).outcome(#returned)
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
                let #returned = #call #await_call;
                #outcome
            }
        }
    }
}

fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
