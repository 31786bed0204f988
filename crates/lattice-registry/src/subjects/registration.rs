//! Finding and registering schemas, in the order in which Confluent's registry decides.

use super::{
    Change, Deleted, Mode, Registration, Result, Subjects,
    identity::{digest, guid_of_new},
};
use crate::{
    Code, Level, NewSchema, RegisteredSchema, RegistryError,
    parsed::{comparable, kept_text},
};

impl Subjects {
    /// Finds the same schema among a subject's versions: by its text, else by its structure
    /// (white space and the order of properties do not count).
    pub(crate) fn lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
        deleted: Deleted,
    ) -> Option<&RegisteredSchema> {
        let wanted = digest(&comparable(schema.schema_type, &schema.schema));
        let versions = self.versions.get(subject)?;
        let mut same = versions.iter().rev().filter(|kept| {
            let other = &kept.schema;
            deleted.takes(other.deleted)
                && kept.comparable == wanted
                && other.schema_type == schema.schema_type
                && other.references == schema.references
                // A schema without metadata is found whatever metadata its equal has.
                && (schema.extra == other.extra || schema.extra == crate::Extra::default())
        });
        let first = same.next()?;
        if *first.schema.schema == *schema.schema {
            return Some(&first.schema);
        }
        let by_text = same.find(|kept| *kept.schema.schema == *schema.schema);
        Some(&by_text.unwrap_or(first).schema)
    }

    /// What registering `schema` under `subject` comes to.
    pub(crate) fn register(
        &self,
        subject: &str,
        schema: NewSchema,
        now_ms: i64,
    ) -> Result<Registration> {
        let text = kept_text(schema.schema_type, &schema.schema);
        let schema = NewSchema { schema: text, ..schema };
        if let Some(found) = self.lookup(subject, &schema, Deleted::Hidden)
            && schema.id.is_none_or(|id| id == found.id)
        {
            return Ok(Registration::Found(found.clone()));
        }
        self.check_mode(subject, &schema)?;
        if subject.trim().is_empty() || subject.chars().any(char::is_control) {
            let message = format!("Invalid subject name '{}'", subject.escape_debug());
            return Err(RegistryError::new(Code::InvalidSubject, message));
        }
        let parsed = self.parse(&schema)?;
        let level = if schema.id.is_some() { Level::None } else { self.level(subject) };
        let findings = self.compare(level, &parsed, &self.versions(subject, Deleted::Hidden))?;
        if !findings.is_empty() {
            return Err(incompatible(subject, level, &findings));
        }
        let mut changes = Vec::new();
        if let Some(old) = self.lookup(subject, &schema, Deleted::Only) {
            changes.push(Change::Remove { subject: subject.into(), version: old.version });
        }
        let next = self.versions.get(subject).and_then(|all| all.last());
        let next = next.map_or(1, |last| last.schema.version + 1);
        let (next_id, global_id) = self.next_ids();
        let known = self.id_of_guid(guid_of_new(&schema));
        let new = RegisteredSchema {
            id: schema.id.or(known).unwrap_or(next_id),
            global_id,
            subject: subject.into(),
            version: schema.version.filter(|_| schema.id.is_some()).unwrap_or(next),
            schema_type: schema.schema_type,
            schema: schema.schema.into(),
            references: schema.references,
            extra: schema.extra,
            deleted: false,
            created_ms: now_ms,
        };
        changes.push(Change::Put(new.clone()));
        Ok(Registration::New(new, changes))
    }

    /// An id may be given only where a subject is being imported, and there it must be.
    fn check_mode(&self, subject: &str, schema: &NewSchema) -> Result<()> {
        self.writable(subject)?;
        let refused = |message: String| Err(RegistryError::new(Code::NotPermitted, message));
        match (self.mode(subject), schema.id) {
            (Mode::Import, None) => refused(format!("Subject {subject} is not in read-write mode")),
            (Mode::Import, Some(id)) => {
                let text = self.by_id.get(&id).map(|content| &*content.text);
                if text.is_some_and(|text| text != schema.schema) {
                    return refused(format!(
                        "Overwrite new schema with id {} is not permitted.",
                        id.0
                    ));
                }
                Ok(())
            }
            (_, Some(_)) => refused(format!("Subject {subject} is not in import mode")),
            (_, None) => Ok(()),
        }
    }
}

fn incompatible(subject: &str, level: Level, findings: &[String]) -> RegistryError {
    let message = format!(
        "Schema being registered is incompatible with an earlier schema for subject \"{subject}\", \
         details: [{}; compatibility: {}]",
        findings.join("; "),
        level.as_str()
    );
    let mut error = RegistryError::new(Code::Incompatible, message);
    error.findings = findings.to_vec();
    error
}
