//! Several workers that share connectors' tasks: which of them run here, and what is known of the
//! others.
//!
//! A worker without a group (the embedded log's) runs everything; nothing of this module is then
//! in its way. Read [`Group`] first, then `follow` (what keeps a worker in step with its group),
//! then `board` (Kafka Connect's statuses).

mod board;
mod follow;
mod take_over;

use std::sync::{Arc, Mutex};

use lattice_log::{GroupView, Member, Membership};
use tokio::sync::watch;

pub(crate) use self::{
    board::{Board, Status},
    follow::{farewell, follow},
};
use crate::{report::lock, worker::Worker};

/// A worker's place in its group.
pub(crate) struct Group {
    pub(crate) membership: Arc<dyn Membership>,
    worker_id: String,
    views: watch::Receiver<Arc<GroupView>>,
    pub(crate) board: Mutex<Board>,
}

/// Where something runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this worker.
    Here,
    /// On another one, by its URL.
    Elsewhere(String),
    /// On none: its lease is changing hands.
    Nowhere,
}

impl Group {
    pub(crate) fn new(worker_id: &str, membership: Arc<dyn Membership>) -> Self {
        Self {
            worker_id: worker_id.to_owned(),
            views: membership.views(),
            membership,
            board: Mutex::default(),
        }
    }

    pub(crate) fn view(&self) -> Arc<GroupView> {
        Arc::clone(&self.views.borrow())
    }

    /// Whether this worker runs a task; `None`: answers for the connector itself.
    pub(crate) fn runs(&self, connector: &str, task: Option<u32>) -> bool {
        let view = self.views.borrow();
        lease(connector, task, view.leases).is_some_and(|lease| view.held.contains(&lease))
    }

    /// Where a task runs.
    fn place(&self, connector: &str, task: Option<u32>) -> Place {
        let view = self.views.borrow();
        let Some(lease) = lease(connector, task, view.leases) else { return Place::Nowhere };
        if view.held.contains(&lease) {
            return Place::Here;
        }
        let holder = view.members.iter().find(|member| member.leases.contains(&lease));
        match holder {
            // It was this worker's, and it let go of it.
            Some(member) if view.fenced.is_none() => Place::Elsewhere(member.url.clone()),
            _ => Place::Nowhere,
        }
    }

    /// The worker that holds a task's lease.
    pub(crate) fn holder(&self, connector: &str, task: Option<u32>) -> Option<String> {
        let view = self.views.borrow();
        let lease = lease(connector, task, view.leases)?;
        let holder = view.members.iter().find(|member| member.leases.contains(&lease))?;
        Some(holder.worker_id.clone())
    }

    /// Whether another worker of this name is in the group.
    pub(crate) fn others_have(&self, worker_id: &str) -> bool {
        let view = self.views.borrow();
        let known = view.members.iter().any(|member| member.worker_id == worker_id);
        known && worker_id != self.worker_id
    }
}

/// The lease that a task belongs to. The tasks of one connector have neighbouring leases, which
/// are shared out to different workers. `None`: the group was not joined yet.
fn lease(connector: &str, task: Option<u32>, leases: i32) -> Option<i32> {
    let leases = u32::try_from(leases).ok().filter(|leases| *leases > 0)?;
    // FNV-1a: the same on every worker, whatever its build.
    let hash = connector
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let lease = (hash % leases + task.unwrap_or(0) % leases) % leases;
    i32::try_from(lease).ok()
}

impl Worker {
    /// The group this worker belongs to; `None`: it runs alone.
    #[must_use]
    pub fn group(&self) -> Option<Arc<GroupView>> {
        self.0.shared.group.as_ref().map(|group| group.view())
    }

    /// Where a connector's task runs.
    #[must_use]
    pub fn place(&self, connector: &str, task: u32) -> Place {
        match &self.0.shared.group {
            None => Place::Here,
            Some(group) => group.place(connector, Some(task)),
        }
    }

    /// The other workers of the group.
    #[must_use]
    pub fn others(&self) -> Vec<Member> {
        let Some(view) = self.group() else { return Vec::new() };
        let own = &self.0.shared.worker_id;
        view.members.iter().filter(|member| member.worker_id != *own).cloned().collect()
    }

    /// The tasks that each worker runs, as `connector-task`, by the worker's id.
    #[must_use]
    pub fn tasks_of(&self, member: &Member) -> Vec<String> {
        let Some(view) = self.group() else { return Vec::new() };
        let connectors: Vec<_> = lock(&self.0.connectors).values().cloned().collect();
        let mut tasks = Vec::new();
        for connector in connectors {
            for id in connector.task_ids() {
                let lease = lease(&connector.name, Some(id), view.leases);
                if lease.is_some_and(|lease| member.leases.contains(&lease)) {
                    tasks.push(format!("{}-{id}", connector.name));
                }
            }
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_a_connector_lie_on_neighbouring_leases() {
        let first = lease("inventory", Some(0), 32).unwrap();
        assert_eq!(lease("inventory", None, 32), Some(first));
        assert_eq!(lease("inventory", Some(1), 32), Some((first + 1) % 32));
        assert_eq!(lease("inventory", Some(u32::MAX), 32), Some((first + 31) % 32));
        assert_eq!(lease("inventory", None, 0), None);
    }
}
