//! Until when this worker may write, and the appends that are under way.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use lattice_core::{Error, Result};
use tokio::sync::watch;

/// Guards appends. Open for ever where no group was joined.
#[derive(Default)]
pub(crate) struct Lease {
    /// `None`: for ever.
    until: Mutex<Option<Instant>>,
    /// Goes up when appends are to be given up.
    cut: watch::Sender<u64>,
    under_way: Mutex<BTreeSet<u64>>,
    next: Mutex<u64>,
    ended: watch::Sender<u64>,
}

/// An append under way.
pub(crate) struct Append<'a> {
    lease: &'a Lease,
    id: u64,
    cut: watch::Receiver<u64>,
}

impl Lease {
    /// Holds until then.
    pub(super) fn extend(&self, until: Instant) {
        *lock(&self.until) = Some(until);
    }

    /// Ends now: appends under way are given up, new ones refused.
    pub(super) fn cut(&self) {
        *lock(&self.until) = Some(Instant::now());
        self.cut.send_modify(|count| *count += 1);
    }

    /// Errors: `Transient` when the lease ran out.
    pub(crate) fn check(&self) -> Result<()> {
        if lock(&self.until).is_some_and(|until| Instant::now() >= until) {
            return Err(given_up());
        }
        Ok(())
    }

    /// Begins an append.
    ///
    /// Errors: `Transient` when the lease ran out.
    pub(crate) fn begin(&self) -> Result<Append<'_>> {
        let cut = self.cut.subscribe();
        let id = {
            let mut next = lock(&self.next);
            *next += 1;
            *next
        };
        // Noted first: who waits for appends sees it, or the check sees the lease's end.
        lock(&self.under_way).insert(id);
        let append = Append { lease: self, id, cut };
        self.check()?;
        Ok(append)
    }

    /// Waits until the appends that are under way have ended.
    pub(super) async fn settled(&self) {
        let last = *lock(&self.next);
        let mut ended = self.ended.subscribe();
        loop {
            ended.borrow_and_update();
            if lock(&self.under_way).first().is_none_or(|oldest| *oldest > last) {
                return;
            }
            if ended.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Append<'_> {
    /// Waits until the append is to be given up.
    pub(crate) async fn given_up(&mut self) -> Error {
        if self.cut.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        given_up()
    }
}

impl Drop for Append<'_> {
    fn drop(&mut self) {
        lock(&self.lease.under_way).remove(&self.id);
        self.lease.ended.send_modify(|count| *count += 1);
    }
}

fn given_up() -> Error {
    Error::transient("this worker lost its group, other workers may run its tasks by now")
        .with_remedy("check that the worker reaches the Kafka brokers in time")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
