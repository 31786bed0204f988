//! The registry from outside: what it serves, and what its client makes of registries.

mod client;
mod faults;
mod hard_cases;
mod parity;
mod served;
mod support;
