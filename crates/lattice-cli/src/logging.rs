//! Log lines on standard error, and levels that can be changed while the server runs.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use lattice_server::LogLevels;
use tracing_subscriber::{
    EnvFilter, Registry, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt,
};

use crate::arguments::LogFormat;

/// Changes the filter of the installed subscriber.
pub(crate) struct Levels {
    handle: reload::Handle<EnvFilter, Registry>,
    /// Levels by target; `root` is everything.
    levels: Mutex<BTreeMap<String, String>>,
}

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
        match directive.split_once('=') {
            Some((target, level)) => levels.insert(target.to_owned(), level.to_ascii_uppercase()),
            None => levels.insert("root".to_owned(), directive.to_ascii_uppercase()),
        };
    }
    Ok(Levels { handle, levels: Mutex::new(levels) })
}

impl LogLevels for Levels {
    fn levels(&self) -> Vec<(String, String)> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let root = levels.get_key_value("root");
        let others = levels.iter().filter(|(target, _)| *target != "root");
        root.into_iter()
            .chain(others)
            .map(|(target, level)| (target.clone(), level.clone()))
            .collect()
    }

    fn set(&self, target: &str, level: &str) -> Result<(), String> {
        let level = level.to_ascii_uppercase();
        if !["OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level.as_str()) {
            return Err(format!(
                "invalid log level '{level}': use OFF, ERROR, WARN, INFO, DEBUG or TRACE"
            ));
        }
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = levels.clone();
        changed.insert(target.to_owned(), level);
        let directives: Vec<String> = changed
            .iter()
            .map(
                |(target, level)| {
                    if target == "root" { level.clone() } else { format!("{target}={level}") }
                },
            )
            .collect();
        let filter = EnvFilter::try_new(directives.join(",")).map_err(|error| error.to_string())?;
        self.handle.reload(filter).map_err(|error| error.to_string())?;
        *levels = changed;
        Ok(())
    }
}
