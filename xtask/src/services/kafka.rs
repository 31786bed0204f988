//! A Kafka broker of our own that is its own controller, from the jars of `dev/kafka/pom.xml`.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{free_port, process};
use crate::place;

/// One broker: its folder (data and log), its port on 127.0.0.1.
pub(crate) struct Broker {
    folder: PathBuf,
    port: u16,
}

impl Broker {
    pub(crate) fn new(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// `host:port`, as clients are told it.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it listens. `tied` to this process, it ends when this process does.
    pub(crate) fn start(&self, tied: bool) -> Result<()> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("make {}", self.folder.display()))?;
        let jars = place::cache().join("kafka");
        if !jars.is_dir() {
            bail!("no Kafka in {}; run dev/setup.sh", jars.display());
        }
        self.write_properties()?;
        if !self.folder.join("data/meta.properties").is_file() {
            self.format(&jars)?;
        }
        let mut command = java(&jars, "kafka.Kafka");
        if tied {
            let mut tying = Command::new("setpriv");
            tying.args(["--pdeathsig", "TERM"]).arg(command.get_program());
            tying.args(command.get_args());
            command = tying;
        }
        // The folder's name in the arguments shows whose process it is.
        command.arg(self.folder.join("server.properties"));
        let mut child = process::start(command, &self.folder, self.port)?;
        let address = self.address();
        process::wait_ready(&mut child, &self.folder, || TcpStream::connect(&address).is_ok())
    }

    fn write_properties(&self) -> Result<()> {
        let (port, controller) = (self.port, free_port()?);
        let text = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=4\n\
             transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=4\n\
             share.coordinator.state.topic.replication.factor=1\n\
             group.initial.rebalance.delay.ms=0\nauto.create.topics.enable=false\n\
             log.index.size.max.bytes=1048576\n",
            self.folder.join("data").display()
        );
        fs::write(self.folder.join("server.properties"), text).context("write server.properties")
    }

    fn format(&self, jars: &Path) -> Result<()> {
        let output = java(jars, "kafka.tools.StorageTool")
            .args(["format", "-t", "lattice-test-cluster-id", "-c"])
            .arg(self.folder.join("server.properties"))
            .output()
            .context("run java; is it installed (dev/setup.sh)?")?;
        if !output.status.success() {
            bail!("format the broker's folder: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        match process::of_folder(&self.folder) {
            Some(pid) => process::stop(pid, "TERM"),
            None => Ok(()),
        }
    }
}

fn java(jars: &Path, class: &str) -> Command {
    let mut command = Command::new("java");
    command.args(["-Xmx768m", "-Xms64m", "-XX:+UseSerialGC", "-cp"]);
    command.arg(jars.join("*")).arg(class);
    command
}
