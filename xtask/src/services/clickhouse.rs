//! A ClickHouse server of our own: the modern engine behind HTTP, Debian's old server, or a `clickhouse` program.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result};

use super::{free_port, process};
use crate::place;

/// One server: what runs it, its folder (data and log), its HTTP port on 127.0.0.1.
pub(crate) struct Engine {
    kind: Kind,
    folder: PathBuf,
    port: u16,
}

enum Kind {
    /// The modern engine inside a Python process, `dev/clickhouse/`.
    Embedded,
    /// Debian's `clickhouse-server` 18.16, for what old servers do.
    Debian,
    /// A modern `clickhouse` program.
    Program(PathBuf),
}

impl Engine {
    /// The modern engine from PyPI behind our HTTP server.
    pub(crate) fn embedded(folder: PathBuf, port: u16) -> Self {
        Self { kind: Kind::Embedded, folder, port }
    }

    /// Debian's old server.
    pub(crate) fn debian(folder: PathBuf, port: u16) -> Self {
        Self { kind: Kind::Debian, folder, port }
    }

    /// A `clickhouse` program of the user's own.
    pub(crate) fn program(program: PathBuf, folder: PathBuf, port: u16) -> Self {
        Self { kind: Kind::Program(program), folder, port }
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it answers. `tied` to this process, it ends when this process does.
    pub(crate) fn start(&self, tied: bool) -> Result<()> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("make {}", self.folder.display()))?;
        let (program, arguments) = match &self.kind {
            Kind::Embedded => self.embedded_command(),
            Kind::Debian => self.server_command(
                place::program("clickhouse-server")
                    .context("no clickhouse-server is installed; run dev/setup.sh")?,
                &["--config-file=/etc/clickhouse-server/config.xml", "--"],
            )?,
            Kind::Program(program) => self.server_command(program.clone(), &["server", "--"])?,
        };
        let mut command = Command::new("setpriv");
        if tied {
            command.args(["--pdeathsig", "TERM"]);
        }
        command.arg(program).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut child = process::start(command, &self.folder, self.port)?;
        let ping = format!("{}/ping", self.url());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(2)))
            .build()
            .into();
        process::wait_ready(&mut child, &self.folder, || agent.get(&ping).call().is_ok())
    }

    fn embedded_command(&self) -> (PathBuf, Vec<String>) {
        let python = place::cache().join("clickhouse/bin/python");
        let script = place::root().join("dev/clickhouse/chdb_http.py");
        let arguments = ["--path", "data", "--port", &self.port.to_string()].map(str::to_owned);
        (python, [script.display().to_string()].into_iter().chain(arguments).collect())
    }

    /// The folders need their trailing slash. The default keep-alive of 3 s makes pooled clients lose connections.
    fn server_command(&self, program: PathBuf, first: &[&str]) -> Result<(PathBuf, Vec<String>)> {
        let mut arguments: Vec<String> =
            first.iter().map(|argument| (*argument).to_owned()).collect();
        let folders = [
            ("path", "data"),
            ("tmp_path", "tmp"),
            ("user_files_path", "user_files"),
            ("format_schema_path", "format_schemas"),
        ];
        for (key, name) in folders {
            let folder = self.folder.join(name);
            fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
            arguments.push(format!("--{key}={}/", folder.display()));
        }
        for key in ["tcp_port", "interserver_http_port"] {
            arguments.push(format!("--{key}={}", free_port()?));
        }
        let log = self.folder.join("server.log");
        arguments.extend([
            format!("--http_port={}", self.port),
            "--listen_host=127.0.0.1".to_owned(),
            "--keep_alive_timeout=60".to_owned(),
            "--timezone=UTC".to_owned(),
            format!("--logger.log={}", log.display()),
            format!("--logger.errorlog={}", log.with_extension("errors.log").display()),
        ]);
        Ok((program, arguments))
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        match process::of_folder(&self.folder) {
            Some(pid) => process::stop(pid, "TERM"),
            None => Ok(()),
        }
    }
}
