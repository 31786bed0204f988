//! Documents in compacted topics: connectors, their target states and what they are at in the ones
//! that Kafka Connect keeps them in, under its keys; everything else in one of our own.

use std::sync::Arc;

use bytes::Bytes;
use lattice_core::{BoxFuture, Result, store::DocumentStore};

use super::table::Table;

/// Namespaces whose documents are Kafka Connect's records, and how their keys begin.
const CONNECT: [(&str, &str); 2] =
    [("connector-configs", "connector-"), ("connector-states", "target-state-")];

/// Namespaces of Kafka Connect's status topic, and how their keys begin.
const STATUS: [(&str, &str); 2] =
    [("connector-status", "status-connector-"), ("task-status", "status-task-")];

/// Documents in three topics.
pub(crate) struct Documents {
    pub(crate) connect: Table,
    pub(crate) status: Table,
    pub(crate) own: Table,
}

impl Documents {
    /// The table that holds a namespace, and how its keys begin.
    fn place(&self, namespace: &str) -> (&Table, String) {
        let prefix = |keys: &[(&str, &str)]| {
            let found = keys.iter().find(|(known, _)| *known == namespace);
            found.map(|(_, prefix)| (*prefix).to_owned())
        };
        if let Some(prefix) = prefix(&CONNECT) {
            return (&self.connect, prefix);
        }
        match prefix(&STATUS) {
            Some(prefix) => (&self.status, prefix),
            None => (&self.own, format!("{namespace}/")),
        }
    }
}

/// The documents of a log, by its handle.
pub(crate) struct Handle(pub(crate) Arc<Documents>);

impl DocumentStore for Handle {
    fn put<'a>(
        &'a self,
        namespace: &'a str,
        documents: Vec<(String, Option<Bytes>)>,
    ) -> BoxFuture<'a, Result<()>> {
        let (table, prefix) = self.0.place(namespace);
        let change = |(name, value): (String, Option<Bytes>)| {
            (format!("{prefix}{name}").into_bytes(), value.map(Vec::from))
        };
        let changes: Vec<_> = documents.into_iter().map(change).collect();
        Box::pin(async move { table.write(&changes).await })
    }

    fn scan<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Vec<(String, Bytes)>>> {
        Box::pin(async move {
            let (table, prefix) = self.0.place(namespace);
            let choose = |key: &[u8], value: &Bytes| {
                let name = key.strip_prefix(prefix.as_bytes())?;
                Some((String::from_utf8_lossy(name).into_owned(), value.clone()))
            };
            table.read(choose).await
        })
    }
}
