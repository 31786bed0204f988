//! The worker with a real log, a real registry, and scripted connectors.

mod delivery;
mod fixture;
mod lifecycle;
mod offsets;
mod resilience;
mod validation;
