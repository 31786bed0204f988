//! Log lines on standard error, and levels that can be changed while the server runs.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use lattice_server::{LogLevel, LogLevels};
use tracing_subscriber::{
    EnvFilter, Registry, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt,
};

use crate::arguments::LogFormat;

/// Changes the filter of the installed subscriber.
pub(crate) struct Levels {
    handle: reload::Handle<EnvFilter, Registry>,
    /// By target; `root` is everything.
    levels: Mutex<BTreeMap<String, Level>>,
}

#[derive(Clone, PartialEq)]
struct Level {
    word: String,
    /// Units: ms since the Unix epoch.
    modified: Option<i64>,
}

/// What takes the place of the Java packages whose loggers scripts turn up, the longer names first.
const PACKAGES: [(&str, &str); 5] = [
    ("org.apache.kafka.connect.runtime.rest", "lattice_server"),
    ("org.apache.kafka.connect", "lattice_runtime"),
    ("org.apache.kafka", "lattice_log"),
    ("io.debezium", "lattice_source_postgres"),
    ("com.clickhouse", "lattice_sink_clickhouse"),
];

/// Installs the subscriber.
pub(crate) fn install(directives: &str, format: LogFormat) -> Result<Levels> {
    let filter = EnvFilter::try_new(directives)
        .with_context(|| format!("--log \"{directives}\" is no list of levels, such as info or warn,lattice_runtime=debug"))?;
    let (filter, handle) = reload::Layer::new(filter);
    let registry = tracing_subscriber::registry().with(filter);
    let lines =
        fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json()).try_init(),
    }
    .context("install the log subscriber")?;
    let mut levels = BTreeMap::new();
    for directive in directives.split(',') {
        let (target, word) = directive.split_once('=').unwrap_or(("root", directive));
        let level = Level { word: word.to_ascii_uppercase(), modified: None };
        levels.insert(target.to_owned(), level);
    }
    Ok(Levels { handle, levels: Mutex::new(levels) })
}

/// The word of a level; Log4j's own two are those next to them.
fn word(level: &str) -> Result<&'static str, String> {
    match level.to_ascii_uppercase().as_str() {
        "OFF" => Ok("OFF"),
        "FATAL" | "ERROR" => Ok("ERROR"),
        "WARN" => Ok("WARN"),
        "INFO" => Ok("INFO"),
        "DEBUG" => Ok("DEBUG"),
        "TRACE" | "ALL" => Ok("TRACE"),
        _ => {
            Err(format!("invalid log level '{level}': use OFF, ERROR, WARN, INFO, DEBUG or TRACE"))
        }
    }
}

/// Whether `target` is `above` or below it.
fn is_below(target: &str, above: &str) -> bool {
    let rest = target.strip_prefix(above);
    above == "root" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
}

/// The filter's directives. Targets that no module of ours can have are kept in mind only.
fn directives(levels: &BTreeMap<String, Level>) -> String {
    let directive = |(target, level): (&String, &Level)| {
        let package = PACKAGES.iter().find(|(package, _)| is_below(target, package));
        let module = package.map_or(target.as_str(), |(_, module)| module);
        let legal = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | ':');
        match module {
            "root" => Some(level.word.clone()),
            module if module.chars().all(legal) => Some(format!("{module}={}", level.word)),
            _ => None,
        }
    };
    levels.iter().filter_map(directive).collect::<Vec<_>>().join(",")
}

impl LogLevels for Levels {
    fn levels(&self) -> Vec<LogLevel> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let root = levels.get_key_value("root");
        let others = levels.iter().filter(|(target, _)| *target != "root");
        let told = |(target, level): (&String, &Level)| LogLevel {
            target: target.clone(),
            level: level.word.clone(),
            last_modified: level.modified,
        };
        root.into_iter().chain(others).map(told).collect()
    }

    fn set(&self, target: &str, level: &str) -> Result<Vec<String>, String> {
        let word = word(level)?;
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = i64::try_from(elapsed.as_millis()).ok();
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = levels.clone();
        next.entry(target.to_owned()).or_insert(Level { word: String::new(), modified: None });
        let mut changed = Vec::new();
        for (below, level) in &mut next {
            if is_below(below, target) && level.word != word {
                *level = Level { word: word.to_owned(), modified };
                changed.push(below.clone());
            }
        }
        let filter = EnvFilter::try_new(directives(&next)).map_err(|error| error.to_string())?;
        self.handle.reload(filter).map_err(|error| error.to_string())?;
        *levels = next;
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(pairs: &[(&str, &str)]) -> BTreeMap<String, Level> {
        let level = |word: &str| Level { word: word.to_owned(), modified: None };
        pairs.iter().map(|(target, word)| ((*target).to_owned(), level(word))).collect()
    }

    #[test]
    fn java_packages_stand_for_our_modules() {
        let given = [
            ("io.debezium.x", "DEBUG"),
            ("a b", "INFO"),
            ("root", "WARN"),
            ("lattice_log::embedded", "TRACE"),
        ];
        let text = directives(&levels(&given));
        assert_eq!(text, "lattice_source_postgres=DEBUG,lattice_log::embedded=TRACE,WARN");
        assert!(EnvFilter::try_new(text).is_ok());
    }

    #[test]
    fn a_target_reaches_those_below_it_and_no_neighbour() {
        assert!(is_below("a.b.c", "a.b") && is_below("a::b", "a") && is_below("x", "root"));
        assert!(!is_below("a.bc", "a.b") && !is_below("a", "a.b"));
    }
}
