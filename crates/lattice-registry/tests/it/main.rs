//! The registry from outside: what it serves, and what its client makes of registries.

mod client;
mod faults;
mod served;
mod support;
