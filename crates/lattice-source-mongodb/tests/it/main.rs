//! The MongoDB source against a server with change streams (`cargo x services up mongo`).

mod capture;
mod faults;
mod harness;
mod life;
mod recorded;
