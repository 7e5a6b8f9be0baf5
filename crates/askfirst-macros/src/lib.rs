//! The attribute `#[requires_approval]`: makes a tool beside a function. It changes nothing about the function
//! itself, and refuses what it cannot turn into a tool faithfully.

mod expand;
mod faults;
mod function;
mod parameter;
mod settings;

use proc_macro2::TokenStream;

/// Makes a tool that asks a person, beside a function that stays as it is.
///
/// `fn send(to: String)` gets a `fn send_tool() -> FunctionTool` beside it, with the same visibility; a method
/// `fn send(&self, to: String)` gets an associated `fn send_tool(this: Arc<Self>) -> FunctionTool`. Called directly,
/// the function runs as any other: only calls of the tool are asked about. An associated function without `self`, and a
/// method of an `impl Trait for`, cannot be marked: mark a function that calls it.
///
/// # Parameters
///
/// They become the arguments of the tool, under their names; each needs `serde::Deserialize` and
/// `schemars::JsonSchema`. An `Option` may be left out, an argument that is not a parameter is refused. `&str`,
/// `&[T]`, `&Path`, `&T` and an `Option` of these are held by the tool and lent to the function. A parameter
/// `Invocation` or `&Invocation` is no argument: it is the call itself, so that the function can ask while it runs.
///
/// The function gives nothing, a value that is `serde::Serialize`, or a `Result` of these, whose error is `ToolError`
/// or anything that can be displayed. A function that is not `async` runs inside the future of the call. The doc
/// comment is what the model is told about the tool.
///
/// # Settings
///
/// All may be left out.
///
/// | setting | means |
/// |---|---|
/// | `name = "…"` | the name of the tool, instead of the function's |
/// | `description = "Send to {to}"` | what a person reads, with arguments filled in |
/// | `description = f` | the same, made by a function or closure `Fn(&Args) -> String` |
/// | `exclude_keys = ["body"]` | arguments that are shown but neither remembered nor recorded |
/// | `payload = f` | the fingerprint, `Fn(&Args) -> Value`; beats `exclude_keys` for what is remembered |
/// | `presentation = f` | what is shown, `Fn(&Args) -> ApprovalPresentation`; called only when a person is asked |
/// | `risk = "high"` | `low`, `high` or `irreversible` |
#[proc_macro_attribute]
pub fn requires_approval(
    settings: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    mark(settings.into(), item.into()).into()
}

fn mark(settings: TokenStream, item: TokenStream) -> TokenStream {
    let tool = function::Function::read(item.clone()).and_then(|function| {
        let settings = settings::Settings::read(settings, &function)?;
        Ok(expand::tool(&function, &settings))
    });
    let mut written = item;
    written.extend(tool.unwrap_or_else(|fault| fault.to_compile_error()));
    written
}
