//! The Lattice platform on AWS.
//!
//! The platform itself is the OpenTofu modules in `deploy/tofu`, which this crate embeds ([`modules`]). Around them: the
//! settings of `lattice.yaml` ([`Settings`]) and their form as variables of the modules ([`variables()`]), how many tasks of
//! which size there will be ([`sizing`]), and what they cost ([`cost`]).

pub mod cost;
pub mod modules;
mod settings;
pub mod sizing;
mod variables;

pub use settings::{Kafka, KafkaMode, Profile, Settings, Size, State, StateKind, Storage};
pub use variables::variables;
