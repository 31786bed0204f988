//! Whether data written with one schema can be read with another: the levels, which are
//! Confluent's, over the rules of each kind of schema.

mod avro;
mod json;
mod protobuf;

use crate::parsed::Parsed;

/// Which earlier versions a new one is compared with, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not at all.
    None,
    /// The new schema reads what the latest wrote.
    Backward,
    /// The new schema reads what every live version wrote.
    BackwardTransitive,
    /// The latest reads what the new one writes.
    Forward,
    /// Every live version reads what the new one writes.
    ForwardTransitive,
    /// Both directions, the latest.
    Full,
    /// Both directions, every live version.
    FullTransitive,
}

impl Level {
    /// The registry's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Backward => "BACKWARD",
            Self::BackwardTransitive => "BACKWARD_TRANSITIVE",
            Self::Forward => "FORWARD",
            Self::ForwardTransitive => "FORWARD_TRANSITIVE",
            Self::Full => "FULL",
            Self::FullTransitive => "FULL_TRANSITIVE",
        }
    }

    /// Reads the registry's word, without case.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::None,
            Self::Backward,
            Self::BackwardTransitive,
            Self::Forward,
            Self::ForwardTransitive,
            Self::Full,
            Self::FullTransitive,
        ]
        .into_iter()
        .find(|level| level.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether all live versions count and not the latest alone.
    pub(crate) fn is_transitive(self) -> bool {
        matches!(self, Self::BackwardTransitive | Self::ForwardTransitive | Self::FullTransitive)
    }

    fn new_reads_old(self) -> bool {
        matches!(
            self,
            Self::Backward | Self::BackwardTransitive | Self::Full | Self::FullTransitive
        )
    }

    fn old_reads_new(self) -> bool {
        matches!(self, Self::Forward | Self::ForwardTransitive | Self::Full | Self::FullTransitive)
    }
}

/// Compares a new schema with earlier ones (oldest first). Empty: compatible.
///
/// Returns one finding a reason: its kind in the words of the kind's own library, the place, and
/// what is missing.
pub(crate) fn check(level: Level, new: &Parsed, earlier: &[(i32, Parsed)]) -> Vec<String> {
    let compared = if level.is_transitive() {
        earlier
    } else {
        earlier.get(earlier.len().saturating_sub(1)..).unwrap_or(&[])
    };
    let mut findings = Vec::new();
    for (version, old) in compared.iter().rev() {
        let mut find = |reader: &Parsed, writer: &Parsed, direction: String| {
            let found = unreadable(reader, writer).into_iter();
            findings.extend(found.map(|finding| format!("{finding}, {direction}")));
        };
        if level.new_reads_old() {
            find(new, old, format!("reading version {version} with the new schema"));
        }
        if level.old_reads_new() {
            find(old, new, format!("reading the new schema with version {version}"));
        }
    }
    findings
}

/// Why what `writer` describes cannot be read with `reader`.
fn unreadable(reader: &Parsed, writer: &Parsed) -> Vec<String> {
    match (reader, writer) {
        (Parsed::Avro(reader), Parsed::Avro(writer)) => avro::unreadable(reader, writer),
        (Parsed::Json(reader), Parsed::Json(writer)) => json::unreadable(reader, writer),
        (Parsed::Protobuf(reader), Parsed::Protobuf(writer)) => {
            protobuf::unreadable(reader, writer)
        }
        _ => vec![format!(
            "TYPE_MISMATCH at /: a schema of type {} cannot read one of type {}",
            reader.word(),
            writer.word()
        )],
    }
}
