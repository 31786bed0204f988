//! PostgreSQL's wire format as pure parsing: bytes in, borrowed messages out. No sockets here.

pub mod backend;
pub mod pgoutput;
pub mod reader;
