//! `cargo x tidy`: the rules of the house that no other tool checks.
//!
//! The crate graph (who may know whom), who may read the environment or end the process, how long a file may
//! be and what it may not be called, and that nothing names a place on somebody's machine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{command, place};

/// Production lines (tests at a file's end not counted).
const LONG: usize = 500;
const TOO_LONG: usize = 1000;

/// `cargo x tidy`.
pub(crate) fn command() -> Result<()> {
    let report = examine()?;
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for error in &report.errors {
        println!("error: {error}");
    }
    if report.errors.is_empty() {
        Ok(())
    } else {
        bail!("{} rules of the house are broken", report.errors.len())
    }
}

#[derive(Default)]
struct Report {
    errors: Vec<String>,
    warnings: Vec<String>,
}

fn examine() -> Result<Report> {
    let mut report = Report::default();
    let mut metadata = command::tool("cargo");
    metadata.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value =
        serde_json::from_str(&command::capture(&mut metadata)?).context("parse cargo metadata")?;
    report.errors.extend(crate_graph(&dependencies(&metadata)));
    for file in tracked_files()? {
        let path = place::root().join(&file);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        examine_file(&file, &text, &mut report);
    }
    Ok(report)
}

/// Each crate of the workspace with the names of its ordinary (not dev) dependencies.
fn dependencies(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut graph = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ordinary = dependencies
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| text(&dependency["name"]));
        graph.insert(text(&package["name"]), ordinary.collect());
    }
    graph
}

/// Invariants 1 to 4 of ARCHITECTURE.md, as far as dependencies show them.
fn crate_graph(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let connector =
        |name: &str| name.starts_with("lattice-source-") || name.starts_with("lattice-sink-");
    let mut errors = Vec::new();
    for (name, dependencies) in graph {
        let mut refuse = |wrong: &dyn Fn(&str) -> bool, why: &str| {
            for dependency in dependencies.iter().filter(|dependency| wrong(dependency)) {
                errors.push(format!("{name} depends on {dependency}: {why}"));
            }
        };
        if name == "lattice-core" {
            refuse(
                &|d| {
                    matches!(d, "tokio" | "reqwest" | "axum" | "hyper" | "rusqlite" | "tokio-util")
                },
                "the core does no I/O and spawns nothing",
            );
            refuse(&|d| d.starts_with("lattice-"), "the core knows no other room");
        }
        if connector(name) {
            refuse(
                &|d| d.starts_with("lattice-") && d != "lattice-core",
                "a connector knows only lattice-core",
            );
        }
        if name.starts_with("lattice-") && name != "lattice-cli" {
            refuse(&|d| connector(d), "only lattice-cli names concrete connectors");
            refuse(&|d| d == "tracing-subscriber", "only lattice-cli installs a subscriber");
        }
        if name != "xtask" {
            refuse(
                &|d| d == "lattice-testkit",
                "the testkit is for tests: make it a dev-dependency",
            );
        }
        if name == "lattice-transform" {
            refuse(
                &|d| d.starts_with("lattice-") && d != "lattice-core",
                "transformations know only lattice-core",
            );
            refuse(&|d| d == "tokio", "transformations do no I/O");
        }
        if matches!(name.as_str(), "lattice-codec" | "lattice-registry" | "lattice-log") {
            refuse(
                &|d| matches!(d, "lattice-runtime" | "lattice-server" | "lattice-cli"),
                "nothing points upward",
            );
        }
        if name == "lattice-runtime" {
            refuse(&|d| matches!(d, "lattice-server" | "lattice-cli"), "nothing points upward");
        }
    }
    errors
}

