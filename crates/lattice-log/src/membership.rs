//! The contract between a worker and the group of workers that it belongs to.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use lattice_core::{BoxFuture, error::Result};
use tokio::sync::watch;

/// A worker of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `host:port` of its REST API, as statuses show it.
    pub worker_id: String,
    /// Where the other workers reach that API.
    pub url: String,
    /// The version it runs.
    pub version: String,
    /// Whether it shares out the leases.
    pub leader: bool,
    /// The leases it was given.
    pub leases: Vec<i32>,
}

/// The group as this worker knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupView {
    /// Goes up with every view.
    pub epoch: u64,
    /// The group's own count of how often leases were shared out.
    pub generation: i32,
    /// How many leases there are.
    pub leases: i32,
    /// Those that this worker holds: it alone runs what belongs to them.
    pub held: BTreeSet<i32>,
    /// All workers, by their ids. Empty until the group was joined.
    pub members: Vec<Member>,
    /// Why this worker holds nothing, when the group may have given its leases to others.
    pub fenced: Option<String>,
}

/// What workers keep together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Connectors and their target states.
    Configs,
    /// What connectors and tasks are at.
    Statuses,
}

/// A worker's membership in its group.
///
/// A lease is held by one worker at a time: one that is to give leases back does it by
/// [`Membership::released`], one that lost the group ends its tasks before others may hold them.
pub trait Membership: Send + Sync {
    /// The views, the newest at any time.
    fn views(&self) -> watch::Receiver<Arc<GroupView>>;

    /// Says that nothing runs any more of leases which the view of this epoch does not hold.
    fn released(&self, epoch: u64);

    /// How long tasks have to end when the worker is fenced.
    fn fenced_grace(&self) -> Duration;

    /// Waits until what was being written when it was called is written or given up.
    fn settled(&self) -> BoxFuture<'_, ()>;

    /// Waits until there is something new among what workers keep together, or for a while.
    fn changed(&self, what: Kept) -> BoxFuture<'_, Result<()>>;

    /// Ends the membership. The leases stay the worker's for the session timeout, so that a
    /// restart brings its tasks back to it; a group's last worker leaves at once.
    fn end(&self) -> BoxFuture<'_, ()>;
}
