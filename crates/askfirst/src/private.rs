//! What the code written by `#[requires_approval]` names. Not for use by hand, and nothing is promised about it.
//!
//! A function may give a result or a plain value, and a macro sees only the spelling of the type. So the choice is
//! left to method lookup, which sees the type itself and takes the first `outcome` that fits on the way
//! [`Twofold`] -> [`Returned`] -> [`Fallible`] -> [`Plain`]. A result is never taken for a plain value: then a failure would reach
//! the agent as a success.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;

use ::serde::Serialize;

use crate::toolset::ToolError;

pub use schemars;
pub use serde;
pub use serde_json;

/// Stands where a free function may, and nowhere else.
#[macro_export]
#[doc(hidden)]
macro_rules! a_tool_needs_a_free_function_or_a_method_with_self {
    () => {
        const _: () = ();
    };
}
pub use crate::a_tool_needs_a_free_function_or_a_method_with_self;

/// Fits results of results: either may be the failure.
#[derive(Debug)]
pub struct Twofold<T>(Returned<T>);

/// Fits results that already say why a tool failed.
#[derive(Debug)]
pub struct Returned<T>(Fallible<T>);

/// Fits all other results.
///
/// An error that cannot be told does not compile, even where it could be written as JSON:
/// ```compile_fail,E0277
/// #[derive(serde::Serialize)]
/// struct Mute;
/// #[askfirst::requires_approval]
/// fn send() -> Result<(), Mute> { Err(Mute) }
/// ```
#[derive(Debug)]
pub struct Fallible<T>(Plain<T>);

/// Fits everything.
#[derive(Debug)]
pub struct Plain<T>(PhantomData<fn() -> T>);

impl<T> Returned<T> {
    /// Takes the type of a value.
    pub fn by(_: &T) -> Twofold<T> {
        Twofold(Self(Fallible(Plain(PhantomData))))
    }
}

impl<T, E, F> Twofold<Result<Result<T, E>, F>> {
    /// The inner result, or whichever error there is, in words.
    ///
    /// # Errors
    /// Fails as the function did.
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

impl<T> Returned<Result<T, ToolError>> {
    /// The result as it is.
    ///
    /// # Errors
    /// Fails as the function did.
    pub fn outcome(&self, result: Result<T, ToolError>) -> Result<T, ToolError>
    where
        T: Serialize,
    {
        result
    }
}

impl<T, E> Fallible<Result<T, E>> {
    /// The result with its error in words.
    ///
    /// # Errors
    /// Fails as the function did.
    pub fn outcome(&self, result: Result<T, E>) -> Result<T, ToolError>
    where
        T: Serialize,
        E: Display,
    {
        result.map_err(|e| ToolError::Failed(e.to_string()))
    }
}

impl<T> Plain<T> {
    /// The value.
    ///
    /// # Errors
    /// Never.
    pub fn outcome(&self, value: T) -> Result<T, ToolError>
    where
        T: Serialize,
    {
        Ok(value)
    }
}

impl<T> Deref for Twofold<T> {
    type Target = Returned<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Deref for Returned<T> {
    type Target = Fallible<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Deref for Fallible<T> {
    type Target = Plain<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
