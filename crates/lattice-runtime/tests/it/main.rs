//! The worker with a real log, a real registry, and scripted connectors.

// Helpers of tests are tests too; clippy's exemption does not see that.
#![allow(clippy::unwrap_used)]

mod delivery;
mod fixture;
mod lifecycle;
mod offsets;
mod resilience;
mod validation;
