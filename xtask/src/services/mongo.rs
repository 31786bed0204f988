//! A server that speaks MongoDB's protocol, with change streams: SecantusDB, as no MongoDB server can be
//! had from package registries. It is a replica set of one member, named `secantus`.

use std::{fs, net::TcpStream, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use super::process;
use crate::place;

/// One server: its folder (data and log) and its port on 127.0.0.1.
pub(crate) struct Mongo {
    folder: PathBuf,
    port: u16,
}

impl Mongo {
    pub(crate) fn new(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// The connection string.
    pub(crate) fn url(&self) -> String {
        format!("mongodb://127.0.0.1:{}/?replicaSet=secantus", self.port)
    }

    /// Starts it and waits until it answers.
    pub(crate) fn start(&self) -> Result<()> {
        let data = self.folder.join("data");
        // What is in it belongs to tests that are over.
        let _ = fs::remove_dir_all(&data);
        fs::create_dir_all(&data).with_context(|| format!("make {}", data.display()))?;
        let program = place::cache().join("mongo/bin/secantusd-py");
        let mut command = Command::new(&program);
        command
            .args(["--host", "127.0.0.1", "--cache-size", "256M", "--enable-test-commands"])
            .args(["--noop-heartbeat-seconds", "1", "--port"])
            .arg(self.port.to_string())
            .arg("--storage-path")
            .arg(&data);
        let mut child = process::start(command, &self.folder, self.port)
            .with_context(|| format!("{} runs; dev/setup.sh installs it", program.display()))?;
        process::wait_ready(&mut child, &self.folder, || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        })
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        match process::of_folder(&self.folder) {
            Some(pid) => process::stop(pid, "TERM"),
            None => Ok(()),
        }
    }
}
