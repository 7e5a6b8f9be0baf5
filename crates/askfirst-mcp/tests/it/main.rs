//! Tests the gateway between a client and a server that are threads of the test, over real pipes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says no by panicking"
)]

mod elicit;
mod elicit_gateway;
mod elicit_http;
mod fixture;
mod http_front;
mod http_lines;
mod http_relay;
mod http_tls;
mod large;
mod relay;
mod rug_pull;
mod serve;
mod shop;
mod smuggling;
mod waiting;
mod web;
mod wider;
