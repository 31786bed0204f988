//! Subjects, versions, ids, levels and modes in memory: decisions without I/O.
//!
//! Every change is returned as documents to be written first; [`Subjects::apply`] makes it
//! visible afterwards, so nothing is answered that a crash could take back.

mod deletion;
mod identity;
mod registration;
mod settings;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    Code, Level, NewSchema, Reference, RegisteredSchema, RegistryError, SchemaId,
    avro::inline,
    compatibility,
    parsed::{Parsed, comparable},
};

pub(crate) use self::{
    identity::{Digest, guid, guid_text},
    settings::{Mode, Settings, group_key},
};

type Result<T> = std::result::Result<T, RegistryError>;

/// References nested deeper than this are refused.
const MAX_DEPTH: usize = 30;

/// A registry's whole content.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    versions: BTreeMap<Arc<str>, Vec<Kept>>,
    by_id: HashMap<SchemaId, Content>,
    by_guid: HashMap<Digest, SchemaId>,
    settings: BTreeMap<String, Settings>,
    counters: Counters,
    /// Which new ids are ours; `None`: all.
    slot: Option<(u32, u32)>,
}

/// A version, and what it is compared by.
#[derive(Debug)]
struct Kept {
    schema: RegisteredSchema,
    comparable: Digest,
}

/// What an id stands for.
#[derive(Debug)]
struct Content {
    text: Arc<str>,
    guid: Digest,
    /// How many versions have it.
    uses: usize,
}

/// The highest ids ever given: they are never given again, whatever was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) id: i32,
    pub(crate) global_id: i64,
}

/// A change that is to be written, then applied.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Put(RegisteredSchema),
    Remove { subject: Arc<str>, version: i32 },
    Set { subject: String, settings: Settings },
}

/// What registering comes to.
#[derive(Debug)]
pub(crate) enum Registration {
    Found(RegisteredSchema),
    New(RegisteredSchema, Vec<Change>),
}

/// Which version of a subject is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Latest,
    Number(i32),
}

/// Which versions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deleted {
    Hidden,
    Shown,
    Only,
}

impl Which {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let invalid = || {
            let message = format!(
                "The specified version '{text}' is not a valid version id. Allowed values are \
                 between [1, 2^31-1] and the string \"latest\""
            );
            RegistryError::new(Code::InvalidVersion, message)
        };
        if text == "latest" || text == "-1" {
            return Ok(Self::Latest);
        }
        match text.parse::<i32>() {
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            Ok(_) | Err(_) => Err(invalid()),
        }
    }
}

impl Deleted {
    /// What `deleted=true` means where the deleted ones come in addition.
    pub(crate) fn shown(shown: bool) -> Self {
        if shown { Self::Shown } else { Self::Hidden }
    }

    fn takes(self, deleted: bool) -> bool {
        match self {
            Self::Hidden => !deleted,
            Self::Shown => true,
            Self::Only => deleted,
        }
    }
}

