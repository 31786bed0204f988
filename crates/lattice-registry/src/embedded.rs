//! The registry that Lattice brings along: [`Subjects`] kept in a document store.

use std::sync::Arc;

use bytes::Bytes;
use lattice_core::{BoxFuture, Error, Result, store::DocumentStore};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, RwLock};

use crate::{
    Code, Level, NewSchema, Reference, RegisteredSchema, RegistryError, SchemaId, SchemaRegistry,
    subjects::{Change, Mode, Registration, Settings, Subjects},
};

const SCHEMAS: &str = "registry-schemas";
const SETTINGS: &str = "registry-settings";

/// A registry whose subjects, versions and levels live in a [`DocumentStore`].
pub struct EmbeddedRegistry {
    store: Arc<dyn DocumentStore>,
    subjects: RwLock<Subjects>,
    /// Held by whoever decides and writes, so that readers wait for no disk.
    writing: Mutex<()>,
}

/// A version as it is kept. Its own form, apart from the REST bodies.
#[derive(Serialize, Deserialize)]
struct StoredSchema {
    subject: String,
    version: i32,
    id: i32,
    schema: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    references: Vec<(String, String, i32)>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredSettings {
    level: Option<String>,
    mode: Option<String>,
}

impl EmbeddedRegistry {
    /// Opens the registry kept in `store`.
    ///
    /// Errors: the store's own; `Fatal` when a document in it cannot be read, naming it.
    pub async fn open(store: Arc<dyn DocumentStore>) -> Result<Arc<Self>> {
        let mut subjects = Subjects::default();
        for (key, bytes) in store.scan(SCHEMAS).await? {
            let stored: StoredSchema =
                serde_json::from_slice(&bytes).map_err(|error| damaged(SCHEMAS, &key, error))?;
            subjects.apply(Change::Put(stored.into()));
        }
        for (subject, bytes) in store.scan(SETTINGS).await? {
            let stored: StoredSettings = serde_json::from_slice(&bytes)
                .map_err(|error| damaged(SETTINGS, &subject, error))?;
            let level = stored.level.as_deref().and_then(Level::from_word);
            let mode = stored.mode.as_deref().and_then(Mode::from_word);
            // The empty name is kept as "*", since a key may not be empty.
            let subject = if subject == "*" { String::new() } else { subject };
            subjects.apply(Change::Set { subject, settings: Settings { level, mode } });
        }
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
        let (mut schemas, mut settings) = (Vec::new(), Vec::new());
        for change in &changes {
            match change {
                Change::Put(schema) => {
                    let key = document_key(&schema.subject, schema.version);
                    schemas.push((key, Some(encode(&StoredSchema::from(schema))?)));
                }
                Change::Remove { subject, version } => {
                    schemas.push((document_key(subject, *version), None));
                }
                Change::Set { subject, settings: own } => {
                    let key = if subject.is_empty() { "*".to_owned() } else { subject.clone() };
                    let stored = StoredSettings {
                        level: own.level.map(|level| level.as_str().to_owned()),
                        mode: own.mode.map(|mode| mode.as_str().to_owned()),
                    };
                    let document =
                        if *own == Settings::default() { None } else { Some(encode(&stored)?) };
                    settings.push((key, document));
                }
            }
        }
        if !schemas.is_empty() {
            self.store.put(SCHEMAS, schemas).await?;
        }
        if !settings.is_empty() {
            self.store.put(SETTINGS, settings).await?;
        }
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
        self.write(|subjects| match subjects.register(subject, schema)? {
            Registration::Found(found) => Ok((found, Vec::new())),
            Registration::New(new) => Ok((new.clone(), vec![Change::Put(new)])),
        })
        .await
    }
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
        Box::pin(async move { Ok(self.read(|subjects| subjects.text(id)).await?) })
    }

    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>> {
        Box::pin(async move { Ok(self.read(|subjects| subjects.names(false)).await) })
    }

    fn versions<'a>(&'a self, subject: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>> {
        Box::pin(async move {
            let owned = |subjects: &Subjects| {
                subjects.versions(subject, false).into_iter().cloned().collect()
            };
            Ok(self.read(owned).await)
        })
    }
}

/// Zero-padded, so that the store's order by key is the order of versions.
fn document_key(subject: &str, version: i32) -> String {
    format!("{subject}/{version:010}")
}

fn encode(document: &impl Serialize) -> std::result::Result<Bytes, RegistryError> {
    serde_json::to_vec(document).map(Bytes::from).map_err(|error| {
        RegistryError::from(Error::fatal("encode a registry document").with_source(error))
    })
}

fn damaged(namespace: &str, key: &str, error: serde_json::Error) -> Error {
    Error::fatal(format!("document \"{key}\" of \"{namespace}\" cannot be read"))
        .with_remedy("the store was written by a newer version or is damaged: restore it")
        .with_source(error)
}

impl From<StoredSchema> for RegisteredSchema {
    fn from(stored: StoredSchema) -> Self {
        let reference = |(name, subject, version)| Reference { name, subject, version };
        Self {
            id: SchemaId(stored.id),
            subject: stored.subject.into(),
            version: stored.version,
            schema_type: "AVRO",
            schema: stored.schema.into(),
            references: stored.references.into_iter().map(reference).collect(),
            deleted: stored.deleted,
        }
    }
}

impl From<&RegisteredSchema> for StoredSchema {
    fn from(schema: &RegisteredSchema) -> Self {
        let reference = |reference: &Reference| {
            (reference.name.clone(), reference.subject.clone(), reference.version)
        };
        Self {
            subject: schema.subject.to_string(),
            version: schema.version,
            id: schema.id.0,
            schema: schema.schema.to_string(),
            references: schema.references.iter().map(reference).collect(),
            deleted: schema.deleted,
        }
    }
}
