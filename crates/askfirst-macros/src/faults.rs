//! Collects the errors of one use of the attribute, so that the compiler reports all of them at once.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;
use syn::Error;

/// A list of errors.
#[derive(Default)]
pub(crate) struct Faults(Option<Error>);

impl Faults {
    /// Adds an error at tokens in the user's code.
    pub(crate) fn at(&mut self, place: &impl ToTokens, message: impl Display) {
        self.add(Error::new_spanned(place, message));
    }

    /// Adds an error at a span.
    pub(crate) fn spanned(&mut self, span: Span, message: impl Display) {
        self.add(Error::new(span, message));
    }

    /// Adds an error.
    pub(crate) fn add(&mut self, fault: Error) {
        match &mut self.0 {
            Some(faults) => faults.combine(fault),
            None => self.0 = Some(fault),
        }
    }

    /// Returns the value of a result, or adds its error.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }

    /// Returns `value` if there is no error, and otherwise all errors.
    pub(crate) fn none_or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
