//! The testkit against the real services: what it says of tables and connections must be true.

mod content;
mod proxy;
