//! Against real servers, PostgreSQL 15 and 18: each test has its own database, slot, publication.

mod access;
mod capture;
mod harness;
mod incremental;
mod life;
mod modes;
mod publications;
mod seam;
mod structure;
