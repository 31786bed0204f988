//! A connector: its target state, its tasks, and the transitions between states.

mod shared;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lattice_core::{
    config::Config,
    connector::TaskConfig,
    error::{Error, Result},
};
use tokio::time::timeout_at;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    keys,
    model::{
        ConnectorInfo, ConnectorKind, ConnectorSnapshot, ConnectorStatus, InitialState, State,
    },
    plugins::Plugin,
    providers::with_references,
    report::{Report, lock},
    store::Kept,
    task::{self, ActiveTopics, TaskRun},
    worker::Shared,
};

/// A connector and its tasks.
pub(crate) struct Connector {
    pub(crate) name: String,
    pub(crate) topics: Arc<ActiveTopics>,
    /// Held during a transition, so that only one runs at a time.
    pub(crate) transition: tokio::sync::Mutex<()>,
    shared: Arc<Shared>,
    view: Mutex<View>,
}

/// What readers see. Never held across an await.
struct View {
    config: Config,
    target: InitialState,
    state: State,
    trace: Option<String>,
    tasks: Vec<Task>,
    /// The configuration as it was resolved when the tasks were planned, and when that was.
    resolved: Option<(Instant, Config)>,
}

struct Task {
    report: Arc<Report>,
    /// As shown: references in place of secrets.
    config: Config,
    /// `None`: it runs on another worker, or nowhere yet.
    handle: Option<AbortOnDropHandle<()>>,
}

impl Connector {
    pub(crate) fn new(name: &str, kept: Kept, shared: Arc<Shared>) -> Self {
        let topics = ActiveTopics::new(name.to_owned(), kept.topics, shared.store.clone());
        Self {
            name: name.to_owned(),
            topics: Arc::new(topics),
            transition: tokio::sync::Mutex::new(()),
            shared,
            view: Mutex::new(View {
                config: kept.config,
                target: kept.target,
                state: State::Unassigned,
                trace: None,
                tasks: Vec::new(),
                resolved: None,
            }),
        }
    }

    pub(crate) fn config(&self) -> Config {
        lock(&self.view).config.clone()
    }

    pub(crate) fn set_config(&self, config: Config) {
        lock(&self.view).config = config;
    }

