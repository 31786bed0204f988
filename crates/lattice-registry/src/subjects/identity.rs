//! What makes two schemas one: the digests by which contents are told apart.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use crate::{Extra, NewSchema, Reference, RegisteredSchema};

/// MD5, as Confluent's registry uses it: it tells contents apart and keeps no secret.
pub(crate) type Digest = [u8; 16];

/// A text's digest.
pub(super) fn digest(text: &str) -> Digest {
    Md5::digest(text).into()
}

/// The digest of everything that makes a content: text, references, metadata and rules.
pub(crate) fn guid(schema: &RegisteredSchema) -> Digest {
    content(schema.schema_type, &schema.schema, &schema.references, &schema.extra)
}

pub(super) fn guid_of_new(schema: &NewSchema) -> Digest {
    content(schema.schema_type, &schema.schema, &schema.references, &schema.extra)
}

fn content(kind: &str, text: &str, references: &[Reference], extra: &Extra) -> Digest {
    let mut hash = Md5::new();
    for part in [kind, text] {
        hash.update(part);
        hash.update([0]);
    }
    for Reference { name, subject, version } in references {
        hash.update(format!("{name}\0{subject}\0{version}\0"));
    }
    for value in [&extra.metadata, &extra.rule_set].into_iter().flatten() {
        hash.update(value.to_string());
        hash.update([0]);
    }
    hash.finalize().into()
}

/// A digest in the form of a UUID.
pub(crate) fn guid_text(guid: Digest) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in guid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
