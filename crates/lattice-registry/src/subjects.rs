//! Subjects, versions, ids, levels and modes in memory: decisions without I/O.
//!
//! Every change is returned as documents to be written first; [`Subjects::apply`] makes it
//! visible afterwards, so nothing is answered that a crash could take back.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Code, Level, NewSchema, Reference, RegisteredSchema, RegistryError, SchemaId, avro,
    compatibility,
};

type Result<T> = std::result::Result<T, RegistryError>;

/// A registry's whole content.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    versions: BTreeMap<Arc<str>, Vec<RegisteredSchema>>,
    by_id: HashMap<SchemaId, Arc<str>>,
    settings: BTreeMap<String, Settings>,
}

/// What a subject (or, under the empty name, the whole registry) has of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) level: Option<Level>,
    pub(crate) mode: Option<Mode>,
}

/// Whether schemas may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    ReadWrite,
    ReadOnly,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "READWRITE",
            Self::ReadOnly => "READONLY",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::ReadWrite, Self::ReadOnly]
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(word))
    }
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
    New(RegisteredSchema),
}

/// Which version of a subject is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Latest,
    Number(i32),
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

impl Subjects {
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Put(schema) => {
                self.by_id.insert(schema.id, Arc::clone(&schema.schema));
                let versions = self.versions.entry(Arc::clone(&schema.subject)).or_default();
                match versions.binary_search_by_key(&schema.version, |other| other.version) {
                    Ok(index) => versions[index] = schema,
                    Err(index) => versions.insert(index, schema),
                }
            }
            Change::Remove { subject, version } => {
                if let Some(versions) = self.versions.get_mut(&subject) {
                    versions.retain(|other| other.version != version);
                    if versions.is_empty() {
                        self.versions.remove(&subject);
                    }
                }
            }
            Change::Set { subject, settings } => {
                if settings == Settings::default() {
                    self.settings.remove(&subject);
                } else {
                    self.settings.insert(subject, settings);
                }
            }
        }
    }

    pub(crate) fn names(&self, deleted: bool) -> Vec<Arc<str>> {
        self.versions
            .iter()
            .filter(|(_, versions)| versions.iter().any(|version| deleted || !version.deleted))
            .map(|(subject, _)| Arc::clone(subject))
            .collect()
    }

    pub(crate) fn versions(&self, subject: &str, deleted: bool) -> Vec<&RegisteredSchema> {
        let all = self.versions.get(subject).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|version| deleted || !version.deleted).collect()
    }

    pub(crate) fn version(
        &self,
        subject: &str,
        which: Which,
        deleted: bool,
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
        self.by_id.get(&id).cloned().ok_or_else(|| {
            RegistryError::new(Code::SchemaNotFound, format!("Schema {} not found", id.0))
        })
    }

    /// All places where an id stands.
    pub(crate) fn places(&self, id: SchemaId, deleted: bool) -> Vec<&RegisteredSchema> {
        self.versions
            .values()
            .flatten()
            .filter(|version| version.id == id && (deleted || !version.deleted))
            .collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &RegisteredSchema> {
        self.versions.values().flatten()
    }

    pub(crate) fn settings(&self, subject: &str) -> Settings {
        self.settings.get(subject).copied().unwrap_or_default()
    }

    pub(crate) fn level(&self, subject: &str) -> Level {
        self.settings(subject).level.or(self.settings("").level).unwrap_or(Level::Backward)
    }

    pub(crate) fn mode(&self, subject: &str) -> Mode {
        self.settings(subject).mode.or(self.settings("").mode).unwrap_or(Mode::ReadWrite)
    }

    /// Parses a schema with its references resolved.
    pub(crate) fn parse(&self, schema: &NewSchema) -> Result<avro::Schema> {
        let mut texts = Vec::new();
        self.collect_references(&schema.references, &mut texts, 0)?;
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        avro::Schema::parse_with(&schema.schema, &texts).map_err(|error| {
            let message = format!("Invalid schema of type AVRO, details: {error}");
            RegistryError::new(Code::InvalidSchema, message)
        })
    }

    fn collect_references(
        &self,
        references: &[Reference],
        texts: &mut Vec<Arc<str>>,
        depth: usize,
    ) -> Result<()> {
        if depth > 30 {
            let message = "references are nested deeper than 30 levels";
            return Err(RegistryError::new(Code::InvalidSchema, message));
        }
        for reference in references {
            let found = self
                .version(&reference.subject, Which::Number(reference.version), true)
                .map_err(|_| {
                    let message = format!(
                        "No schema reference found for subject \"{}\" and version {}",
                        reference.subject, reference.version
                    );
                    RegistryError::new(Code::InvalidSchema, message)
                })?;
            self.collect_references(&found.references, texts, depth + 1)?;
            if !texts.contains(&found.schema) {
                texts.push(Arc::clone(&found.schema));
            }
        }
        Ok(())
    }

    /// Finds the same schema among a subject's versions: by its text, else by its structure
    /// (white space and the order of properties do not count).
    pub(crate) fn lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
        deleted: bool,
    ) -> Option<&RegisteredSchema> {
        let versions = self.versions(subject, deleted);
        let same = |other: &&&RegisteredSchema| other.references == schema.references;
        let by_text =
            versions.iter().rev().filter(same).find(|other| *other.schema == *schema.schema);
        if by_text.is_some() {
            return by_text.copied();
        }
        let wanted: Value = serde_json::from_str(&schema.schema).ok()?;
        versions
            .iter()
            .rev()
            .filter(same)
            .find(|other| {
                serde_json::from_str::<Value>(&other.schema).is_ok_and(|value| value == wanted)
            })
            .copied()
    }

    /// What registering `schema` under `subject` comes to.
    pub(crate) fn register(&self, subject: &str, schema: NewSchema) -> Result<Registration> {
        let schema = NewSchema { schema: compact(&schema.schema), ..schema };
        if let Some(found) = self.lookup(subject, &schema, false) {
            return Ok(Registration::Found(found.clone()));
        }
        if self.mode(subject) == Mode::ReadOnly {
            let message = format!("Subject {subject} is in read-only mode");
            return Err(RegistryError::new(Code::NotPermitted, message));
        }
        if subject.trim().is_empty() || subject.chars().any(char::is_control) {
            let message = format!("Invalid subject name '{}'", subject.escape_debug());
            return Err(RegistryError::new(Code::InvalidSubject, message));
        }
        let parsed = self.parse(&schema)?;
        let findings = self.incompatibilities(subject, &parsed)?;
        if !findings.is_empty() {
            return Err(incompatible(subject, self.level(subject), &findings));
        }
        let version = self
            .versions
            .get(subject)
            .and_then(|all| all.last())
            .map_or(1, |last| last.version + 1);
        let text: Arc<str> = schema.schema.into();
        let id = self.id_of(&text, &schema.references);
        Ok(Registration::New(RegisteredSchema {
            id,
            subject: subject.into(),
            version,
            schema_type: schema.schema_type,
            schema: text,
            references: schema.references,
            deleted: false,
        }))
    }

    /// One id per distinct content, whatever the subject.
    fn id_of(&self, text: &Arc<str>, references: &[Reference]) -> SchemaId {
        let known = self
            .all()
            .find(|other| other.schema == *text && other.references == references)
            .map(|other| other.id);
        known.unwrap_or_else(|| SchemaId(self.by_id.keys().map(|id| id.0).max().unwrap_or(0) + 1))
    }

    fn incompatibilities(&self, subject: &str, new: &avro::Schema) -> Result<Vec<String>> {
        let level = self.level(subject);
        if level == Level::None {
            return Ok(Vec::new());
        }
        let versions = self.versions(subject, false);
        self.compare(level, new, &versions)
    }

    /// Compares with the given versions, oldest first.
    pub(crate) fn compare(
        &self,
        level: Level,
        new: &avro::Schema,
        versions: &[&RegisteredSchema],
    ) -> Result<Vec<String>> {
        let mut earlier = Vec::with_capacity(versions.len());
        for version in versions {
            let schema = NewSchema {
                schema_type: version.schema_type,
                schema: version.schema.to_string(),
                references: version.references.clone(),
            };
            earlier.push((version.version, self.parse(&schema)?));
        }
        Ok(compatibility::check(level, new, &earlier))
    }

    /// Who refers to a version.
    pub(crate) fn referenced_by(&self, subject: &str, version: i32) -> Vec<SchemaId> {
        let refers = |schema: &&RegisteredSchema| {
            !schema.deleted
                && schema
                    .references
                    .iter()
                    .any(|reference| reference.subject == subject && reference.version == version)
        };
        self.all().filter(refers).map(|schema| schema.id).collect()
    }

    /// The changes that delete a version, or all of them.
    pub(crate) fn delete(
        &self,
        subject: &str,
        which: Option<Which>,
        permanent: bool,
    ) -> Result<Vec<Change>> {
        let known = self.versions(subject, true);
        if known.is_empty() {
            return Err(RegistryError::subject_not_found(subject));
        }
        let chosen: Vec<&RegisteredSchema> = match which {
            None if permanent => {
                if known.iter().any(|version| !version.deleted) {
                    let message = format!(
                        "Subject '{subject}' was not deleted first before being permanently deleted"
                    );
                    return Err(RegistryError::new(Code::SubjectNotSoftDeleted, message));
                }
                known
            }
            None => {
                let live = self.versions(subject, false);
                if live.is_empty() {
                    let message = format!(
                        "Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
                    );
                    return Err(RegistryError::new(Code::SubjectSoftDeleted, message));
                }
                live
            }
            Some(which) => vec![self.deletable(subject, which, permanent)?],
        };
        for version in &chosen {
            if !self.referenced_by(subject, version.version).is_empty() {
                let message = format!(
                    "One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={subject},version={}}}.",
                    version.version
                );
                return Err(RegistryError::new(Code::ReferenceExists, message));
            }
        }
        let change = |version: &RegisteredSchema| {
            if permanent {
                Change::Remove { subject: Arc::clone(&version.subject), version: version.version }
            } else {
                Change::Put(RegisteredSchema { deleted: true, ..version.clone() })
            }
        };
        Ok(chosen.into_iter().map(change).collect())
    }

    fn deletable(&self, subject: &str, which: Which, permanent: bool) -> Result<&RegisteredSchema> {
        let version = self.version(subject, which, true)?;
        let number = version.version;
        if permanent && !version.deleted {
            let message = format!(
                "Subject '{subject}' Version {number} was not deleted first before being permanently deleted"
            );
            return Err(RegistryError::new(Code::VersionNotSoftDeleted, message));
        }
        if !permanent && version.deleted {
            let message = format!(
                "Subject '{subject}' Version {number} was soft deleted. Set permanent=true to delete permanently"
            );
            return Err(RegistryError::new(Code::VersionSoftDeleted, message));
        }
        Ok(version)
    }
}

/// The same JSON without white space; anything else unchanged, for the parser to refuse.
fn compact(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => value.to_string(),
        Err(_) => text.to_owned(),
    }
}

fn incompatible(subject: &str, level: Level, findings: &[String]) -> RegistryError {
    let message = format!(
        "Schema being registered is incompatible with an earlier schema for subject \"{subject}\", \
         details: [{}; compatibility: {}]",
        findings.join("; "),
        level.as_str()
    );
    RegistryError::new(Code::Incompatible, message)
}
