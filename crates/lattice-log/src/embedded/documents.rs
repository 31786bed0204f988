//! The document store in the log's file.

use std::sync::Arc;

use bytes::Bytes;
use lattice_core::{BoxFuture, Result, store::DocumentStore};

use super::{
    readers::{self, Readers},
    writer::{Change, Writer},
};

/// Documents beside the records; they share the log's writer and its group commit.
pub(crate) struct Documents {
    writer: Writer,
    readers: Arc<Readers>,
}

impl Documents {
    pub(crate) fn new(writer: Writer, readers: Arc<Readers>) -> Self {
        Self { writer, readers }
    }
}

impl DocumentStore for Documents {
    fn put<'a>(
        &'a self,
        namespace: &'a str,
        documents: Vec<(String, Option<Bytes>)>,
    ) -> BoxFuture<'a, Result<()>> {
        let change = Change::PutDocuments { namespace: namespace.to_owned(), documents };
        Box::pin(async move { self.writer.send(change).await.map(drop) })
    }

    fn scan<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Vec<(String, Bytes)>>> {
        let namespace = namespace.to_owned();
        Box::pin(self.readers.run(move |connection| readers::documents(connection, &namespace)))
    }
}
