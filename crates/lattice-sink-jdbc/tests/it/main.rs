//! The SQL sinks against real databases.

mod faults;
mod fixture;
mod mysql;
mod postgres;
mod sqlite;
mod values;
