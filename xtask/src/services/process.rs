//! Server processes that outlive the command that starts them: a pid file each, in the folder of their data.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// A start takes a second or two; a loaded machine gets much more.
const PATIENCE: Duration = Duration::from_secs(90);

/// Starts a server in its folder, its output in `log` there, in a process group of its own (a Ctrl-C at the
/// terminal is not for it), and remembers its pid and port.
pub(crate) fn start(mut command: Command, folder: &Path, port: u16) -> Result<Child> {
    let log = File::create(folder.join("log"))
        .with_context(|| format!("make a log in {}", folder.display()))?;
    let errors = log.try_clone().context("share the log file")?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
    let child =
        command.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
    fs::write(folder.join("pid"), child.id().to_string()).context("write the pid file")?;
    save_port(folder, port)?;
    Ok(child)
}

/// Remembers on which port the folder's server listens.
pub(crate) fn save_port(folder: &Path, port: u16) -> Result<()> {
    fs::write(folder.join("port"), port.to_string()).context("write the port file")
}

/// The port that the folder's server was started on.
pub(crate) fn saved_port(folder: &Path) -> Option<u16> {
    fs::read_to_string(folder.join("port")).ok()?.trim().parse().ok()
}

/// The pid of the folder's server, if it runs. A pid that the system has given to something else since does not count.
pub(crate) fn of_folder(folder: &Path) -> Option<u32> {
    let pid = fs::read_to_string(folder.join("pid")).ok()?.trim().parse().ok()?;
    (is_alive(pid) && mentions(pid, folder)).then_some(pid)
}

/// Whether a process runs (a zombie does not).
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether the process works on this folder: its arguments or its current folder say so.
fn mentions(pid: u32, folder: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let at = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    at.starts_with(folder)
        || String::from_utf8_lossy(&arguments).contains(&*folder.to_string_lossy())
}

/// Waits until the server answers; an error with the end of its log if it ends before that.
pub(crate) fn wait_ready(
    child: &mut Child,
    folder: &Path,
    answers: impl Fn() -> bool,
) -> Result<()> {
    let start = Instant::now();
    while !answers() {
        let ended = child.try_wait().context("look after the server")?;
        if ended.is_some() || start.elapsed() > PATIENCE {
            let _ = child.kill();
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            let mut tail: Vec<&str> = log.lines().rev().take(15).collect();
            tail.reverse();
            let how =
                ended.map_or("does not answer".to_owned(), |status| format!("ended with {status}"));
            bail!(
                "the server {how}; the end of {}:\n{}",
                folder.join("log").display(),
                tail.join("\n")
            );
        }
        thread::sleep(Duration::from_millis(30));
    }
    Ok(())
}

/// Asks a process to end with `signal` and waits; kills it when it does not.
pub(crate) fn stop(pid: u32, signal: &str) -> Result<()> {
    send(pid, signal)?;
    let start = Instant::now();
    while is_alive(pid) {
        if start.elapsed() > Duration::from_secs(20) {
            send(pid, "KILL")?;
        }
        if start.elapsed() > Duration::from_secs(30) {
            bail!("process {pid} does not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn send(pid: u32, signal: &str) -> Result<()> {
    // It may have ended by itself in between, which is as good.
    Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .output()
        .context("run kill")?;
    Ok(())
}