impl Subjects {
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Put(schema) => self.put(schema),
            Change::Remove { subject, version } => self.remove(&subject, version),
            Change::Set { subject, settings } => {
                if settings == Settings::default() {
                    self.settings.remove(&subject);
                } else {
                    self.settings.insert(subject, settings);
                }
            }
        }
    }

    fn put(&mut self, schema: RegisteredSchema) {
        self.raise(Counters { id: schema.id.0, global_id: schema.global_id });
        let subject = Arc::clone(&schema.subject);
        if self.find(&subject, schema.version).is_some_and(|old| old.schema.id != schema.id) {
            self.remove(&subject, schema.version);
        }
        let comparable = identity::digest(&comparable(schema.schema_type, &schema.schema));
        let versions = self.versions.entry(subject).or_default();
        let place = versions.binary_search_by_key(&schema.version, |kept| kept.schema.version);
        match place {
            Ok(index) => {
                versions[index] = Kept { schema, comparable };
                return;
            }
            Err(index) => versions.insert(index, Kept { schema: schema.clone(), comparable }),
        }
        let guid = guid(&schema);
        self.by_guid.entry(guid).or_insert(schema.id);
        let content = Content { text: schema.schema, guid, uses: 0 };
        self.by_id.entry(schema.id).or_insert(content).uses += 1;
    }

    fn remove(&mut self, subject: &str, version: i32) {
        let Some(versions) = self.versions.get_mut(subject) else { return };
        let place = versions.binary_search_by_key(&version, |kept| kept.schema.version);
        let Ok(index) = place else { return };
        let Kept { schema, .. } = versions.remove(index);
        if versions.is_empty() {
            self.versions.remove(subject);
        }
        if let Some(content) = self.by_id.get_mut(&schema.id) {
            content.uses = content.uses.saturating_sub(1);
            if content.uses == 0 {
                let guid = content.guid;
                self.by_id.remove(&schema.id);
                self.by_guid.remove(&guid);
            }
        }
    }

    /// Ids up to these are never given again.
    pub(crate) fn raise(&mut self, to: Counters) {
        self.counters.id = self.counters.id.max(to.id);
        self.counters.global_id = self.counters.global_id.max(to.global_id);
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// New ids leave the first number as the remainder of a division by the second.
    pub(crate) fn take_slot(&mut self, slot: Option<(u32, u32)>) {
        self.slot = slot.filter(|(_, all)| *all > 0);
    }

    fn next_ids(&self) -> (SchemaId, i64) {
        let Counters { id, global_id } = self.counters;
        let Some((own, all)) = self.slot else { return (SchemaId(id + 1), global_id + 1) };
        let next = |last: i64| {
            let (own, all) = (i64::from(own), i64::from(all));
            last + 1 + (own - (last + 1)).rem_euclid(all)
        };
        let id = i32::try_from(next(i64::from(id))).unwrap_or(i32::MAX);
        (SchemaId(id), next(global_id))
    }

    fn find(&self, subject: &str, version: i32) -> Option<&Kept> {
        let versions = self.versions.get(subject)?;
        let place = versions.binary_search_by_key(&version, |kept| kept.schema.version).ok()?;
        versions.get(place)
    }

    pub(crate) fn names(&self, deleted: Deleted) -> Vec<Arc<str>> {
        let meant = |versions: &[Kept]| match deleted {
            Deleted::Only => versions.iter().all(|kept| kept.schema.deleted),
            Deleted::Hidden | Deleted::Shown => {
                versions.iter().any(|kept| deleted.takes(kept.schema.deleted))
            }
        };
        let subjects = self.versions.iter().filter(|(_, versions)| meant(versions));
        subjects.map(|(subject, _)| Arc::clone(subject)).collect()
    }

    pub(crate) fn versions(&self, subject: &str, deleted: Deleted) -> Vec<&RegisteredSchema> {
        let all = self.versions.get(subject).map(Vec::as_slice).unwrap_or_default();
        all.iter()
            .map(|kept| &kept.schema)
            .filter(|version| deleted.takes(version.deleted))
            .collect()
    }

    pub(crate) fn version(
        &self,
        subject: &str,
        which: Which,
        deleted: Deleted,
    ) -> Result<&RegisteredSchema> {
        let versions = self.versions(subject, deleted);
        if versions.is_empty() {
            return Err(RegistryError::subject_not_found(subject));
        }
        match which {
            Which::Latest => versions.last().copied(),
            Which::Number(number) => {
                versions.iter().find(|version| version.version == number).copied()
            }
        }
        .ok_or_else(|| {
            RegistryError::version_not_found(&match which {
                Which::Latest => "latest".to_owned(),
                Which::Number(number) => number.to_string(),
            })
        })
    }

    pub(crate) fn text(&self, id: SchemaId) -> Result<Arc<str>> {
        self.by_id.get(&id).map(|content| Arc::clone(&content.text)).ok_or_else(|| {
            RegistryError::new(Code::SchemaNotFound, format!("Schema {} not found", id.0))
        })
    }

    /// The text of a schema with the types it refers to written into it.
    pub(crate) fn text_alone(&self, id: SchemaId) -> Result<Arc<str>> {
        let text = self.text(id)?;
        let places = self.places(id, true);
        let Some(place) = places.first().filter(|place| !place.references.is_empty()) else {
            return Ok(text);
        };
        if place.schema_type != "AVRO" {
            return Ok(text);
        }
        let mut texts = Vec::new();
        self.collect_references(&place.references, &mut texts, 0)?;
        Ok(inline(&text, texts.iter().map(|text| &**text)).into())
    }

    /// The id of a content by the digest that Confluent calls its GUID.
    pub(crate) fn id_of_guid(&self, guid: Digest) -> Option<SchemaId> {
        self.by_guid.get(&guid).copied()
    }

    /// The highest id ever given.
    pub(crate) fn max_id(&self) -> i32 {
        self.counters.id
    }

    /// All places where an id stands.
    pub(crate) fn places(&self, id: SchemaId, deleted: bool) -> Vec<&RegisteredSchema> {
        self.all().filter(|version| version.id == id && (deleted || !version.deleted)).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &RegisteredSchema> {
        self.versions.values().flatten().map(|kept| &kept.schema)
    }

    /// Reads a schema with its references resolved.
    pub(crate) fn parse(&self, schema: &NewSchema) -> Result<Parsed> {
        self.parsed(schema.schema_type, &schema.schema, &schema.references)
    }

    fn parsed(&self, kind: &str, text: &str, references: &[Reference]) -> Result<Parsed> {
        let mut texts = Vec::new();
        self.collect_references(references, &mut texts, 0)?;
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        Parsed::parse(kind, text, &texts).map_err(|reason| {
            let message = format!("Invalid schema of type {kind}, details: {reason}");
            RegistryError::new(Code::InvalidSchema, message)
        })
    }

    fn collect_references(
        &self,
        references: &[Reference],
        texts: &mut Vec<Arc<str>>,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_DEPTH {
            let message = format!("references are nested deeper than {MAX_DEPTH} levels");
            return Err(RegistryError::new(Code::InvalidSchema, message));
        }
        for reference in references {
            let found = self.find(&reference.subject, reference.version).ok_or_else(|| {
                let message = format!(
                    "No schema reference found for subject \"{}\" and version {}",
                    reference.subject, reference.version
                );
                RegistryError::new(Code::InvalidSchema, message)
            })?;
            self.collect_references(&found.schema.references, texts, depth + 1)?;
            if !texts.contains(&found.schema.schema) {
                texts.push(Arc::clone(&found.schema.schema));
            }
        }
        Ok(())
    }

    /// Compares with the given versions, oldest first.
    pub(crate) fn compare(
        &self,
        level: Level,
        new: &Parsed,
        versions: &[&RegisteredSchema],
    ) -> Result<Vec<String>> {
        if level == Level::None {
            return Ok(Vec::new());
        }
        let skipped = if level.is_transitive() { 0 } else { versions.len().saturating_sub(1) };
        let mut earlier = Vec::new();
        for version in versions.iter().skip(skipped) {
            let parsed = self.parsed(version.schema_type, &version.schema, &version.references)?;
            earlier.push((version.version, parsed));
        }
        Ok(compatibility::check(level, new, &earlier))
    }

    /// Who refers to a version.
    pub(crate) fn referenced_by(
        &self,
        subject: &str,
        version: i32,
        deleted: bool,
    ) -> Vec<SchemaId> {
        let refers = |schema: &&RegisteredSchema| {
            (deleted || !schema.deleted)
                && schema
                    .references
                    .iter()
                    .any(|reference| reference.subject == subject && reference.version == version)
        };
        let mut ids: Vec<SchemaId> = self.all().filter(refers).map(|schema| schema.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
