//! The runtime as its users meet it.

mod controller;
mod fixture;
mod pipeline;
mod properties;
mod sessions;
