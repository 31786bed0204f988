//! One table of HTTP requests, sent to a real program once and to ours in every test.
//!
//! The table is data: one request a line, in the order in which they are sent. What the real program answered is
//! recorded beside it. Ours must answer with the same status, media type, headers and body shape; where it does not
//! on purpose, the difference has a name and a reason.
//!
//! Read first: [`Table`], then [`Answer::differs`].

pub mod corpus;
mod http;
mod shape;
mod table;

pub use self::{
    http::Answer,
    table::{Difference, Differences, Recording, Request, Table},
};
