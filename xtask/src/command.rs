//! Running other programs.

use std::{
    env,
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Output},
};

use anyhow::{Context, Result, bail};

use crate::place;

/// A command in the checkout, with the tools of `dev/setup.sh` on its `PATH`.
pub(crate) fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place::root()).env("PATH", search_path());
    // What cargo tells its child about xtask must not leak into the builds that xtask starts.
    for (name, _) in env::vars() {
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name == "CARGO_CRATE_NAME"
        {
            command.env_remove(name);
        }
    }
    command
}

/// The `PATH` with our own Node.js (only there where the system's is too old) before it and cargo's tools behind it.
fn search_path() -> std::ffi::OsString {
    let cache = place::cache();
    let given = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = vec![cache.join("node/bin")];
    folders.extend(env::split_paths(&given));
    folders.push(cache.join("cargo-tools/bin"));
    folders.retain(|folder| !folder.as_os_str().is_empty());
    env::join_paths(folders).unwrap_or(given)
}

/// Runs to the end, its output shown; an error if it does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("start {shown}"))?;
    if !status.success() {
        bail!("{shown} ended with {status}");
    }
    Ok(())
}

/// Runs to the end and gives what it printed; an error with its complaint if it does not succeed.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let Output { status, stdout, stderr } =
        command.output().with_context(|| format!("start {shown}"))?;
    if !status.success() {
        bail!("{shown} ended with {status}: {}", String::from_utf8_lossy(&stderr).trim());
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

fn show(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    // Arguments may hold whole SQL scripts.
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy().chars().take(60).collect::<String>());
    [name].into_iter().chain(arguments.take(8)).collect::<Vec<_>>().join(" ")
}
