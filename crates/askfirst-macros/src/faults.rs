//! Faults of one use of the attribute, all told at once.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;
use syn::Error;

/// Collects faults.
#[derive(Default)]
pub(crate) struct Faults(Option<Error>);

impl Faults {
    /// Adds one at what the user wrote.
    pub(crate) fn at(&mut self, place: &impl ToTokens, message: impl Display) {
        self.add(Error::new_spanned(place, message));
    }

    /// Adds one at a place.
    pub(crate) fn spanned(&mut self, span: Span, message: impl Display) {
        self.add(Error::new(span, message));
    }

    /// Adds one that was found elsewhere.
    pub(crate) fn add(&mut self, fault: Error) {
        match &mut self.0 {
            Some(faults) => faults.combine(fault),
            None => self.0 = Some(fault),
        }
    }

    /// Keeps what is there, or the fault.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }

    /// The value, if there was no fault.
    pub(crate) fn none_or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
