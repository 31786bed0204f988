//! Where things are: the checkout, its state, the cache of programs that are no system packages.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// The system user that runs PostgreSQL where we are root: PostgreSQL refuses to be root.
pub(crate) const DATABASE_USER: &str = "latticedev";

/// The checkout.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// The folder for everything that runs leave behind; git ignores it.
pub(crate) fn dev() -> PathBuf {
    root().join(".dev")
}

/// Programs installed by `dev/setup.sh`, shared by all checkouts of this user.
pub(crate) fn cache() -> PathBuf {
    if let Some(folder) = env::var_os("LATTICE_DEV_CACHE") {
        return folder.into();
    }
    if is_root() {
        return "/var/cache/lattice-dev".into();
    }
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache");
    env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("lattice-dev")
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The folder for databases. Usually [`dev`]; where the database user cannot reach into the checkout (one below
/// `/root`, for instance), a folder under `/var/tmp` that belongs to this checkout alone.
pub(crate) fn databases() -> Result<PathBuf> {
    let dev = dev();
    fs::create_dir_all(&dev).with_context(|| format!("make {}", dev.display()))?;
    if !is_root() || reachable_for_database_user(&dev) {
        return Ok(dev);
    }
    let mut hasher = DefaultHasher::new();
    root().hash(&mut hasher);
    let folder = PathBuf::from(format!("/var/tmp/lattice-dev-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    Ok(folder)
}

fn reachable_for_database_user(folder: &Path) -> bool {
    let mut test = Command::new("setpriv");
    test.args(as_database_user()).args(["test", "-x"]).arg(folder);
    test.output().is_ok_and(|output| output.status.success())
}

/// `setpriv`'s arguments to become the database user.
pub(crate) fn as_database_user() -> Vec<String> {
    vec![
        format!("--reuid={DATABASE_USER}"),
        format!("--regid={DATABASE_USER}"),
        "--clear-groups".to_owned(),
    ]
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

/// The folder with the newest (or, if there, the wanted) PostgreSQL of the system's packages.
pub(crate) fn system_postgres(wanted: &str) -> Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        let version = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        let bin = entry.path().join("bin");
        if bin.join("initdb").is_file() {
            found.push((version, bin));
        }
    }
    found.sort();
    let exact = found.iter().find(|(version, _)| version.to_string() == wanted).cloned();
    let (_, bin) = exact
        .or_else(|| found.pop())
        .context("no PostgreSQL server is installed; run dev/setup.sh")?;
    Ok(bin)
}

/// A program on the `PATH` or where packages put servers.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var("PATH").unwrap_or_default();
    let folders =
        env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}
