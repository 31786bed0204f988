//! A connector whose tasks several workers share.

use std::{sync::Arc, time::Duration};

use super::{Connector, Task, end};
use crate::{
    group::{Board, Group, Status},
    model::{ConnectorStatus, InitialState, State, TaskStatus},
    report::{Report, lock},
    store::Kept,
};

/// Puts what other workers told in the place of what only they know.
pub(super) fn overlay(group: &Group, status: &mut ConnectorStatus) {
    let board = lock(&group.board);
    if !group.runs(&status.name, None) {
        let (state, trace, worker_id) = told(group, &board, &status.name, None);
        status.state = if status.state == State::Stopped { State::Stopped } else { state };
        status.trace = trace;
        status.worker_id = worker_id.unwrap_or_else(|| std::mem::take(&mut status.worker_id));
    }
    for task in &mut status.tasks {
        if !group.runs(&status.name, Some(task.id)) {
            let (state, trace, worker_id) = told(group, &board, &status.name, Some(task.id));
            task.state = state;
            task.trace = trace;
            task.worker_id = worker_id.unwrap_or_else(|| std::mem::take(&mut task.worker_id));
        }
    }
    if status.state != State::Stopped {
        return;
    }
    // Tasks of a stopped connector that still come to their end elsewhere.
    for (id, told) in board.tasks(&status.name) {
        let elsewhere = !group.runs(&status.name, Some(id)) && group.others_have(&told.worker_id);
        if elsewhere && status.tasks.iter().all(|task| task.id != id) {
            let Status { state, trace, worker_id } = told;
            status.tasks.push(TaskStatus { id, state, worker_id, trace });
        }
    }
}

/// State, trace and worker of what runs elsewhere. The word of a worker that is gone counts
/// no more, nor this one's own.
fn told(
    group: &Group,
    board: &Board,
    connector: &str,
    task: Option<u32>,
) -> (State, Option<String>, Option<String>) {
    match board.of(connector, task) {
        Some(status) if group.others_have(&status.worker_id) => {
            (status.state, status.trace.clone(), Some(status.worker_id.clone()))
        }
        Some(status) => (State::Unassigned, None, Some(status.worker_id.clone())),
        None => (State::Unassigned, None, group.holder(connector, task)),
    }
}

impl Connector {
    /// What this worker answers for; `None` names the connector itself.
    pub(crate) fn own_statuses(&self) -> Vec<(Option<u32>, Status)> {
        let Some(group) = &self.shared.group else { return Vec::new() };
        let worker_id = &self.shared.worker_id;
        let view = lock(&self.view);
        let mut own = Vec::new();
        if group.runs(&self.name, None) {
            let (state, trace) = (view.state, view.trace.clone());
            own.push((None, Status { state, trace, worker_id: worker_id.clone() }));
        }
        for task in &view.tasks {
            let TaskStatus { id, state, worker_id, trace } = task.report.status(worker_id);
            if group.runs(&self.name, Some(id)) {
                own.push((Some(id), Status { state, trace, worker_id }));
            }
        }
        own
    }

    /// Ends the tasks that are no longer this worker's.
    pub(crate) async fn let_go(&self, grace: Duration) {
        let _transition = self.transition.lock().await;
        let mut ending = Vec::new();
        {
            let mut view = lock(&self.view);
            for task in &mut view.tasks {
                if self.shared.runs(&self.name, task.report.id) {
                    continue;
                }
                if let Some(handle) = task.handle.take() {
                    task.report.cancel.cancel();
                    ending.push(handle);
                    let id = task.report.id;
                    task.report = Arc::new(Report::new(id, false, self.shared.changed.clone()));
                }
            }
        }
        if !ending.is_empty() {
            tracing::info!(connector = self.name, tasks = ending.len(), "tasks go elsewhere");
        }
        let deadline = tokio::time::Instant::now() + grace;
        for handle in ending {
            end(handle, deadline).await;
        }
    }

    /// Starts the tasks that have become this worker's.
    pub(crate) async fn take_up(&self) {
        let _transition = self.transition.lock().await;
        let target = self.target();
        let waits =
            |task: &Task| task.handle.is_none() && self.shared.runs(&self.name, task.report.id);
        if target == InitialState::Stopped || !lock(&self.view).tasks.iter().any(waits) {
            return;
        }
        // References may have changed since: the tasks that go on here run with what holds now.
        let planned = self.plan();
        let (plugin, configs) = match planned {
            Ok(planned) => planned,
            Err(error) => {
                let trace = self.shared.providers.secrets(&self.config()).masked(error.chain());
                for task in lock(&self.view).tasks.iter().filter(|task| waits(task)) {
                    task.report.set_state(State::Failed, Some(trace.clone()));
                }
                return;
            }
        };
        let count = configs.len();
        for config in configs {
            let id = config.task;
            let wanted =
                lock(&self.view).tasks.iter().any(|task| task.report.id == id && waits(task));
            if !wanted {
                continue;
            }
            let task = self.start_task(&plugin, config, count, target == InitialState::Paused);
            let mut view = lock(&self.view);
            if let Some(place) = view.tasks.iter_mut().find(|task| task.report.id == id) {
                *place = task;
            }
        }
    }

    /// Whether it is as it is kept.
    pub(crate) fn is_as(&self, kept: &Kept) -> bool {
        let view = lock(&self.view);
        view.config == kept.config && view.target == kept.target
    }

    /// Becomes as it is kept: another worker changed it.
    pub(crate) async fn become_as(&self, kept: Kept, grace: Duration) {
        let same_config = lock(&self.view).config == kept.config;
        if same_config {
            self.reach(kept.target, grace).await;
            return;
        }
        {
            let mut view = lock(&self.view);
            view.config = kept.config;
            view.target = kept.target;
        }
        self.restart(grace).await;
    }
}
