//! The `lattice` binary.
fn main() {}
