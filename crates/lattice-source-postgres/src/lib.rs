//! wip
pub mod connection;
pub mod protocol;
pub mod types;
