//! Items for the code that `#[requires_approval]` generates. They are private and may change at any time.
//!
//! A marked function may return a `Result` or a plain value, but a macro sees only the name of the type.
//! So method lookup makes the choice. It takes the first `outcome` that fits, in this order:
//! [`NestedResult`], [`ToolResult`], [`DisplayResult`], [`PlainValue`].
//! A `Result` must never count as a plain value, because the agent would then see a failure as a success.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;

use ::serde::Serialize;

use crate::toolset::ToolError;

pub use schemars;
pub use serde;
pub use serde_json;

/// Expands to an item that is valid next to a free function, and an error next to an associated function.
#[macro_export]
#[doc(hidden)]
macro_rules! a_tool_needs_a_free_function_or_a_method_with_self {
    () => {
        const _: () = ();
    };
}
pub use crate::a_tool_needs_a_free_function_or_a_method_with_self;

/// Matches a `Result` inside a `Result`: either of them may be the failure.
#[derive(Debug)]
pub struct NestedResult<T>(ToolResult<T>);

/// Matches a `Result` whose error is a `ToolError`.
#[derive(Debug)]
pub struct ToolResult<T>(DisplayResult<T>);

/// Matches every other `Result`, if its error implements `Display`.
///
/// An error without `Display` does not compile, even if it implements `Serialize`:
/// ```compile_fail,E0277
/// #[derive(serde::Serialize)]
/// struct Mute;
/// #[askfirst::requires_approval]
/// fn send() -> Result<(), Mute> { Err(Mute) }
/// ```
#[derive(Debug)]
pub struct DisplayResult<T>(PlainValue<T>);

/// Matches every type.
#[derive(Debug)]
pub struct PlainValue<T>(PhantomData<fn() -> T>);

impl<T> NestedResult<T> {
    /// Starts the method lookup for the type of a value.
    pub fn for_type_of(_: &T) -> Self {
        Self(ToolResult(DisplayResult(PlainValue(PhantomData))))
    }
}

impl<T, E, F> NestedResult<Result<Result<T, E>, F>> {
    /// Returns the inner value, or the text of whichever error there is.
    ///
    /// # Errors
    /// Fails if the function failed.
    pub fn outcome(&self, result: Result<Result<T, E>, F>) -> Result<T, ToolError>
    where
        T: Serialize,
        E: Display,
        F: Display,
    {
        let inner = result.map_err(|e| ToolError::Failed(e.to_string()))?;
        inner.map_err(|e| ToolError::Failed(e.to_string()))
    }
}

impl<T> ToolResult<Result<T, ToolError>> {
    /// Returns the result unchanged.
    ///
    /// # Errors
    /// Fails if the function failed.
    pub fn outcome(&self, result: Result<T, ToolError>) -> Result<T, ToolError>
    where
        T: Serialize,
    {
        result
    }
}

impl<T, E> DisplayResult<Result<T, E>> {
    /// Returns the result with its error as text.
    ///
    /// # Errors
    /// Fails if the function failed.
    pub fn outcome(&self, result: Result<T, E>) -> Result<T, ToolError>
    where
        T: Serialize,
        E: Display,
    {
        result.map_err(|e| ToolError::Failed(e.to_string()))
    }
}

impl<T> PlainValue<T> {
    /// Returns the value.
    ///
    /// # Errors
    /// Never fails.
    pub fn outcome(&self, value: T) -> Result<T, ToolError>
    where
        T: Serialize,
    {
        Ok(value)
    }
}

impl<T> Deref for NestedResult<T> {
    type Target = ToolResult<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Deref for ToolResult<T> {
    type Target = DisplayResult<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Deref for DisplayResult<T> {
    type Target = PlainValue<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
