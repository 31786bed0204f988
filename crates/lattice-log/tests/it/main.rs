//! The embedded log as its users meet it: killed processes, folders in other hands, disks that are full.

mod crash;
mod folder;
