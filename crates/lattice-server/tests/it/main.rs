//! The service over a real log, registry and worker, with a source that waits for ever.

// Helpers of tests are tests too; clippy's exemption does not see that.
#![allow(clippy::unwrap_used)]

mod contract;
mod house;
mod requests;
mod streams;
