//! `cargo x demo`: a shop's PostgreSQL arrives in ClickHouse, live.
//!
//! Private servers, the release binary, a snapshot, a minute of changes, and a comparison of every table by content
//! as the verdict. Whatever ends this process, its servers end with it.

mod changes;
mod cluster;
mod databases;
mod lag;
mod platform;
mod shop;
mod verdict;

use std::{
    env,
    io::{IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::{
    changes::Changes,
    cluster::Cluster,
    databases::{Source, Target},
    lag::Lag,
    platform::Platform,
};
use crate::{command, place};

/// How long rows change before the comparison, unless `DEMO=forever`. In seconds: `DEMO_SECONDS`.
const CHANGING: Duration = Duration::from_secs(60);

/// The connectors get so long to copy what there is, and to arrive at equality after the last change.
const PATIENCE: Duration = Duration::from_secs(240);

/// `cargo x demo`.
pub(crate) fn run() -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("listen for signals")?;
    }
    let ended = show(&stop);
    if stop.load(Ordering::SeqCst) {
        println!("\ndemo: stopped, nothing is left running");
        // As a shell reports a program that Ctrl-C ended.
        std::process::exit(130);
    }
    match ended {
        Ok(verdict) => {
            println!("{verdict}");
            if verdict.starts_with("demo: OK") { Ok(()) } else { bail!("source and target differ") }
        }
        Err(error) => {
            println!("demo: FAILED {error:#}");
            Err(error)
        }
    }
}

/// Everything but the signals; the servers live in here, so that they are gone when it returns.
fn show(stop: &AtomicBool) -> Result<String> {
    let forever = env::var("DEMO").is_ok_and(|demo| demo == "forever");
    let start = Instant::now();
    let binary = build()?;
    let folder = place::dev().join("demo");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;

    let source = Source::open().context("prepare PostgreSQL")?;
    println!("PostgreSQL  {}", source.description);
    let target = Target::open(&folder).context("prepare ClickHouse")?;
    println!("ClickHouse  {}", target.description);
    shop::create(&source, &target).context("make the shop")?;
    let cluster = Cluster::open(&folder)?;
    if let Some(cluster) = &cluster {
        println!("Kafka       {}", cluster.broker());
        println!("Apicurio    {}", cluster.registry());
    }
    let mut platform = Platform::start(&binary, &folder, cluster.as_ref())?;
    println!("Lattice     {}", platform.url);
    println!("\n  Console: {}\n", platform.url);
    platform.create_connectors(&source, &target, cluster.as_ref())?;

    let mut line = Line { tty: std::io::stdout().is_terminal() };
    snapshot(stop, &mut platform, &source, &target, &mut line)?;
    if stop.load(Ordering::SeqCst) {
        return Ok(String::new());
    }
    line.end(&format!(
        "snapshot complete {:.0} s after the start; now the shop is open",
        start.elapsed().as_secs_f64()
    ));

    let changes = Changes::start(&source)?;
    let lag = Lag::start(&source, &target)?;
    live(stop, forever, &mut platform, (&source, &target), (&changes, &lag), &mut line)?;
    changes.stop()?;
    lag.stop()?;
    if stop.load(Ordering::SeqCst) {
        return Ok(String::new());
    }
    line.end("the shop is closed; comparing every table by content");
    verdict::compare(stop, &source, &target, PATIENCE)
}

fn build() -> Result<std::path::PathBuf> {
    if let Ok(binary) = env::var("LATTICE_DEMO_BIN") {
        return Ok(binary.into());
    }
    let web = place::root().join("web");
    if web.join("package.json").is_file() && newer(&web, &web.join("dist/index.html")) {
        println!("building the console");
        let npm = |arguments: &[&str]| {
            command::capture(
                command::tool("npm").args(arguments).current_dir(&web).env("CI", "true"),
            )
        };
        npm(&["ci", "--no-audit", "--no-fund"])?;
        npm(&["run", "build"])?;
    }
    println!("building lattice (release)");
    command::run(command::tool("cargo").args([
        "build",
        "--release",
        "--package",
        "lattice-cli",
        "--quiet",
    ]))?;
    Ok(place::target().join("release/lattice"))
}

/// Whether a source of the console is newer than its build.
fn newer(web: &std::path::Path, built: &std::path::Path) -> bool {
    let Ok(built) = std::fs::metadata(built).and_then(|meta| meta.modified()) else { return true };
    let mut folders = vec![web.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name == "node_modules" || name == "dist" || name == "test-results" {
                continue;
            }
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(entry.path());
            } else if meta.modified().is_ok_and(|modified| modified > built) {
                return true;
            }
        }
    }
    false
}

/// Waits until the target has as many rows as the source, telling how it goes.
fn snapshot(
    stop: &AtomicBool,
    platform: &mut Platform,
    source: &Source,
    target: &Target,
    line: &mut Line,
) -> Result<()> {
    let start = Instant::now();
    let (mut before, mut told) = (0, Instant::now());
    let goal = source.rows()?;
    while !stop.load(Ordering::SeqCst) {
        let rows = target.rows();
        if rows >= goal {
            return Ok(());
        }
        if told.elapsed() >= Duration::from_secs(1) {
            platform.check()?;
            let rate = rate(rows.saturating_sub(before), told.elapsed());
            line.show(&format!(
                "snapshot    {rate:>7} rows/s   source {goal} rows   target {rows} rows"
            ));
            (before, told) = (rows, Instant::now());
        }
        if start.elapsed() > PATIENCE {
            bail!(
                "the target has {rows} of {goal} rows after {PATIENCE:?}; see {}",
                platform.log.display()
            );
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// One line each second while rows change.
fn live(
    stop: &AtomicBool,
    forever: bool,
    platform: &mut Platform,
    (source, target): (&Source, &Target),
    (changes, lag): (&Changes, &Lag),
    line: &mut Line,
) -> Result<()> {
    let seconds = env::var("DEMO_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let length = seconds.map_or(CHANGING, Duration::from_secs);
    let start = Instant::now();
    let (mut before, mut told) = (changes.rows(), Instant::now());
    while !stop.load(Ordering::SeqCst) && (forever || start.elapsed() < length) {
        thread::sleep(Duration::from_millis(50));
        if told.elapsed() < Duration::from_secs(1) {
            continue;
        }
        platform.check()?;
        changes.check()?;
        let rows = changes.rows();
        let rate = rate(rows - before, told.elapsed());
        (before, told) = (rows, Instant::now());
        let (p50, p99) = lag.percentiles();
        let (of_source, of_target) = (source.rows()?, target.rows());
        line.show(&format!(
            "{:>4} s  {rate:>6} rows/s   lag p50 {p50} ms, p99 {p99} ms   source {of_source} rows   target {of_target} rows",
            start.elapsed().as_secs()
        ));
    }
    Ok(())
}

fn rate(rows: u64, time: Duration) -> u64 {
    u64::try_from(u128::from(rows) * 1000 / time.as_millis().max(1)).unwrap_or(u64::MAX)
}

/// The live line: rewritten in place on a terminal, a new line each time elsewhere.
struct Line {
    tty: bool,
}

impl Line {
    fn show(&mut self, text: &str) {
        if self.tty {
            print!("\r\u{1b}[2K{text}");
            let _ = std::io::stdout().flush();
        } else {
            println!("{text}");
        }
    }

    /// Leaves the last state where it is and says something below it.
    fn end(&mut self, text: &str) {
        if self.tty {
            println!();
        }
        println!("{text}");
    }
}
