//! A PostgreSQL server of our own: SCRAM, TLS by a test authority, logical decoding.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::process;
use crate::{command, place};

/// One server: its programs, its folder (data and log), its port on 127.0.0.1.
pub(crate) struct Server {
    pub(crate) bin: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
    /// It stays in recovery, as a replica does: it can be read and not written.
    pub(crate) standby: bool,
}

/// Slots and senders for many tests at once; the rest keeps it small and its failures quick to see.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("wal_level", "logical"),
    ("max_replication_slots", "60"),
    ("max_wal_senders", "60"),
    ("max_connections", "200"),
    ("max_prepared_transactions", "10"),
    ("max_slot_wal_keep_size", "8GB"),
    ("wal_sender_timeout", "30s"),
    ("track_commit_timestamp", "on"),
    ("shared_buffers", "64MB"),
    ("ssl", "on"),
    ("ssl_cert_file", "server.crt"),
    ("ssl_key_file", "server.key"),
    ("ssl_ca_file", "ca.crt"),
];

impl Server {
    /// A superuser's URL of one database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres:postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes the cluster if there is none, starts it and waits until it accepts a login. `tied` to this
    /// process, it ends when this process does, however that ends.
    pub(crate) fn start(&self, tied: bool) -> Result<()> {
        let data = self.folder.join("data");
        if !data.join("PG_VERSION").is_file() {
            self.make_cluster(&data).context("make a PostgreSQL cluster")?;
        }
        // What a killed server left would keep this one from starting if its pid is another's by now.
        if process_of(&self.folder).is_none() {
            let _ = fs::remove_file(data.join("postmaster.pid"));
        }
        let mut server = self.as_user(tied, "postgres");
        server.arg("-D").arg(&data).args(["-p", &self.port.to_string()]);
        // At every start, so that clusters that were made before a setting have it too.
        for (name, value) in SETTINGS {
            server.arg("-c").arg(format!("{name}={value}"));
        }
        let mut child = process::start(server, &self.folder, self.port)?;
        process::wait_ready(&mut child, &self.folder, || {
            let mut asking = Command::new("psql");
            asking
                .args([&self.url("postgres"), "-X", "-q", "-A", "-t", "-c", "select 1"])
                .env("PGCONNECT_TIMEOUT", "2");
            asking.output().is_ok_and(|output| output.status.success())
        })
    }

    fn make_cluster(&self, data: &Path) -> Result<()> {
        let finished = data;
        // Under another name until it is whole: an interrupted start must not leave half a cluster.
        let data = &data.with_extension("new");
        for old in [data.as_path(), finished] {
            let _ = fs::remove_dir_all(old);
        }
        fs::create_dir_all(data).with_context(|| format!("make {}", data.display()))?;
        let password = self.folder.join("password");
        fs::write(&password, "postgres").context("write the password file")?;
        self.give(&[data, &password])?;
        let mut initdb = self.as_user(false, "initdb");
        initdb.arg("-D").arg(data).arg(format!("--pwfile={}", password.display()));
        initdb.args([
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--data-checksums",
        ]);
        command::capture(initdb.current_dir(&self.folder))?;
        let tls = certificate_authority()?.with_file_name("");
        for name in ["server.crt", "server.key", "ca.crt"] {
            let copy = data.join(name);
            fs::copy(tls.join(name), &copy).with_context(|| format!("copy {name}"))?;
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600))
                .context("protect the key")?;
            self.give(&[&copy])?;
        }
        if self.standby {
            let signal = data.join("standby.signal");
            fs::write(&signal, "").context("mark the cluster as a standby")?;
            self.give(&[&signal])?;
        }
        fs::rename(data, finished).context("put the finished cluster in its place")
    }

    /// Gives files to the database user, where that is not ourselves.
    fn give(&self, paths: &[&Path]) -> Result<()> {
        if place::is_root() {
            command::capture(Command::new("chown").arg(place::DATABASE_USER).args(paths))?;
        }
        Ok(())
    }

    /// One of the server's programs, as the database user where we are root.
    fn as_user(&self, tied: bool, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        if place::is_root() {
            command.args(place::as_database_user());
        }
        if tied {
            command.args(["--pdeathsig", "INT"]);
        }
        command.arg(self.bin.join(program)).env("LANG", "C.UTF-8").env("LC_ALL", "C.UTF-8");
        command
    }

    /// Stops it if it runs, without waiting for its clients.
    pub(crate) fn stop(&self) -> Result<()> {
        match process_of(&self.folder) {
            Some(pid) => process::stop(pid, "INT"),
            None => Ok(()),
        }
    }
}

/// The pid of the server on this folder, if it runs.
pub(crate) fn process_of(folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).ok()?;
    let pid = text.lines().next()?.trim().parse().ok()?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let ours =
        String::from_utf8_lossy(&arguments).contains(&*folder.join("data").to_string_lossy());
    (ours && process::is_alive(pid)).then_some(pid)
}

/// The test authority's certificate, made once per checkout with a server certificate for localhost and 127.0.0.1.
pub(crate) fn certificate_authority() -> Result<PathBuf> {
    let folder = place::dev().join("tls");
    let authority = folder.join("ca.crt");
    if authority.is_file() && folder.join("server.crt").is_file() {
        return Ok(authority);
    }
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let extensions =
        "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n";
    fs::write(folder.join("extensions"), extensions)
        .context("write the certificate's extensions")?;
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command::capture(command.args(arguments.split('|')).current_dir(&folder))
            .context("make test certificates")
    };
    openssl(
        "req|-x509|-newkey|rsa:2048|-nodes|-days|3650|-subj|/CN=Lattice test CA|-addext|\
         basicConstraints=critical,CA:TRUE|-keyout|ca.key|-out|ca.crt",
    )?;
    openssl("req|-newkey|rsa:2048|-nodes|-subj|/CN=localhost|-keyout|server.key|-out|server.csr")?;
    openssl(
        "x509|-req|-in|server.csr|-CA|ca.crt|-CAkey|ca.key|-CAcreateserial|-days|3650|-extfile|extensions|-out|server.crt",
    )?;
    Ok(authority)
}
