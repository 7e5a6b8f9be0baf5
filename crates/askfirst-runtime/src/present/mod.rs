//! What a person is shown, as data: one tree that every door renders.
