//! The documents in which a registry is kept. Their own form, apart from the REST bodies.

use bytes::Bytes;
use lattice_core::{Error, Result, store::DocumentStore};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Extra, Level, Reference, RegisteredSchema, SchemaId,
    subjects::{Change, Counters, Mode, Settings, Subjects},
};

const SCHEMAS: &str = "registry-schemas";
const SETTINGS: &str = "registry-settings";
const COUNTERS: &str = "registry-counters";

/// The whole registry's settings; a key may not be empty.
const GLOBAL: &str = "*";

type Documents = Vec<(String, Option<Bytes>)>;

#[derive(Serialize, Deserialize)]
struct StoredSchema {
    subject: String,
    version: i32,
    id: i32,
    /// 0 in documents of the first version, which knew no such ids.
    #[serde(default)]
    global_id: i64,
    #[serde(default = "avro", skip_serializing_if = "is_avro")]
    schema_type: String,
    schema: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    references: Vec<(String, String, i32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule_set: Option<Value>,
    #[serde(default)]
    deleted: bool,
    #[serde(default)]
    created_ms: i64,
}

#[derive(Serialize, Deserialize)]
struct StoredSettings {
    level: Option<String>,
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    others: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    apicurio: Map<String, Value>,
}

/// The highest ids ever given, kept when what had them is gone.
#[derive(Serialize, Deserialize)]
struct StoredCounters {
    id: i32,
    global_id: i64,
}

fn avro() -> String {
    "AVRO".to_owned()
}

fn is_avro(kind: &str) -> bool {
    kind == "AVRO"
}

/// Reads everything.
///
/// Errors: the store's own; `Fatal` when a document cannot be read, naming it.
pub(super) async fn load(store: &dyn DocumentStore) -> Result<Subjects> {
    let mut subjects = Subjects::default();
    let mut without_global_id = Vec::new();
    for (key, bytes) in store.scan(SCHEMAS).await? {
        let stored: StoredSchema =
            serde_json::from_slice(&bytes).map_err(|error| damaged(SCHEMAS, &key, error))?;
        let schema = RegisteredSchema::from(stored);
        if schema.global_id == 0 {
            without_global_id.push(schema);
        } else {
            subjects.apply(Change::Put(schema));
        }
    }
    for (subject, bytes) in store.scan(SETTINGS).await? {
        let stored: StoredSettings =
            serde_json::from_slice(&bytes).map_err(|error| damaged(SETTINGS, &subject, error))?;
        let settings = stored.into();
        let subject = if subject == GLOBAL { String::new() } else { subject };
        subjects.apply(Change::Set { subject, settings });
    }
    for (key, bytes) in store.scan(COUNTERS).await? {
        let StoredCounters { id, global_id } =
            serde_json::from_slice(&bytes).map_err(|error| damaged(COUNTERS, &key, error))?;
        subjects.raise(Counters { id, global_id });
    }
    give_global_ids(store, &mut subjects, without_global_id).await?;
    Ok(subjects)
}

/// Written back at once, so that they stay the same.
async fn give_global_ids(
    store: &dyn DocumentStore,
    subjects: &mut Subjects,
    schemas: Vec<RegisteredSchema>,
) -> Result<()> {
    if schemas.is_empty() {
        return Ok(());
    }
    let first = subjects.counters().global_id + 1;
    let given = (first..).zip(schemas);
    let changes: Vec<Change> = given
        .map(|(global_id, schema)| Change::Put(RegisteredSchema { global_id, ..schema }))
        .collect();
    Batch::of(&changes, subjects.counters())?.write(store).await?;
    for change in changes {
        subjects.apply(change);
    }
    Ok(())
}

/// The documents of some changes.
#[derive(Default)]
pub(super) struct Batch {
    schemas: Documents,
    settings: Documents,
    counters: Documents,
}

impl Batch {
    pub(super) fn of(changes: &[Change], counters: Counters) -> Result<Self> {
        let mut batch = Self::default();
        for change in changes {
            match change {
                Change::Put(schema) => {
                    let key = document_key(&schema.subject, schema.version);
                    batch.schemas.push((key, Some(encode(&StoredSchema::from(schema))?)));
                }
                Change::Remove { subject, version } => {
                    batch.schemas.push((document_key(subject, *version), None));
                    let Counters { id, global_id } = counters;
                    let stored = encode(&StoredCounters { id, global_id })?;
                    batch.counters = vec![("ids".to_owned(), Some(stored))];
                }
                Change::Set { subject, settings } => {
                    let key = if subject.is_empty() { GLOBAL } else { subject }.to_owned();
                    let kept = *settings != Settings::default();
                    let document =
                        if kept { Some(encode(&StoredSettings::from(settings))?) } else { None };
                    batch.settings.push((key, document));
                }
            }
        }
        Ok(batch)
    }

    /// The counters first: were what had the ids gone before, they could be given again.
    pub(super) async fn write(self, store: &dyn DocumentStore) -> Result<()> {
        let namespaces =
            [(COUNTERS, self.counters), (SCHEMAS, self.schemas), (SETTINGS, self.settings)];
        for (namespace, documents) in namespaces {
            if !documents.is_empty() {
                store.put(namespace, documents).await?;
            }
        }
        Ok(())
    }
}

/// Zero-padded, so that the store's order by key is the order of versions.
fn document_key(subject: &str, version: i32) -> String {
    format!("{subject}/{version:010}")
}

fn encode(document: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(document)
        .map(Bytes::from)
        .map_err(|error| Error::fatal("encode a registry document").with_source(error))
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
            global_id: stored.global_id,
            subject: stored.subject.into(),
            version: stored.version,
            schema_type: match stored.schema_type.as_str() {
                "JSON" => "JSON",
                "PROTOBUF" => "PROTOBUF",
                _ => "AVRO",
            },
            schema: stored.schema.into(),
            references: stored.references.into_iter().map(reference).collect(),
            extra: Extra { metadata: stored.metadata, rule_set: stored.rule_set },
            deleted: stored.deleted,
            created_ms: stored.created_ms,
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
            global_id: schema.global_id,
            schema_type: schema.schema_type.to_owned(),
            schema: schema.schema.to_string(),
            references: schema.references.iter().map(reference).collect(),
            metadata: schema.extra.metadata.clone(),
            rule_set: schema.extra.rule_set.clone(),
            deleted: schema.deleted,
            created_ms: schema.created_ms,
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            level: stored.level.as_deref().and_then(Level::from_word),
            mode: stored.mode.as_deref().and_then(Mode::from_word),
            others: stored.others,
            apicurio: stored.apicurio,
        }
    }
}

impl From<&Settings> for StoredSettings {
    fn from(settings: &Settings) -> Self {
        Self {
            level: settings.level.map(|level| level.as_str().to_owned()),
            mode: settings.mode.map(|mode| mode.as_str().to_owned()),
            others: settings.others.clone(),
            apicurio: settings.apicurio.clone(),
        }
    }
}
