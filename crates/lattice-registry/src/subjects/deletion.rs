//! Soft and permanent deletes.

use std::sync::Arc;

use super::{Change, Deleted, Result, Settings, Subjects, Which};
use crate::{Code, RegisteredSchema, RegistryError};

impl Subjects {
    /// The changes that delete a version, or all of them.
    pub(crate) fn delete(
        &self,
        subject: &str,
        which: Option<Which>,
        permanent: bool,
    ) -> Result<Vec<Change>> {
        self.writable(subject)?;
        let known = self.versions(subject, Deleted::Shown);
        if known.is_empty() {
            return Err(RegistryError::subject_not_found(subject));
        }
        let chosen = match which {
            Some(which) => vec![self.deletable(subject, which, permanent)?],
            None if permanent => {
                if known.iter().any(|version| !version.deleted) {
                    let message = format!(
                        "Subject '{subject}' was not deleted first before being permanently deleted"
                    );
                    return Err(RegistryError::new(Code::SubjectNotSoftDeleted, message));
                }
                known
            }
            None => self.versions(subject, Deleted::Hidden),
        };
        if chosen.is_empty() {
            let message = format!(
                "Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
            );
            return Err(RegistryError::new(Code::SubjectSoftDeleted, message));
        }
        for version in &chosen {
            self.check_unreferenced(version, permanent)?;
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

    /// The changes that remove a subject, its settings and all its versions, for good.
    pub(crate) fn removal(&self, subject: &str) -> Result<Vec<Change>> {
        self.writable(subject)?;
        let mut changes =
            vec![Change::Set { subject: subject.to_owned(), settings: Settings::default() }];
        for version in self.versions(subject, Deleted::Shown) {
            self.check_unreferenced(version, true)?;
            let RegisteredSchema { subject, version, .. } = version;
            changes.push(Change::Remove { subject: Arc::clone(subject), version: *version });
        }
        Ok(changes)
    }

    /// The changes that remove a version for good.
    pub(crate) fn removal_of(&self, subject: &str, version: i32) -> Result<Vec<Change>> {
        self.writable(subject)?;
        let found = self.version(subject, Which::Number(version), Deleted::Shown)?;
        self.check_unreferenced(found, true)?;
        Ok(vec![Change::Remove { subject: Arc::clone(&found.subject), version }])
    }

    fn check_unreferenced(&self, version: &RegisteredSchema, permanent: bool) -> Result<()> {
        let RegisteredSchema { subject, version, .. } = version;
        if self.referenced_by(subject, *version, permanent).is_empty() {
            return Ok(());
        }
        let message = format!(
            "One or more references exist to the schema \
             {{magic=1,keytype=SCHEMA,subject={subject},version={version}}}."
        );
        Err(RegistryError::new(Code::ReferenceExists, message))
    }

    fn deletable(&self, subject: &str, which: Which, permanent: bool) -> Result<&RegisteredSchema> {
        // "latest" is the latest of those that can be meant.
        let deleted = match which {
            Which::Latest if !permanent => Deleted::Hidden,
            Which::Latest | Which::Number(_) => Deleted::Shown,
        };
        let version = self.version(subject, which, deleted)?;
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
