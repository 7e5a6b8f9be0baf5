//! The attribute `#[requires_approval]`, which generates a tool next to a function.
//!
//! It does not change the function. It reports an error for every function that it cannot turn into a tool.

mod expand;
mod faults;
mod function;
mod parameter;
mod settings;

use proc_macro2::TokenStream;

/// Generates a tool for a function. Calls of the tool need approval.
///
/// The function stays unchanged: code that calls it directly runs it without asking.
/// The generated constructor has the visibility of the function:
///
/// - `fn send(to: String)` gets `fn send_tool() -> FunctionTool`.
/// - The method `fn send(&self, to: String)` gets `fn send_tool(this: Arc<Self>) -> FunctionTool`.
///
/// An associated function without `self` cannot be marked, and neither can a method of a trait implementation.
/// Mark a function that calls it instead.
///
/// # Parameters
///
/// Each parameter becomes an argument of the tool, with the same name.
///
/// - Its type must implement `serde::Deserialize` and `schemars::JsonSchema`.
/// - An agent may omit an `Option`. A call with an unknown argument fails.
/// - `&str`, `&[T]`, `&Path`, `&T` and an `Option` of these are allowed. The tool owns the value and lends it.
/// - A parameter of type `Invocation` or `&Invocation` is not an argument. It is the call itself, with which the
///   function can ask for approval while it runs.
///
/// # Result
///
/// The function returns `()`, a value that implements `serde::Serialize`, or a `Result` of these.
/// The error of a `Result` must be `ToolError` or implement `Display`.
/// A function that is not `async` runs inside the future of the call.
///
/// # Settings
///
/// The doc comment of the function is the description that the model reads. All settings are optional.
///
/// | setting | meaning |
/// |---|---|
/// | `name = "…"` | the name of the tool, instead of the name of the function |
/// | `description = "Send to {to}"` | the description that a person reads, with arguments filled in |
/// | `description = f` | a function or closure `Fn(&Args) -> String` that makes the description |
/// | `exclude_keys = ["body"]` | arguments that are shown, but go into neither memory nor the audit log |
/// | `payload = f` | a function or closure `Fn(&Args) -> Value` that makes the payload; memory uses it unchanged, even with `exclude_keys` |
/// | `presentation = f` | a function or closure `Fn(&Args) -> ApprovalPresentation` that makes the content of the prompt; called only before askfirst asks |
/// | `risk = "high"` | `low`, `high` or `irreversible` |
#[proc_macro_attribute]
pub fn requires_approval(
    settings: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    add_tool(settings.into(), item.into()).into()
}

fn add_tool(settings: TokenStream, item: TokenStream) -> TokenStream {
    let tool = function::Function::read(item.clone()).and_then(|function| {
        let settings = settings::Settings::read(settings, &function)?;
        Ok(expand::tool(&function, &settings))
    });
    let mut output = item;
    output.extend(tool.unwrap_or_else(|error| error.to_compile_error()));
    output
}
