//! The SQL sinks against real databases.

mod faults;
mod fixture;
mod postgres;
mod sqlite;
mod values;
