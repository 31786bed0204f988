//! Keeps a worker in step with its group: runs what its leases say, takes over what others
//! changed, tells what its tasks are at and learns it of others.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use lattice_core::Result;
use lattice_log::Kept;

use super::{
    Group,
    board::{CONNECTORS, Status, Subject, TASKS},
};
use crate::{
    model::State,
    report::lock,
    store::Store,
    worker::{Inner, Worker},
};

/// Changes within so short a time are written together.
const GATHER: Duration = Duration::from_millis(30);

/// After a failed look at the log.
const AGAIN: Duration = Duration::from_millis(500);

/// How long the end of a worker waits for its last words.
const FAREWELL: Duration = Duration::from_secs(2);

/// Follows the group until the worker is gone.
pub(crate) async fn follow(worker: Weak<Inner>, group: Arc<Group>) {
    tokio::join!(
        leases(worker.clone(), Arc::clone(&group)),
        configs(worker.clone(), Arc::clone(&group)),
        statuses(worker.clone(), Arc::clone(&group)),
        tell(worker, group),
    );
}

/// Ends what belongs to leases that were taken, and starts what belongs to those that were given.
async fn leases(worker: Weak<Inner>, group: Arc<Group>) {
    let mut views = group.membership.views();
    loop {
        let view = Arc::clone(&views.borrow_and_update());
        let Some(inner) = worker.upgrade() else { return };
        let fenced = view.fenced.is_some();
        let grace = inner.shared.config.task_grace;
        let grace = if fenced { grace.min(group.membership.fenced_grace()) } else { grace };
        let connectors: Vec<_> = lock(&inner.connectors).values().cloned().collect();
        join_all(connectors.iter().map(|connector| connector.let_go(grace))).await;
        group.membership.settled().await;
        group.membership.released(view.epoch);
        for connector in &connectors {
            connector.take_up().await;
        }
        inner.shared.changed.send_modify(|version| *version += 1);
        drop((inner, connectors));
        if views.changed().await.is_err() {
            return;
        }
    }
}

/// Takes over what other workers changed.
async fn configs(worker: Weak<Inner>, group: Arc<Group>) {
    loop {
        let looked = group.membership.changed(Kept::Configs).await;
        let Some(inner) = worker.upgrade() else { return };
        let done = match looked {
            Ok(()) => Worker(inner).take_over().await,
            Err(error) => Err(error),
        };
        rest_after(done, "take over what other workers changed").await;
    }
}

/// Learns what connectors and tasks elsewhere are at.
async fn statuses(worker: Weak<Inner>, group: Arc<Group>) {
    loop {
        let looked = group.membership.changed(Kept::Statuses).await;
        let Some(inner) = worker.upgrade() else { return };
        let learned = match looked {
            Ok(()) => learn(&inner, &group).await,
            Err(error) => Err(error),
        };
        rest_after(learned, "learn the states of other workers' tasks").await;
    }
}

async fn rest_after(done: Result<()>, what: &str) {
    if let Err(error) = done {
        tracing::warn!(error = error.chain(), "{what}");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn learn(inner: &Inner, group: &Group) -> Result<()> {
    let mut known = BTreeMap::new();
    for namespace in [CONNECTORS, TASKS] {
        for (name, bytes) in inner.shared.store.statuses(namespace).await? {
            if let Some(subject) = Subject::read(namespace, &name)
                && let Some(status) = Status::read(&bytes)
            {
                known.insert(subject, status);
            }
        }
    }
    let changed = lock(&group.board).replace(known);
    if changed {
        inner.shared.changed.send_modify(|version| *version += 1);
    }
    Ok(())
}

/// Writes what runs here is at, whenever that changes.
async fn tell(worker: Weak<Inner>, group: Arc<Group>) {
    let Some(mut changed) = worker.upgrade().map(|inner| inner.shared.changed.subscribe()) else {
        return;
    };
    let mut told: BTreeMap<Subject, Bytes> = BTreeMap::new();
    loop {
        changed.borrow_and_update();
        {
            let Some(inner) = worker.upgrade() else { return };
            if let Err(error) = write(&inner, &group, &mut told).await {
                tracing::warn!(error = error.chain(), "write the states of tasks");
                changed.mark_changed();
                tokio::time::sleep(AGAIN).await;
            }
        }
        if changed.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(GATHER).await;
    }
}

/// Says that what ran here runs nowhere for the moment.
pub(crate) async fn farewell(
    store: &Store,
    group: &Group,
    own: impl Iterator<Item = (String, Vec<(Option<u32>, Status)>)>,
) {
    let view = group.view();
    if view.fenced.is_some() {
        return;
    }
    let mut changes: BTreeMap<&str, Vec<(String, Option<Bytes>)>> = BTreeMap::new();
    for (connector, statuses) in own {
        for (task, mut status) in statuses {
            if matches!(status.state, State::Failed | State::Stopped) {
                continue;
            }
            status.state = State::Unassigned;
            let (namespace, name) = Subject { connector: connector.clone(), task }.document();
            let written = status.written(view.generation, None);
            changes.entry(namespace).or_default().push((name, Some(written)));
        }
    }
    for (namespace, changes) in changes {
        let written = store.put_statuses(namespace, changes);
        // The group learns it by itself, only later.
        if !matches!(tokio::time::timeout(FAREWELL, written).await, Ok(Ok(()))) {
            tracing::info!("the states of tasks that end here could not be written");
        }
    }
}

/// Writes what is new; removes what is there of tasks that are no more.
async fn write(inner: &Inner, group: &Group, told: &mut BTreeMap<Subject, Bytes>) -> Result<()> {
    let view = group.view();
    if view.fenced.is_some() || view.members.is_empty() {
        return Ok(());
    }
    let connectors: Vec<_> = lock(&inner.connectors).values().cloned().collect();
    let mut now: BTreeMap<Subject, Bytes> = BTreeMap::new();
    for connector in &connectors {
        let version = connector.version();
        for (task, status) in connector.own_statuses() {
            let subject = Subject { connector: connector.name.clone(), task };
            now.insert(subject, status.written(view.generation, version));
        }
    }
    // What another worker writes is that one's business, also after the lease came back.
    told.retain(|subject, _| group.runs(&subject.connector, subject.task));
    let gone: Vec<Subject> = {
        let board = lock(&group.board);
        let known = board.subjects().chain(told.keys());
        let mut gone: Vec<Subject> = known
            .filter(|subject| {
                group.runs(&subject.connector, subject.task) && !now.contains_key(subject)
            })
            .cloned()
            .collect();
        gone.sort();
        gone.dedup();
        gone
    };
    let mut changes: BTreeMap<&str, Vec<(String, Option<Bytes>)>> = BTreeMap::new();
    for (subject, bytes) in &now {
        if told.get(subject) != Some(bytes) {
            let (namespace, name) = subject.document();
            changes.entry(namespace).or_default().push((name, Some(bytes.clone())));
        }
    }
    for subject in &gone {
        let (namespace, name) = subject.document();
        changes.entry(namespace).or_default().push((name, None));
    }
    for (namespace, changes) in changes {
        inner.shared.store.put_statuses(namespace, changes).await?;
    }
    told.extend(now);
    told.retain(|subject, _| !gone.contains(subject));
    Ok(())
}
