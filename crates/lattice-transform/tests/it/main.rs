//! Transformations against what the real ones gave.

#![allow(clippy::unwrap_used)]

mod config;
mod golden;
mod json;
