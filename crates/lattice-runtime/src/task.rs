//! A task under supervision: opened, kept running through transient errors, failed by others.

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use lattice_core::{connector::TaskConfig, error::Result};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::{
    keys,
    model::State,
    plugins::Plugin,
    providers::Secrets,
    report::{Report, lock},
    retry::{self, Decision},
    sink, source,
    store::Store,
    worker::Shared,
};

/// What a task runs with.
pub(crate) struct TaskRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) report: Arc<Report>,
    pub(crate) topics: Arc<ActiveTopics>,
    /// With references resolved.
    pub(crate) config: TaskConfig,
    /// How many tasks the connector has.
    pub(crate) tasks: usize,
    /// What no text of the task may show.
    pub(crate) secrets: Secrets,
}

/// The topics a connector has written or read, kept across restarts.
pub(crate) struct ActiveTopics {
    connector: String,
    topics: Mutex<BTreeSet<String>>,
    store: Store,
}

impl ActiveTopics {
    pub(crate) fn new(connector: String, topics: BTreeSet<String>, store: Store) -> Self {
        Self { connector, topics: Mutex::new(topics), store }
    }

    pub(crate) fn list(&self) -> Vec<String> {
        lock(&self.topics).iter().cloned().collect()
    }

    pub(crate) async fn reset(&self) -> Result<()> {
        lock(&self.topics).clear();
        self.store.put_topics(&self.connector, &BTreeSet::new()).await
    }

    /// Adds topics; writes only when one is new.
    pub(crate) async fn add(&self, used: impl Iterator<Item = &str>) -> Result<()> {
        let topics = {
            let mut topics = lock(&self.topics);
            let before = topics.len();
            for topic in used {
                if !topics.contains(topic) {
                    topics.insert(topic.to_owned());
                }
            }
            if topics.len() == before {
                return Ok(());
            }
            topics.clone()
        };
        self.store.put_topics(&self.connector, &topics).await
    }
}

/// Starts a task. The handle's owner awaits it, or aborts it by dropping it.
pub(crate) fn spawn(plugin: Plugin, run: TaskRun) -> AbortOnDropHandle<()> {
    let span = tracing::info_span!(
        "task",
        connector = run.config.connector.as_str(),
        task = run.config.task
    );
    let task = async move {
        let report = Arc::clone(&run.report);
        let outcome = AssertUnwindSafe(supervise(&plugin, &run)).catch_unwind().await;
        let failure = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.chain(),
            Err(panic) => format!("the task panicked: {}", panic_text(panic.as_ref())),
        };
        let failure = run.secrets.masked(failure);
        tracing::error!(error = failure.as_str(), "task failed");
        report.note("reconnecting", None);
        report.set_state(State::Failed, Some(failure));
    };
    AbortOnDropHandle::new(tokio::spawn(task.instrument(span)))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Opens and runs the task until it is told to end, again after every transient error.
async fn supervise(plugin: &Plugin, run: &TaskRun) -> Result<()> {
    let report = &run.report;
    let config = &run.config.config;
    let limit = u32::try_from(config.number(&keys::MAX_RETRIES)?).ok();
    let mut backoff = run.shared.config.backoff;
    if config.get(keys::RETRY_DELAY.name).is_some() {
        backoff.longest = config.millis(&keys::RETRY_DELAY)?;
    }
    let longest = config.number(&keys::RETRY_TIMEOUT)?;
    let longest = u64::try_from(longest).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    let mut attempt = 0;
    let mut failing_since = Instant::now();
    loop {
        if !until_running(report).await {
            return Ok(());
        }
        let pulse = report.pulse();
        let outcome = match plugin {
            Plugin::Source(source) => Box::pin(source::run(run, source.as_ref())).await,
            Plugin::Sink(sink) => Box::pin(sink::run(run, sink.as_ref())).await,
        };
        let Err(error) = outcome else { return Ok(()) };
        if report.cancel.is_cancelled() {
            return Ok(());
        }
        if attempt == 0 || report.pulse() != pulse {
            attempt = 0;
            failing_since = Instant::now();
        }
        if longest.is_some_and(|longest| failing_since.elapsed() > longest) {
            return Err(error);
        }
        match retry::decide(&error, attempt, limit, backoff) {
            Decision::Fail => return Err(error),
            Decision::Retry(wait) => {
                attempt += 1;
                let reason = run.secrets.masked(error.chain());
                if !reconnect(report, &reason, attempt, wait).await {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits before the next try. False: the task is to end.
async fn reconnect(report: &Report, reason: &str, attempt: u32, wait: Duration) -> bool {
    report.retries.fetch_add(1, Ordering::Relaxed);
    let text = format!("reconnecting ({reason}), retry {attempt} in {:.1} s", wait.as_secs_f64());
    tracing::warn!(error = reason, attempt, wait_ms = wait.as_millis(), "reconnecting");
    report.note("reconnecting", Some(text));
    let mut pause = report.pause.subscribe();
    tokio::select! {
        () = report.cancel.cancelled() => false,
        _ = pause.wait_for(|paused| *paused) => true,
        () = tokio::time::sleep(wait) => true,
    }
}

/// Waits while the task is paused. False: it is to end.
pub(crate) async fn until_running(report: &Report) -> bool {
    let mut pause = report.pause.subscribe();
    if *pause.borrow_and_update() {
        report.set_state(State::Paused, None);
    }
    tokio::select! {
        biased;
        () = report.cancel.cancelled() => return false,
        _ = pause.wait_for(|paused| !paused) => {}
    }
    report.set_state(State::Running, None);
    true
}
