//! The registry that Lattice brings along: [`Subjects`] kept in a document store.

mod stored;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
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
    /// Others write to the store too.
    shared: Option<Shared>,
}

/// A store that several registries share.
struct Shared {
    slots: Slots,
    /// When the store was read last.
    read: Mutex<Instant>,
}

/// Which new ids are this registry's: those that leave the first number as the remainder of a
/// division by the second; `None`: all of them.
pub type Slots = Box<dyn Fn() -> Option<(u32, u32)> + Send + Sync>;

/// What others registered is seen after so long at the latest, and at once where it is missed.
const FRESH: Duration = Duration::from_secs(1);

impl EmbeddedRegistry {
    /// Opens the registry kept in `store`.
    ///
    /// Errors: the store's own; `Fatal` when a document in it cannot be read, naming it.
    pub async fn open(store: Arc<dyn DocumentStore>) -> Result<Arc<Self>> {
        let subjects = stored::load(&*store).await?;
        Ok(Arc::new(Self::new(store, subjects, None)))
    }

    /// Opens the registry kept in a store that other workers write too. `slots` keeps their new
    /// ids apart.
    ///
    /// Errors: as [`EmbeddedRegistry::open`].
    pub async fn open_shared(store: Arc<dyn DocumentStore>, slots: Slots) -> Result<Arc<Self>> {
        let subjects = stored::load(&*store).await?;
        let shared = Shared { slots, read: Mutex::new(Instant::now()) };
        Ok(Arc::new(Self::new(store, subjects, Some(shared))))
    }

    fn new(store: Arc<dyn DocumentStore>, subjects: Subjects, shared: Option<Shared>) -> Self {
        Self { store, subjects: RwLock::new(subjects), writing: Mutex::new(()), shared }
    }

    /// Reads what others wrote, unless it was read within `age`.
    async fn renew(&self, age: Duration) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let mut read = shared.read.lock().await;
        if read.elapsed() < age {
            return Ok(());
        }
        let began = Instant::now();
        let mut subjects = stored::load(&*self.store).await?;
        let mut known = self.subjects.write().await;
        subjects.raise(known.counters());
        *known = subjects;
        *read = began;
        Ok(())
    }

    /// Reads the content as it is now.
    pub(crate) async fn read<T>(&self, read: impl FnOnce(&Subjects) -> T) -> T {
        if let Err(error) = self.renew(FRESH).await {
            tracing::warn!(error = error.chain(), "schemas of other workers");
        }
        read(&*self.subjects.read().await)
    }

    /// Decides on a change, writes it, then makes it visible. `decide` sees no half-made state
    /// since only one writer runs at a time.
    pub(crate) async fn write<T>(
        &self,
        decide: impl FnOnce(&Subjects) -> std::result::Result<(T, Vec<Change>), RegistryError>,
    ) -> std::result::Result<T, RegistryError> {
        let _writing = self.writing.lock().await;
        self.renew(Duration::ZERO).await?;
        if let Some(shared) = &self.shared {
            self.subjects.write().await.take_slot((shared.slots)());
        }
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
        Box::pin(async move {
            let found = self.subjects.read().await.text_alone(id);
            if found.is_ok() || self.shared.is_none() {
                return Ok(found?);
            }
            self.renew(Duration::ZERO).await?;
            Ok(self.subjects.read().await.text_alone(id)?)
        })
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
