//! The HTTP side of Standings: routes, access, wire types, and the server that runs them.
//!
//! [`App`] holds what requests share and is given a recovered engine; [`run`] serves it on a listener until it is told to
//! stop. [`serve`] does both from a configuration.

mod app;
mod auth;
pub mod config;
mod cursor;
mod descriptors;
mod edge;
mod extract;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod hot;
mod intake;
mod listen;
mod mark;
mod ndjson;
mod openapi;
mod problem;
mod refusals;
mod routes;
pub mod serve;
mod socket;
mod telemetry;
mod wire;

pub use app::{App, DEFAULT_BOARD};
pub use auth::{hash, new_key};
pub use listen::{run, tls};
pub use openapi::document as openapi_document;
pub use telemetry::LogFormat;
