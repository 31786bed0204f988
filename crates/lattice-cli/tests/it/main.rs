//! The binary as its users meet it: the REST API by table, and the command line.

mod api;
mod clusters;
mod command_line;
mod contract;
mod debezium;
mod parity;
mod settings;
