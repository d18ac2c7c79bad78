//! The HTTP side of Standings: routes, access, wire types, and the server that runs them.
//!
//! [`App`] holds what requests share and is given a recovered engine; [`answer`] answers one request; [`run`] serves a listener
//! until it is told to stop. [`serve`] does it all from a configuration.

mod app;
mod auth;
mod call;
pub mod config;
mod cursor;
mod descriptors;
mod edge;
mod json;
mod limits;
mod listen;
mod ndjson;
mod openapi;
mod problem;
mod query;
mod reply;
mod routes;
pub mod serve;
mod socket;
mod table;
mod telemetry;
mod wire;

pub use app::{App, DEFAULT_BOARD};
pub use auth::{hash, new_key};
pub use edge::answer;
pub use listen::{run, tls};
pub use openapi::document as openapi_document;
pub use reply::{BodyError, Buffer, Content, Piece};
pub use telemetry::LogFormat;
