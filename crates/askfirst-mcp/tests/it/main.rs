//! The gateway between a client and a server that are threads of the test, over real pipes.

mod fixture;
mod relay;
mod rug_pull;
mod smuggling;
mod waiting;
