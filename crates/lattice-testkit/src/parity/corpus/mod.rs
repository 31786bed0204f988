//! SQL cases as data, run once against the real Debezium and in every test against ours.
//!
//! A theme is a file of cases. It has runs: one connector with its own database each, differing in configuration. What
//! stands in a run's topics is kept with the fields that differ by nature replaced by names, and compared member by
//! member: topics, keys, values, schemas, headers and their order.
//!
//! Read first: [`Theme`], then [`Capture`].

mod capture;
mod compare;
mod meant;
mod names;
mod theme;

pub use self::{
    capture::{Capture, Raw, Recorded},
    meant::{Meanings, Meant},
    theme::{Run, Theme},
};
