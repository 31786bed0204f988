//! What this worker holds, since when it knows that, and when it has to let go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, MutexGuard, PoisonError},
    time::Instant,
};

use super::Core;
use crate::membership::{GroupView, Member};

/// This worker in the group.
pub(super) struct Standing {
    /// Empty: not known to the group.
    pub(super) member_id: String,
    pub(super) generation: i32,
    pub(super) held: BTreeSet<i32>,
    /// What every worker was given last, by its id.
    pub(super) before: BTreeMap<String, BTreeSet<i32>>,
    /// When the last request was sent that the coordinator answered as to a member.
    alive: Instant,
    /// The view that took everything from this worker, until its tasks have ended.
    pub(super) fenced: Option<u64>,
    /// Appends have to be given up then.
    cut_at: Option<Instant>,
}

impl Standing {
    pub(super) fn new() -> Self {
        Self {
            member_id: String::new(),
            generation: -1,
            held: BTreeSet::new(),
            before: BTreeMap::new(),
            alive: Instant::now(),
            fenced: None,
            cut_at: None,
        }
    }
}

impl Core {
    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The coordinator answered a request that was sent then.
    pub(super) fn alive(&self, sent: Instant) {
        let mut standing = self.standing();
        standing.alive = standing.alive.max(sent);
        if standing.fenced.is_none() {
            self.inner.lease.extend(standing.alive + self.options.limit());
        }
    }

    /// Takes what the leader gave. `None`: the worker was fenced meanwhile; else the view's
    /// number, and whether something has to be given back.
    pub(super) fn take(&self, share: BTreeSet<i32>, members: Vec<Member>) -> Option<(u64, bool)> {
        let mut standing = self.standing();
        if standing.fenced.is_some() {
            return None;
        }
        let gives_back = standing.held.difference(&share).next().is_some();
        let leases = |member: &Member| member.leases.iter().copied().collect();
        standing.before =
            members.iter().map(|member| (member.worker_id.clone(), leases(member))).collect();
        standing.held = share;
        self.inner.lease.extend(standing.alive + self.options.limit());
        let epoch = self.publish(&standing, Some(members), None);
        Some((epoch, gives_back))
    }

    /// Takes everything from this worker. `at_once`: others may have it already.
    pub(super) fn fence(&self, reason: &str, at_once: bool) {
        let mut standing = self.standing();
        if standing.fenced.is_none() {
            tracing::error!(reason, leases = standing.held.len(), "this worker ends its tasks");
            standing.held.clear();
            standing.fenced = Some(self.publish(&standing, None, Some(reason.to_owned())));
            standing.cut_at = Some(standing.alive + self.options.limit());
        }
        if at_once {
            standing.cut_at = Some(Instant::now());
        }
    }

    fn publish(
        &self,
        standing: &Standing,
        members: Option<Vec<Member>>,
        fenced: Option<String>,
    ) -> u64 {
        let before = Arc::clone(&self.views.borrow());
        let view = GroupView {
            epoch: before.epoch + 1,
            generation: standing.generation,
            leases: self.leases,
            held: standing.held.clone(),
            members: members.unwrap_or_else(|| before.members.clone()),
            fenced,
        };
        let epoch = view.epoch;
        self.views.send_replace(Arc::new(view));
        epoch
    }

    /// Looks after the time: without a sign of the coordinator the worker fences itself.
    pub(super) async fn watch_over(&self) {
        let step = self.options.session_timeout / 40;
        loop {
            tokio::time::sleep(step).await;
            let now = Instant::now();
            let (late, cut) = {
                let mut standing = self.standing();
                let late = standing.fenced.is_none()
                    && !standing.held.is_empty()
                    && now >= standing.alive + self.options.patience();
                (late, standing.cut_at.take_if(|at| now >= *at).is_some())
            };
            if late {
                self.fence("the coordinator of its group does not answer", false);
            }
            if cut {
                self.inner.lease.cut();
                self.inner.ground.producer.begin_anew().await;
            }
        }
    }

    /// Waits until a fenced worker has ended its tasks.
    pub(super) async fn until_clean(&self) {
        let Some(epoch) = self.standing().fenced else { return };
        self.until_released(epoch).await;
        // A worker that ended its tasks in time need not be cut off from what it wrote.
        self.inner.lease.settled().await;
        let mut standing = self.standing();
        standing.fenced = None;
        standing.cut_at = None;
        standing.member_id.clear();
        standing.generation = -1;
    }

    pub(super) async fn until_released(&self, epoch: u64) {
        let mut released = self.released.subscribe();
        // The sender is in `self`: it cannot be gone.
        let _ = released.wait_for(|newest| *newest >= epoch).await;
    }
}
