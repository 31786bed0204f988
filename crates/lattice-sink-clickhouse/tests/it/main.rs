//! The sink against both real engines: a current one, and the old 18.16.

mod columns;
mod delivery;
mod faults;
mod fixture;
mod options;
mod rows;
mod values;
