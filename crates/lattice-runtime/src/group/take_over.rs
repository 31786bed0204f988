//! Takes over connectors that other workers made, changed or deleted.

use std::sync::Arc;

use lattice_core::Result;

use crate::{connector::Connector, report::lock, store::Kept, worker::Worker};

impl Worker {
    /// Becomes as the log keeps it.
    ///
    /// Errors: the log's own.
    pub(super) async fn take_over(&self) -> Result<()> {
        self.take_over_members().await?;
        let kept = self.0.shared.store.load().await?;
        let connectors: Vec<_> = lock(&self.0.connectors).values().cloned().collect();
        let differs = |connector: &&Arc<Connector>| {
            kept.get(&connector.name).is_some_and(|kept| !connector.is_as(kept))
        };
        let changing = connectors.iter().filter(differs).map(|connector| self.renew(connector));
        for renewed in futures_util::future::join_all(changing).await {
            renewed?;
        }
        Ok(())
    }

    /// Connectors come and go.
    async fn take_over_members(&self) -> Result<()> {
        let _membership = self.0.membership.lock().await;
        // Read while nobody here makes or deletes one.
        let mut kept = self.0.shared.store.load().await?;
        let here: Vec<_> = lock(&self.0.connectors).values().cloned().collect();
        for connector in here {
            if kept.remove(&connector.name).is_none() {
                let _transition = connector.transition.lock().await;
                connector.end_tasks(self.0.shared.config.task_grace).await;
                lock(&self.0.connectors).remove(&connector.name);
                tracing::info!(connector = connector.name, "deleted by another worker");
                self.0.shared.changed.send_modify(|version| *version += 1);
            }
        }
        for (name, kept) in kept {
            let connector = Arc::new(Connector::new(&name, kept, Arc::clone(&self.0.shared)));
            let _transition = connector.transition.lock().await;
            lock(&self.0.connectors).insert(name.clone(), Arc::clone(&connector));
            connector.start();
            tracing::info!(connector = name, "made by another worker");
        }
        Ok(())
    }

    async fn renew(&self, connector: &Arc<Connector>) -> Result<()> {
        let _transition = connector.transition.lock().await;
        // Read again: whoever changes it here writes and applies while holding the transition.
        let kept: Option<Kept> = self.0.shared.store.load().await?.remove(&connector.name);
        let Some(kept) = kept.filter(|kept| !connector.is_as(kept)) else { return Ok(()) };
        if self.0.refuse_deleted(connector).is_ok() {
            tracing::info!(connector = connector.name, "changed by another worker");
            connector.become_as(kept, self.0.shared.config.task_grace).await;
        }
        Ok(())
    }
}
