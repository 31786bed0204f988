//! A real PgBouncer before a real server.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::{PostgresDatabase, free_port, wait_until};

/// Debian's user without rights: the pooler does not run as root.
const NOBODY: &str = "65534";

/// A pooler for one database, ended with the value.
pub struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one for the server of `database`.
    ///
    /// Panics, with the remedy, where PgBouncer is not installed.
    pub async fn start(database: &PostgresDatabase) -> Self {
        let folder = TempDir::new().expect("makes a folder");
        let port = free_port();
        let config = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={} user={} password={}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n",
            database.host(),
            database.port(),
            database.user(),
            database.password()
        );
        fs::write(&config, text).expect("writes the configuration");
        for (path, mode) in [(folder.path(), 0o755), (config.as_path(), 0o644)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("can be read");
        }
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        let program = ["/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "/usr/bin/pgbouncer"];
        let program = program.into_iter().find(|path| fs::metadata(path).is_ok());
        let program = program.expect("PgBouncer is installed; dev/setup.sh does it");
        command.arg(program).arg(&config).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the pooler starts");
        let pooler = Self { child, port, _folder: folder };
        wait_until(Duration::from_secs(20), "the pooler listens", async || {
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        pooler
    }

    /// Where it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