    pub(crate) fn target(&self) -> InitialState {
        lock(&self.view).target
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.view).state
    }

    fn kind(&self) -> ConnectorKind {
        self.shared.plugins.kind(&lock(&self.view).config)
    }

    pub(crate) fn info(&self) -> ConnectorInfo {
        let view = lock(&self.view);
        ConnectorInfo {
            name: self.name.clone(),
            kind: self.shared.plugins.kind(&view.config),
            config: view.config.clone(),
            tasks: view.tasks.iter().map(|task| task.report.id).collect(),
        }
    }

    pub(crate) fn status(&self) -> ConnectorStatus {
        let worker_id = &self.shared.worker_id;
        let mut status = {
            let view = lock(&self.view);
            ConnectorStatus {
                name: self.name.clone(),
                kind: self.shared.plugins.kind(&view.config),
                state: view.state,
                worker_id: worker_id.clone(),
                trace: view.trace.clone(),
                version: self.shared.plugins.version(&view.config),
                tasks: view.tasks.iter().map(|task| task.report.status(worker_id)).collect(),
            }
        };
        if let Some(group) = &self.shared.group {
            shared::overlay(group, &mut status);
        }
        status
    }

    pub(crate) fn version(&self) -> Option<&'static str> {
        self.shared.plugins.version(&lock(&self.view).config)
    }

    pub(crate) fn task_configs(&self) -> Vec<(u32, Config)> {
        let view = lock(&self.view);
        view.tasks.iter().map(|task| (task.report.id, task.config.clone())).collect()
    }

    pub(crate) fn sample(&self, now: Instant) {
        lock(&self.view).tasks.iter().for_each(|task| task.report.sample(now));
    }

    pub(crate) fn snapshot(
        &self,
        now_ms: i64,
        end_offset: impl Fn(&str, i32) -> Option<i64>,
    ) -> ConnectorSnapshot {
        let reports: Vec<_> =
            lock(&self.view).tasks.iter().map(|task| Arc::clone(&task.report)).collect();
        let tasks: Vec<_> =
            reports.iter().map(|report| report.snapshot(now_ms, &end_offset)).collect();
        let is_sink = self.kind() == ConnectorKind::Sink;
        let behind = tasks.iter().flat_map(|task| task.behind_records.values()).sum();
        ConnectorSnapshot {
            status: self.status(),
            class: self.config().get("connector.class").unwrap_or_default().to_owned(),
            topics: self.topics.list(),
            events_per_s: tasks.iter().map(|task| task.events_per_s).sum(),
            bytes_per_s: tasks.iter().map(|task| task.bytes_per_s).sum(),
            behind_ms: tasks.iter().filter_map(|task| task.behind_ms).max(),
            behind_records: is_sink.then_some(behind),
            tasks,
        }
    }

    /// Brings the connector to its target state from having no tasks.
    pub(crate) fn start(&self) {
        let target = self.target();
        if target == InitialState::Stopped {
            self.set_state(State::Stopped, None);
            return;
        }
        let paused = target == InitialState::Paused;
        match self.plan() {
            Ok((plugin, configs)) => {
                let count = configs.len();
                let task = |config: TaskConfig| match self.shared.runs(&self.name, config.task) {
                    true => self.start_task(&plugin, config, count, paused),
                    false => self.absent_task(config),
                };
                let tasks = configs.into_iter().map(task).collect();
                lock(&self.view).tasks = tasks;
                let state = if paused { State::Paused } else { State::Running };
                self.set_state(state, None);
            }
            Err(error) => {
                let trace = self.shared.providers.secrets(&self.config()).masked(error.chain());
                tracing::error!(connector = self.name, error = trace, "connector failed");
                self.set_state(State::Failed, Some(trace));
            }
        }
    }

    /// Whether a config provider's values are to be read again and are others than those that the
    /// tasks run with.
    pub(crate) fn is_outdated(&self) -> bool {
        let (raw, resolved) = {
            let view = lock(&self.view);
            (view.config.clone(), view.resolved.clone())
        };
        let Some(ttl) = self.shared.providers.ttl(&raw) else { return false };
        let Some((since, before)) = resolved.filter(|(since, _)| since.elapsed() >= ttl) else {
            return false;
        };
        match self.shared.providers.resolve(&raw) {
            Ok(now) => {
                if let Some((at, _)) = &mut lock(&self.view).resolved
                    && *at == since
                {
                    *at = Instant::now();
                }
                now != before && raw.get("config.action.reload") != Some("none")
            }
            Err(error) => {
                tracing::warn!(connector = self.name, error = error.chain(), "config provider");
                false
            }
        }
    }

    fn plan(&self) -> Result<(Plugin, Vec<TaskConfig>)> {
        let raw = self.config();
        let plugin = self.shared.plugins.of(&raw)?;
        let config = self.shared.providers.resolve(&raw)?;
        lock(&self.view).resolved = Some((Instant::now(), config.clone()));
        let max = usize::try_from(config.number(&keys::TASKS_MAX)?).unwrap_or(1);
        let tasks = match &plugin {
            Plugin::Source(source) => source.plan(&self.name, &config, max)?,
            Plugin::Sink(sink) => sink.plan(&self.name, &config, max)?,
        };
        if tasks.len() > max {
            return Err(Error::config(format!(
                "the connector made {} tasks, more than tasks.max = {max}",
                tasks.len()
            )));
        }
        Ok((plugin, tasks))
    }

    fn start_task(
        &self,
        plugin: &Plugin,
        mut config: TaskConfig,
        tasks: usize,
        paused: bool,
    ) -> Task {
        let report = Arc::new(Report::new(config.task, paused, self.shared.changed.clone()));
        let shown = with_references(&config.config, &self.config());
        config.config = self.shared.with_worker_defaults(config.config);
        let run = TaskRun {
            shared: Arc::clone(&self.shared),
            report: Arc::clone(&report),
            topics: Arc::clone(&self.topics),
            config,
            tasks,
            secrets: self.shared.providers.secrets(&self.config()),
        };
        let handle = task::spawn(plugin.clone(), run);
        Task { report, config: shown, handle: Some(handle) }
    }

    /// A task that another worker runs.
    fn absent_task(&self, config: TaskConfig) -> Task {
        let report = Arc::new(Report::new(config.task, false, self.shared.changed.clone()));
        let shown = with_references(&config.config, &self.config());
        Task { report, config: shown, handle: None }
    }

    /// Ends all tasks gracefully; those that do not end in time are aborted (what they had not
    /// made durable is read or delivered again).
    pub(crate) async fn end_tasks(&self, grace: Duration) {
        let tasks = std::mem::take(&mut lock(&self.view).tasks);
        for task in &tasks {
            task.report.cancel.cancel();
        }
        let deadline = tokio::time::Instant::now() + grace;
        for mut task in tasks {
            if let Some(handle) = task.handle.take() {
                end(handle, deadline).await;
            }
        }
    }

    /// Moves to another target state.
    pub(crate) async fn change_target(&self, target: InitialState, grace: Duration) -> Result<()> {
        self.shared.store.put_target(&self.name, target).await?;
        self.reach(target, grace).await;
        Ok(())
    }

    /// Goes to a target state that is kept already.
    async fn reach(&self, target: InitialState, grace: Duration) {
        let before = std::mem::replace(&mut lock(&self.view).target, target);
        match target {
            InitialState::Stopped => {
                self.end_tasks(grace).await;
                self.set_state(State::Stopped, None);
            }
            InitialState::Running | InitialState::Paused if before == InitialState::Stopped => {
                self.start();
            }
            InitialState::Running | InitialState::Paused => {
                let paused = target == InitialState::Paused;
                let reports: Vec<_> =
                    lock(&self.view).tasks.iter().map(|task| Arc::clone(&task.report)).collect();
                for report in reports {
                    report.pause.send_replace(paused);
                }
                if self.state() != State::Failed {
                    let state = if paused { State::Paused } else { State::Running };
                    self.set_state(state, None);
                }
            }
        }
    }

    /// Ends everything and starts it from the configuration.
    pub(crate) async fn restart(&self, grace: Duration) {
        self.end_tasks(grace).await;
        self.start();
    }

    /// Restarts one task in place. False: there is none of this number.
    ///
    /// Errors: as planning the connector's tasks.
    pub(crate) async fn restart_task(&self, id: u32, grace: Duration) -> Result<bool> {
        let found = {
            let mut view = lock(&self.view);
            let task = view.tasks.iter_mut().find(|task| task.report.id == id);
            task.map(|task| (Arc::clone(&task.report), task.handle.take()))
        };
        let Some((report, handle)) = found else { return Ok(false) };
        if !self.shared.runs(&self.name, id) {
            return Ok(true);
        }
        report.set_state(State::Restarting, None);
        report.cancel.cancel();
        if let Some(handle) = handle {
            end(handle, tokio::time::Instant::now() + grace).await;
        }
        report.set_state(State::Restarting, None);
        let (plugin, configs) = self.plan().inspect_err(|error| {
            report.set_state(State::Failed, Some(error.chain()));
        })?;
        let count = configs.len();
        let Some(config) = configs.into_iter().find(|config| config.task == id) else {
            return Ok(false);
        };
        let paused = self.target() == InitialState::Paused;
        let task = self.start_task(&plugin, config, count, paused);
        let mut view = lock(&self.view);
        if let Some(place) = view.tasks.iter_mut().find(|task| task.report.id == id) {
            *place = task;
        }
        Ok(true)
    }

    pub(crate) fn task_ids(&self) -> Vec<u32> {
        lock(&self.view).tasks.iter().map(|task| task.report.id).collect()
    }

    fn set_state(&self, state: State, trace: Option<String>) {
        {
            let mut view = lock(&self.view);
            view.state = state;
            view.trace = trace;
        }
        self.shared.changed.send_modify(|version| *version += 1);
    }
}

async fn end(mut handle: AbortOnDropHandle<()>, deadline: tokio::time::Instant) {
    if timeout_at(deadline, &mut handle).await.is_err() {
        handle.abort();
        // An aborted task ends at its next await; its result is of no interest.
        let _ = handle.await;
    }
}
