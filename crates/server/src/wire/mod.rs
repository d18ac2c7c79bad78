//! JSON as it travels: what requests are parsed into and replies are written from.

mod catalog;
mod history;
mod reply;
mod request;

pub(crate) use catalog::*;
pub(crate) use history::*;
pub(crate) use reply::*;
pub(crate) use request::*;
