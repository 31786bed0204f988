//! Exactly once for sources, as Kafka Connect has it (KIP-618): records and the position that covers them in one
//! transaction, under an id of the task's own that only one process holds.
//!
//! The embedded log needs none of it: each of its appends is a transaction.

use std::{sync::Arc, time::Duration};

use lattice_core::{
    config::{Config, ConfigIssue},
    error::{Error, Result},
};
use lattice_log::Transactions;

use crate::{keys, plugins::Plugin, task::TaskRun, worker::Shared};

const WORKER: &str = "exactly.once.source.support";
const TIMEOUT: &str = "producer.override.transaction.timeout.ms";

/// Kafka's own default.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A transaction that ends by the clock gets so much longer than the clock's interval.
const SPARE: Duration = Duration::from_secs(30);

/// A task's transactions, and when they end.
pub(crate) struct ExactlyOnce {
    pub(crate) transactions: Arc<dyn Transactions>,
    /// How long one lasts; `None`: as long as an append.
    pub(crate) interval: Option<Duration>,
    /// The task has a position; what it writes first ends a transaction at once where it has none.
    pub(crate) positioned: bool,
}

/// Whether a worker with these settings writes in transactions.
///
/// Errors: `Config`, for a word that Kafka Connect does not know either.
pub(crate) fn enabled(settings: &Config) -> Result<bool> {
    match settings.get(WORKER).map(|word| word.trim().to_lowercase()).as_deref() {
        None | Some("" | "disabled" | "preparing") => Ok(false),
        Some("enabled") => Ok(true),
        Some(other) => Err(Error::config(format!("\"{WORKER}\" of the worker is \"{other}\""))
            .with_remedy("use disabled, preparing or enabled")),
    }
}

/// Takes the task's transactional id; whoever had it before can write no more. `None`: the worker or the log have no
/// transactions.
pub(crate) async fn begin(run: &TaskRun) -> Result<Option<ExactlyOnce>> {
    if !enabled(&run.shared.config.settings)? {
        return Ok(None);
    }
    let task = &run.config;
    let interval = interval(&task.config)?;
    let timeout = timeout(&task.config, interval)?;
    let begun = run.shared.log.transactions(&task.connector, task.task, timeout).await?;
    Ok(begun.map(|transactions| ExactlyOnce { transactions, interval, positioned: true }))
}

/// What is wrong with a source's keys about transactions.
pub(crate) fn check(plugin: &Plugin, config: &Config, shared: &Shared) -> Vec<ConfigIssue> {
    let Plugin::Source(_) = plugin else { return Vec::new() };
    let mut issues = Vec::new();
    let required = config.text(&keys::EXACTLY_ONCE).is_some_and(|word| word.trim() == "required");
    let on = enabled(&shared.config.settings).unwrap_or(false);
    if required && shared.log.needs_transactions() && !on {
        let message = "This worker does not have exactly-once source support enabled.";
        let remedy = format!("start the worker with \"{WORKER}=enabled\" in its properties");
        issues.push(ConfigIssue::error(keys::EXACTLY_ONCE.name, message).remedy(&remedy));
    }
    if config.text(&keys::BOUNDARY).is_some_and(|word| word.trim() == "connector") {
        let message = "The connector does not support connector-defined transaction boundaries \
                       with the given configuration.";
        let remedy = "use \"poll\" or \"interval\"";
        issues.push(ConfigIssue::error(keys::BOUNDARY.name, message).remedy(remedy));
    }
    if let (Ok(interval), Ok(Some(timeout))) = (interval(config), given_timeout(config))
        && interval.is_some_and(|interval| interval >= timeout)
    {
        let message = "a transaction would be undone before it ends: its timeout is not above \
                       \"transaction.boundary.interval.ms\"";
        issues.push(ConfigIssue::error(TIMEOUT, message).remedy("raise it, or leave it out"));
    }
    issues
}

/// How long a transaction lasts; `None`: as long as an append.
fn interval(config: &Config) -> Result<Option<Duration>> {
    match config.text(&keys::BOUNDARY).unwrap_or_default().trim() {
        "interval" => match config.get(keys::BOUNDARY_INTERVAL.name) {
            Some(_) => config.millis(&keys::BOUNDARY_INTERVAL).map(Some),
            // The worker's "offset.flush.interval.ms" of Kafka Connect.
            None => Ok(Some(Duration::from_secs(60))),
        },
        _ => Ok(None),
    }
}

fn timeout(config: &Config, interval: Option<Duration>) -> Result<Duration> {
    let needed = interval.map_or(SHORTEST_TIMEOUT, |interval| interval + SPARE);
    Ok(given_timeout(config)?.unwrap_or(SHORTEST_TIMEOUT.max(needed)))
}

fn given_timeout(config: &Config) -> Result<Option<Duration>> {
    let Some(text) = config.get(TIMEOUT) else { return Ok(None) };
    let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    number.map(|ms| Some(Duration::from_millis(ms))).ok_or_else(|| {
        Error::config(format!("\"{TIMEOUT}\" is \"{text}\", not a number of milliseconds"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Config {
        Config::new(
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        )
    }

    #[test]
    fn the_words_of_the_worker_are_kafka_connects() {
        for (word, on) in [("enabled", true), ("ENABLED", true), ("preparing", false), ("", false)]
        {
            assert_eq!(enabled(&config(&[(WORKER, word)])).unwrap(), on, "{word}");
        }
        assert!(!enabled(&config(&[])).unwrap());
        assert!(enabled(&config(&[(WORKER, "yes")])).is_err());
    }

    #[test]
    fn a_transaction_outlives_its_interval() {
        let by_clock = config(&[
            ("transaction.boundary", "interval"),
            ("transaction.boundary.interval.ms", "90000"),
        ]);
        let interval = interval(&by_clock).unwrap();
        assert_eq!(interval, Some(Duration::from_secs(90)));
        assert_eq!(timeout(&by_clock, interval).unwrap(), Duration::from_secs(120));
        assert_eq!(timeout(&config(&[]), None).unwrap(), SHORTEST_TIMEOUT);
        assert_eq!(timeout(&config(&[(TIMEOUT, "5000")]), None).unwrap(), Duration::from_secs(5));
        assert!(timeout(&config(&[(TIMEOUT, "soon")]), None).is_err());
    }
}
