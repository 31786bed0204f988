//! Small durable documents: connector configs, target states, registered schemas.

use bytes::Bytes;

use crate::{BoxFuture, error::Result};

/// A durable map from (namespace, key) to bytes. The embedded log keeps it in its file; with
/// Kafka it is a compacted topic.
pub trait DocumentStore: Send + Sync {
    /// Writes several documents at once; `None` removes. Returns when they are durable: all or
    /// none. Namespaces are short constant words such as `connector-configs`.
    fn put<'a>(
        &'a self,
        namespace: &'a str,
        documents: Vec<(String, Option<Bytes>)>,
    ) -> BoxFuture<'a, Result<()>>;

    /// All documents of a namespace, ordered by key.
    fn scan<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Vec<(String, Bytes)>>>;
}
