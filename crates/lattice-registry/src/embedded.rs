//! The registry that Lattice brings along: [`Subjects`] kept in a document store.

mod stored;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use lattice_core::{BoxFuture, Error, Result, store::DocumentStore};
use tokio::sync::{Mutex, RwLock};

use crate::{
    Code, NewSchema, RegisteredSchema, RegistryError, SchemaId, SchemaRegistry,
    subjects::{Change, Deleted, Registration, Subjects},
};
use stored::Batch;

/// A registry whose subjects, versions and levels live in a [`DocumentStore`].
pub struct EmbeddedRegistry {
    store: Arc<dyn DocumentStore>,
    subjects: RwLock<Subjects>,
    /// Held by whoever decides and writes, so that readers wait for no disk.
    writing: Mutex<()>,
}

impl EmbeddedRegistry {
    /// Opens the registry kept in `store`.
    ///
    /// Errors: the store's own; `Fatal` when a document in it cannot be read, naming it.
    pub async fn open(store: Arc<dyn DocumentStore>) -> Result<Arc<Self>> {
        let subjects = stored::load(&*store).await?;
        Ok(Arc::new(Self { store, subjects: RwLock::new(subjects), writing: Mutex::new(()) }))
    }

    /// Reads the content as it is now.
    pub(crate) async fn read<T>(&self, read: impl FnOnce(&Subjects) -> T) -> T {
        read(&*self.subjects.read().await)
    }

    /// Decides on a change, writes it, then makes it visible. `decide` sees no half-made state
    /// since only one writer runs at a time.
    pub(crate) async fn write<T>(
        &self,
        decide: impl FnOnce(&Subjects) -> std::result::Result<(T, Vec<Change>), RegistryError>,
    ) -> std::result::Result<T, RegistryError> {
        let _writing = self.writing.lock().await;
        let (answer, changes) = decide(&*self.subjects.read().await)?;
        if changes.is_empty() {
            return Ok(answer);
        }
        let counters = self.subjects.read().await.counters();
        Batch::of(&changes, counters)?.write(&*self.store).await?;
        let mut subjects = self.subjects.write().await;
        for change in changes {
            subjects.apply(change);
        }
        Ok(answer)
    }

    /// Registers and tells the version too.
    pub(crate) async fn register_version(
        &self,
        subject: &str,
        schema: NewSchema,
    ) -> std::result::Result<RegisteredSchema, RegistryError> {
        self.write(|subjects| match subjects.register(subject, schema, now_ms())? {
            Registration::Found(found) => Ok((found, Vec::new())),
            Registration::New(new, changes) => Ok((new, changes)),
        })
        .await
    }
}

/// Units: ms since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl SchemaRegistry for EmbeddedRegistry {
    fn register<'a>(
        &'a self,
        subject: &'a str,
        schema: NewSchema,
    ) -> BoxFuture<'a, Result<SchemaId>> {
        Box::pin(async move {
            let registered = self.register_version(subject, schema).await.map_err(|error| {
                let incompatible = error.code == Code::Incompatible;
                let error = Error::from(error);
                if !incompatible {
                    return error;
                }
                error.with_remedy(format!(
                    "make the column nullable or give it a default, or set the level of subject \
                     \"{subject}\" to NONE: PUT /config/{subject} {{\"compatibility\":\"NONE\"}}"
                ))
            })?;
            Ok(registered.id)
        })
    }

    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Arc<str>>> {
        Box::pin(async move { Ok(self.read(|subjects| subjects.text_alone(id)).await?) })
    }

    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>> {
        Box::pin(async move { Ok(self.read(|subjects| subjects.names(Deleted::Hidden)).await) })
    }

    fn versions<'a>(&'a self, subject: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>> {
        Box::pin(async move {
            let owned = |subjects: &Subjects| {
                subjects.versions(subject, Deleted::Hidden).into_iter().cloned().collect()
            };
            Ok(self.read(owned).await)
        })
    }
}
