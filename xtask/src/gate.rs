//! `cargo x test` and `cargo x check`: everything that must hold before a change lands.

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{
    command::{self, tool},
    deploy, dist, place,
    services::{self, PortPolicy, Running},
    tidy,
};

/// What was counted so far: `passed` and `failed` of every kind of test and check.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
}

impl Tally {
    /// Runs one step, says how long it took, and counts it as one if it counts nothing itself.
    fn step(&mut self, name: &str, step: impl FnOnce(&mut Self) -> Result<()>) {
        println!("\n== {name}");
        let (start, before, failed) = (Instant::now(), self.passed + self.failed, self.failed);
        let result = step(self);
        let took = seconds(start.elapsed());
        match result {
            Ok(()) => {
                self.passed += u64::from(self.passed + self.failed == before);
                println!("== {name}: ok ({took})");
            }
            Err(error) => {
                // A step that could not even count its failures is one.
                self.failed += u64::from(self.failed == failed);
                self.failures.push(name.to_owned());
                println!("== {name}: FAILED ({took}): {error:#}");
            }
        }
    }

    fn finish(&self, start: Instant) -> Result<()> {
        println!("\ntook {}", seconds(start.elapsed()));
        if !self.failures.is_empty() {
            println!("failed: {}", self.failures.join(", "));
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failures.is_empty() {
            Ok(())
        } else {
            bail!("failed: {}", self.failures.join(", "))
        }
    }
}

/// `cargo x test`. Further arguments go to nextest.
pub(crate) fn test(extra: &[String]) -> Result<()> {
    let start = Instant::now();
    let mut tally = Tally::default();
    let web = place::root().join("web/package.json").is_file();
    if web {
        // First: the binary embeds the build.
        tally.step("console: install and build", |_| build_console());
    }
    tally.step("format", |_| command::run(tool("cargo").args(["fmt", "--all", "--check"])));
    tally.step("tidy", |_| tidy::command());
    tally.step("clippy", |_| clippy());
    tally.step("documentation", |_| docs());
    tally.step("licences and sources", |_| deny());
    tally.step("OpenTofu modules", tofu_tests);
    tally.step("npm package", npm_package);
    tally.step("binary", |_| {
        command::run(tool("cargo").args(["build", "--package", "lattice-cli"]))
    });
    let mut running = Vec::new();
    tally.step("services", |_| {
        running = services::up(PortPolicy::Any)?;
        Ok(())
    });
    if !running.is_empty() {
        tally.step("tests", |tally| nextest(tally, &running, extra));
        tally.step("documentation examples", |_| {
            command::run(with_services(tool("cargo"), &running).args([
                "test",
                "--workspace",
                "--doc",
                "--quiet",
            ]))
        });
        if web {
            tally.step("console: types and unit tests", |tally| console_tests(tally, &running));
            tally.step("console: browser tests", |tally| browser_tests(tally, &running));
        }
        services::stop_started(&running)?;
    }
    tally.finish(start)
}

/// `cargo x check`: needs no service.
pub(crate) fn check() -> Result<()> {
    let start = Instant::now();
    let mut tally = Tally::default();
    tally.step("format", |_| command::run(tool("cargo").args(["fmt", "--all", "--check"])));
    tally.step("tidy", |_| tidy::command());
    tally.step("clippy", |_| clippy());
    tally.step("unit tests", |tally| {
        // Integration tests need services.
        let mut nextest = tool("cargo");
        nextest.args(["nextest", "run", "--workspace", "--lib", "--bins", "--no-tests=pass"]);
        counted(tally, &mut nextest)
    });
    tally.finish(start)
}

/// `cargo x docs`: the API documentation, in which a broken link is an error.
pub(crate) fn docs() -> Result<()> {
    let mut doc = tool("cargo");
    command::run(
        doc.args(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn clippy() -> Result<()> {
    command::run(tool("cargo").args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

/// Licences, bans and sources always; advisories where their data base can be had.
fn deny() -> Result<()> {
    // A lock file also names crates of other platforms, which no build here has fetched.
    command::run(tool("cargo").args(["fetch", "--locked", "--quiet"]))?;
    command::run(tool("cargo").args([
        "deny",
        "--offline",
        "check",
        "licenses",
        "bans",
        "sources",
    ]))?;
    let advisories =
        tool("cargo").args(["deny", "fetch", "db"]).output().context("start cargo deny")?;
    if advisories.status.success() {
        return command::run(tool("cargo").args(["deny", "check", "advisories"]));
    }
    println!(
        "the data base of security advisories cannot be reached from here: advisories were not checked"
    );
    Ok(())
}

/// The modules' checks and tests, counted by the line `Success! 20 passed, 0 failed.` of each engine.
fn tofu_tests(tally: &mut Tally) -> Result<()> {
    let (status, output) = teed(&mut deploy::modules()?)?;
    let lines = output.lines().filter(|line| line.contains(" passed, ") && line.contains('!'));
    for (passed, failed) in lines.map(counts) {
        tally.passed += passed;
        tally.failed += failed;
    }
    if status { Ok(()) } else { bail!("deploy/tofu is not in order") }
}

fn npm_package(tally: &mut Tally) -> Result<()> {
    let (status, output) = teed(&mut dist::tried()?)?;
    let (passed, failed) = js_counts(&output);
    tally.passed += passed;
    tally.failed += failed;
    if status { Ok(()) } else { bail!("npm/lattice-platform-cli is not in order") }
}

fn nextest(tally: &mut Tally, running: &[Running], extra: &[String]) -> Result<()> {
    let mut nextest = with_services(tool("cargo"), running);
    nextest
        .args(["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass"])
        .args(extra);
    counted(tally, &mut nextest)
}

/// Runs nextest, its output shown, and counts what its closing line says.
fn counted(tally: &mut Tally, nextest: &mut Command) -> Result<()> {
    let (status, output) = teed(nextest)?;
    let summary = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["));
    if let Some(summary) = summary {
        let (passed, failed) = counts(summary);
        tally.passed += passed;
        tally.failed += failed;
    }
    if status {
        Ok(())
    } else {
        bail!("{}", summary.map_or("the tests could not be run", str::trim))
    }
}

/// `… 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped` → 10 and 2.
fn counts(summary: &str) -> (u64, u64) {
    let words: Vec<&str> =
        summary.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()).collect();
    let before = |word: &str| {
        let at = words.iter().position(|candidate| *candidate == word);
        at.and_then(|at| words.get(at.checked_sub(1)?)?.parse::<u64>().ok()).unwrap_or(0)
    };
    (before("passed"), before("failed") + before("timed"))
}

fn build_console() -> Result<()> {
    npm(&["ci", "--no-audit", "--no-fund"])?;
    npm(&["run", "build"])
}

fn npm(arguments: &[&str]) -> Result<()> {
    command::run(
        tool("npm").args(arguments).current_dir(place::root().join("web")).env("CI", "true"),
    )
}

/// Whichever of these scripts the console's package has.
fn console_tests(tally: &mut Tally, running: &[Running]) -> Result<()> {
    for script in ["check", "test"] {
        npm_script(tally, script, running)?;
    }
    Ok(())
}

fn browser_tests(tally: &mut Tally, running: &[Running]) -> Result<()> {
    npm_script(tally, "test:e2e", running)
}

fn npm_script(tally: &mut Tally, script: &str, running: &[Running]) -> Result<()> {
    let package = std::fs::read_to_string(place::root().join("web/package.json"))
        .context("read web/package.json")?;
    let package: serde_json::Value =
        serde_json::from_str(&package).context("parse web/package.json")?;
    if package["scripts"][script].is_null() {
        return Ok(());
    }
    let mut npm = with_services(tool("npm"), running);
    npm.args(["run", script]).current_dir(place::root().join("web")).env("CI", "true");
    if let Some(chromium) = ["chromium", "google-chrome"].into_iter().find_map(place::program) {
        npm.env("LATTICE_CHROMIUM", chromium);
    }
    let (status, output) = teed(&mut npm)?;
    let (passed, failed) = js_counts(&output);
    tally.passed += passed;
    tally.failed += failed;
    if status { Ok(()) } else { bail!("npm run {script} failed") }
}

/// What Vitest (`Tests  3 passed (3)`), node's runner (`# pass 3`) and Playwright (`3 passed (2s)`) say they ran.
fn js_counts(output: &str) -> (u64, u64) {
    let (mut passed, mut failed) = (0, 0);
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        match words.as_slice() {
            ["Tests", ..] => {
                let (p, f) = counts(line);
                (passed, failed) = (passed + p, failed + f);
            }
            ["#" | "ℹ", "pass", ..] => passed += number(2).unwrap_or(0),
            ["#" | "ℹ", "fail", ..] => failed += number(2).unwrap_or(0),
            [_, "passed"] | [_, "passed", "(", ..] => passed += number(0).unwrap_or(0),
            [_, "passed", took] if took.starts_with('(') => passed += number(0).unwrap_or(0),
            [_, "failed"] => failed += number(0).unwrap_or(0),
            _ => {}
        }
    }
    (passed, failed)
}

/// Runs a command with its output both shown and kept.
fn teed(command: &mut Command) -> Result<(bool, String)> {
    let file = place::dev().join("last-output.log");
    std::fs::create_dir_all(place::dev()).context("make .dev")?;
    let program = command.get_program().to_owned();
    // `tee` leaves the program's own colours and progress out, which a log does not need either.
    let mut piped = Command::new("bash");
    piped
        .args(["-c", "set -o pipefail; \"$0\" \"$@\" 2>&1 | tee \"$LATTICE_TEE\""])
        .arg(program)
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        piped.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => piped.env(name, value),
            None => piped.env_remove(name),
        };
    }
    let status = piped.env("LATTICE_TEE", &file).status().context("start bash")?;
    let output = std::fs::read(&file).context("read the output back")?;
    Ok((status.success(), plain(&String::from_utf8_lossy(&output))))
}

/// Without terminal colours.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A colour: ESC [ … letter.
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells a command's tests where the services and the binary are.
fn with_services(mut command: Command, running: &[Running]) -> Command {
    for service in running {
        command.env(service.variable, &service.url);
    }
    let binary: PathBuf = place::target().join("debug/lattice");
    command.env("LATTICE_BIN", binary).env("LATTICE_TEST_CA", place::dev().join("tls/ca.crt"));
    command
}

fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_nextest_are_counted() {
        let line = "     Summary [   2.345s] 12 tests run: 9 passed (1 slow), 2 failed, 1 timed out, 3 skipped";
        assert_eq!(counts(line), (9, 3));
        assert_eq!(counts("Summary [ 0.1s] 1 test run: 1 passed, 0 skipped"), (1, 0));
    }

    #[test]
    fn closing_lines_of_javascript_runners_are_counted() {
        assert_eq!(js_counts("      Tests  1 failed | 3 passed (4)\n"), (3, 1));
        assert_eq!(js_counts("# tests 4\n# pass 3\n# fail 1\n"), (3, 1));
        assert_eq!(js_counts("  5 passed (3.1s)\n"), (5, 0));
        assert_eq!(js_counts("  1 failed\n  5 passed (3.1s)\n"), (5, 1));
    }

    #[test]
    fn a_step_that_fails_counts_once_or_as_often_as_it_says() {
        let mut tally = Tally::default();
        tally.step("whole", |_| bail!("it does not start"));
        tally.step("counted", |tally| {
            (tally.passed, tally.failed) = (tally.passed + 5, tally.failed + 2);
            bail!("2 failed")
        });
        tally.step("good", |_| Ok(()));
        assert_eq!((tally.passed, tally.failed), (6, 3));
        assert_eq!(tally.failures, ["whole", "counted"]);
        assert!(tally.finish(Instant::now()).is_err());
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(plain("\u{1b}[32m3 passed\u{1b}[0m"), "3 passed");
    }
}
