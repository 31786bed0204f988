//! A MySQL or MariaDB server of our own: TLS by the test authority, an account for tests.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{postgres::certificate_authority, process};
use crate::{command, place};

/// One server: its folder (data and log), its port on 127.0.0.1.
pub(crate) struct Server {
    /// MySQL's own programs, with the libraries they need, in a folder; `None`: Debian's MariaDB.
    pub(crate) root: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
}

/// Made at every start: whoever may do all, from here alone.
const ACCOUNT: &str = "CREATE USER IF NOT EXISTS lattice@'%' IDENTIFIED BY 'lattice';\n\
                       CREATE USER IF NOT EXISTS lattice@localhost IDENTIFIED BY 'lattice';\n\
                       GRANT ALL ON *.* TO lattice@'%' WITH GRANT OPTION;\n\
                       GRANT ALL ON *.* TO lattice@localhost WITH GRANT OPTION;\n";

impl Server {
    /// The URL of the test account.
    pub(crate) fn url(&self) -> String {
        format!("mysql://lattice:lattice@127.0.0.1:{}/mysql", self.port)
    }

    /// Makes the data folder if there is none, starts the server and waits until it accepts a login.
    pub(crate) fn start(&self) -> Result<()> {
        let data = self.folder.join("data");
        if !data.join("mysql").is_dir() {
            self.make_data(&data).context("make a data folder of MySQL")?;
        }
        let account = self.folder.join("account.sql");
        fs::write(&account, ACCOUNT).context("write the account's statements")?;
        self.give(&account)?;
        let mut server = self.as_user("mysqld", "mariadbd");
        server.args(self.settings(&data));
        server.arg(format!("--init-file={}", account.display()));
        let mut child = process::start(server, &self.folder, self.port)?;
        process::wait_ready(&mut child, &self.folder, || {
            self.client().output().is_ok_and(|output| output.status.success())
        })
    }

    fn settings(&self, data: &Path) -> Vec<String> {
        let mut settings = vec![
            "--no-defaults".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--socket={}", self.folder.join("socket").display()),
            format!("--pid-file={}", self.folder.join("server.pid").display()),
            format!("--port={}", self.port),
            format!("--ssl-cert={}", self.folder.join("server.crt").display()),
            format!("--ssl-key={}", self.folder.join("server.key").display()),
            format!("--ssl-ca={}", self.folder.join("ca.crt").display()),
        ];
        let fixed = [
            "--bind-address=127.0.0.1",
            "--skip-log-bin",
            "--innodb-buffer-pool-size=64M",
            "--max-connections=200",
            "--secure-file-priv=",
        ];
        settings.extend(fixed.map(str::to_owned));
        if let Some(root) = &self.root {
            let usr = root.join("usr");
            settings.extend([
                format!("--basedir={}", usr.display()),
                format!("--plugin-dir={}", usr.join("lib/mysql/plugin").display()),
                format!("--lc-messages-dir={}", usr.join("share/mysql").display()),
                format!("--character-sets-dir={}", usr.join("share/mysql/charsets").display()),
                "--mysqlx=OFF".to_owned(),
                "--performance-schema=OFF".to_owned(),
            ]);
        }
        settings
    }

    fn make_data(&self, data: &Path) -> Result<()> {
        let _ = fs::remove_dir_all(data);
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("make {}", self.folder.display()))?;
        self.give(&self.folder)?;
        let tls = certificate_authority()?.with_file_name("");
        for name in ["server.crt", "server.key", "ca.crt"] {
            let copy = self.folder.join(name);
            fs::copy(tls.join(name), &copy).with_context(|| format!("copy {name}"))?;
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600))
                .context("protect the key")?;
            self.give(&copy)?;
        }
        let mut making = match &self.root {
            Some(_) => {
                let mut making = self.as_user("mysqld", "mariadbd");
                making.args(self.settings(data)).arg("--initialize-insecure");
                making
            }
            None => {
                let mut making = Command::new("setpriv");
                if place::is_root() {
                    making.args(place::as_database_user());
                }
                making.arg(
                    place::program("mariadb-install-db")
                        .context("no MariaDB is installed; run dev/setup.sh")?,
                );
                making.args([
                    "--no-defaults",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                ]);
                making.arg(format!("--datadir={}", data.display()));
                making
            }
        };
        command::capture(making.current_dir(&self.folder))?;
        Ok(())
    }

    /// A file or folder for the database user, where that is not ourselves.
    fn give(&self, path: &Path) -> Result<()> {
        if place::is_root() {
            command::capture(Command::new("chown").arg(place::DATABASE_USER).arg(path))?;
        }
        Ok(())
    }

    /// A server's program as the database user: MySQL's by its own loader, since it is built for a newer system.
    fn as_user(&self, of_mysql: &str, of_mariadb: &str) -> Command {
        let mut command = Command::new("setpriv");
        if place::is_root() {
            command.args(place::as_database_user());
        }
        match &self.root {
            Some(root) => command.args(loaded(root)).arg(root.join("usr/sbin").join(of_mysql)),
            None => command.arg(of_mariadb).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        };
        command
    }

    /// Asks the server for nothing, as the test account.
    fn client(&self) -> Command {
        let mut command = Command::new("mariadb");
        command.args([
            "--no-defaults",
            "--protocol=tcp",
            "-h127.0.0.1",
            "-ulattice",
            "-plattice",
            "-e",
            "select 1",
        ]);
        command.arg(format!("-P{}", self.port));
        command
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        match process::of_folder(&self.folder) {
            Some(pid) => process::stop(pid, "TERM"),
            None => Ok(()),
        }
    }
}

/// MySQL's own loader and where its libraries are.
fn loaded(root: &Path) -> Vec<PathBuf> {
    let usr = root.join("usr");
    let arch = if cfg!(target_arch = "aarch64") { "aarch64-linux-gnu" } else { "x86_64-linux-gnu" };
    let loader = match cfg!(target_arch = "aarch64") {
        true => usr.join("lib/ld-linux-aarch64.so.1"),
        false => usr.join("lib64/ld-linux-x86-64.so.2"),
    };
    vec![loader, "--library-path".into(), usr.join("lib").join(arch)]
}