fn tracked_files() -> Result<Vec<PathBuf>> {
    let mut list = command::tool("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    Ok(command::capture(&mut list)?.lines().map(PathBuf::from).collect())
}

fn examine_file(file: &Path, text: &str, report: &mut Report) {
    let shown = file.display();
    for (number, line) in text.lines().enumerate() {
        if let Some(place) = machine_path(line) {
            report
                .errors
                .push(format!("{shown}:{}: {place} is a place on one machine only", number + 1));
        }
    }
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    if !is_rust
        && !file
            .extension()
            .is_some_and(|extension| extension == "py" || extension == "ts" || extension == "tsx")
    {
        return;
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    if matches!(&*stem, "utils" | "util" | "common" | "helpers" | "helper" | "misc") {
        report.errors.push(format!("{shown}: a module is named for what is in it, not \"{stem}\""));
    }
    let is_test = file.components().any(|part| {
        matches!(part.as_os_str().to_str(), Some("tests" | "e2e" | "examples" | "benches"))
    }) || stem == "tests";
    let production = if is_test { "" } else { production(text) };
    let lines = production.lines().count();
    let generated = shown.to_string().ends_with(".d.ts");
    if lines > TOO_LONG && !generated {
        report.errors.push(format!("{shown}: {lines} lines; divide it (at most {TOO_LONG})"));
    } else if lines > LONG && !generated {
        report.warnings.push(format!("{shown}: {lines} lines; better divided (over {LONG})"));
    }
    let free = is_test
        || ["crates/lattice-cli", "crates/lattice-testkit", "xtask"]
            .iter()
            .any(|room| file.starts_with(room));
    if is_rust && !free && !file.ends_with("build.rs") {
        for (number, line) in production.lines().enumerate() {
            if let Some(call) = reserved(line) {
                report
                    .errors
                    .push(format!("{shown}:{}: only lattice-cli may use {call}", number + 1));
            }
        }
    }
}

/// The text before the tests at its end.
fn production(text: &str) -> &str {
    let tests = text.find("\n#[cfg(test)]\nmod ").filter(|at| text[at + 1..].contains('{'));
    tests.map_or(text, |at| &text[..at])
}

/// What belongs to the program alone, if the line (comments left out) uses it.
fn reserved(line: &str) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or_default();
    let calls = ["env::args", "env::var", "process::exit", "tracing_subscriber"];
    // `env::var` is not `env!` (a constant of the build), nor a part of a longer word.
    calls.into_iter().find(|call| code.contains(call))
}

/// A path below somebody's home or this kind of workplace, in any tracked text. Written in parts, since this file is one too.
fn machine_path(line: &str) -> Option<&'static str> {
    let places = [
        concat!("/ro", "ot/."),
        concat!("/wo", "rk/"),
        concat!("/ho", "me/user"),
        concat!("/Us", "ers/"),
        concat!("../sha", "red/"),
    ];
    places.into_iter().find(|place| line.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(crates: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        crates.iter().map(|(name, dependencies)| ((*name).to_owned(), set(dependencies))).collect()
    }

    #[test]
    fn the_house_keeps_its_own_rules() {
        let report = examine().unwrap();
        assert!(report.errors.is_empty(), "{:#?}", report.errors);
    }

    #[test]
    fn a_graph_that_breaks_each_invariant_is_refused() {
        let broken: [(&str, &[&str]); 6] = [
            ("lattice-core", &["tokio"]),
            ("lattice-source-x", &["lattice-core", "lattice-codec"]),
            ("lattice-runtime", &["lattice-sink-y"]),
            ("lattice-server", &["tracing-subscriber"]),
            ("lattice-log", &["lattice-runtime"]),
            ("lattice-codec", &["lattice-testkit"]),
        ];
        for one in broken {
            assert_eq!(crate_graph(&graph(&[one])).len(), 1, "{one:?}");
        }
        let right: [(&str, &[&str]); 2] = [
            ("lattice-cli", &["lattice-sink-y", "tracing-subscriber"]),
            ("lattice-sink-y", &["lattice-core", "tokio"]),
        ];
        assert!(crate_graph(&graph(&right)).is_empty());
    }

    #[test]
    fn reserved_calls_are_seen_but_not_in_comments() {
        assert_eq!(reserved("let x = std::env::var(\"A\");"), Some("env::var"));
        assert_eq!(reserved("// std::process::exit is for the program alone"), None);
        assert_eq!(reserved("let dir = env!(\"CARGO_MANIFEST_DIR\");"), None);
    }

    #[test]
    fn tests_at_the_end_of_a_file_are_no_production_lines() {
        assert_eq!(production("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), "fn a() {}\n");
    }

    #[test]
    fn places_on_one_machine_are_seen() {
        assert!(machine_path(concat!("see /wo", "rk/notes")).is_some());
        assert!(machine_path("see /var/lib/lattice").is_none());
    }
}
