//! The rules of Avro's Java library, which every registry's verdict follows.
//!
//! Source: `SchemaCompatibility.java` of Apache Avro.

use std::{collections::HashSet, fmt::Write as _};

use crate::avro::{Enum, Field, Fixed, Kind, NodeId, Record, Schema};

/// Why data of `writer` cannot be read with `reader`; empty: they can.
pub(super) fn unreadable(reader: &Schema, writer: &Schema) -> Vec<String> {
    let mut checker = Checker { reader, writer, running: HashSet::new(), findings: Vec::new() };
    checker.pair(reader.root(), writer.root(), &mut String::from("/"));
    checker.findings
}

struct Checker<'s> {
    reader: &'s Schema,
    writer: &'s Schema,
    /// Pairs being compared or found right: a recursion on one counts as compatible.
    running: HashSet<(NodeId, NodeId)>,
    findings: Vec<String>,
}

impl Checker<'_> {
    fn find(&mut self, kind: &str, path: &str, detail: &str) {
        self.findings.push(format!("{kind} at {path}: {detail}"));
    }

    /// Whether the pair is compatible, without leaving findings.
    fn fits(&mut self, reader: NodeId, writer: NodeId) -> bool {
        let before = self.findings.len();
        let running = self.running.clone();
        self.pair(reader, writer, &mut String::new());
        let fits = self.findings.len() == before;
        self.findings.truncate(before);
        if !fits {
            self.running = running;
        }
        fits
    }

    fn pair(&mut self, reader: NodeId, writer: NodeId, path: &mut String) {
        if !self.running.insert((reader, writer)) {
            return;
        }
        let (reader_schema, writer_schema) = (self.reader, self.writer);
        let (read, written) = (reader_schema.kind(reader), writer_schema.kind(writer));
        match (read, written) {
            (_, Kind::Union(branches)) => self.writer_union(reader, branches, path),
            (Kind::Union(branches), _) => {
                if !branches.iter().any(|branch| self.fits(*branch, writer)) {
                    let detail = format!("reader union lacks writer type {}", described(written));
                    self.find("MISSING_UNION_BRANCH", path, &detail);
                }
            }
            (Kind::Record(read), Kind::Record(written)) => self.record(read, written, path),
            (Kind::Enum(read), Kind::Enum(written)) => self.enumeration(read, written, path),
            (Kind::Fixed(read), Kind::Fixed(written)) => self.fixed(read, written, path),
            (Kind::Array(read), Kind::Array(written)) => {
                self.nested("items", *read, *written, path);
            }
            (Kind::Map(read), Kind::Map(written)) => self.nested("values", *read, *written, path),
            _ if promotes(written, read) => {}
            _ => {
                let detail = format!(
                    "reader type {} is not compatible with writer type {}",
                    described(read),
                    described(written)
                );
                self.find("TYPE_MISMATCH", path, &detail);
            }
        }
    }

    fn nested(&mut self, word: &str, reader: NodeId, writer: NodeId, path: &mut String) {
        let length = path.len();
        push(path, word);
        self.pair(reader, writer, path);
        path.truncate(length);
    }

    fn writer_union(&mut self, reader: NodeId, branches: &[NodeId], path: &mut String) {
        for (index, branch) in branches.iter().enumerate() {
            self.nested(&index.to_string(), reader, *branch, path);
        }
    }

    fn record(&mut self, reader: &Record, writer: &Record, path: &mut String) {
        if !self.names_match(&reader.name, &writer.name, path) {
            return;
        }
        let length = path.len();
        push(path, "fields");
        for (index, field) in reader.fields.iter().enumerate() {
            let inner = path.len();
            push(path, &index.to_string());
            match find_field(field, writer) {
                Some(written) => {
                    push(path, "type");
                    self.pair(field.schema, written.schema, path);
                }
                None if field.default.is_some() || self.enum_default(field) => {}
                None => {
                    let detail = format!(
                        "field \"{}\" of record {} has no default and the writer has no such field",
                        field.name, reader.name.full
                    );
                    self.find("READER_FIELD_MISSING_DEFAULT_VALUE", path, &detail);
                }
            }
            path.truncate(inner);
        }
        path.truncate(length);
    }

    fn enum_default(&self, field: &Field) -> bool {
        matches!(self.reader.kind(field.schema), Kind::Enum(symbols) if symbols.default.is_some())
    }

    fn enumeration(&mut self, reader: &Enum, writer: &Enum, path: &str) {
        if !self.names_match(&reader.name, &writer.name, path) || reader.default.is_some() {
            return;
        }
        let missing: Vec<&str> = writer
            .symbols
            .iter()
            .filter(|symbol| !reader.symbols.contains(symbol))
            .map(|symbol| &**symbol)
            .collect();
        if !missing.is_empty() {
            let detail = format!("reader enum {} lacks {}", reader.name.full, missing.join(", "));
            self.find("MISSING_ENUM_SYMBOLS", path, &detail);
        }
    }

    fn fixed(&mut self, reader: &Fixed, writer: &Fixed, path: &str) {
        if self.names_match(&reader.name, &writer.name, path) && reader.size != writer.size {
            let detail = format!("expected {}, found {}", reader.size, writer.size);
            self.find("FIXED_SIZE_MISMATCH", path, &detail);
        }
    }

    fn names_match(
        &mut self,
        reader: &crate::avro::Name,
        writer: &crate::avro::Name,
        path: &str,
    ) -> bool {
        if reader.short() == writer.short() || reader.aliases.contains(&writer.full) {
            return true;
        }
        let detail = format!("expected {}, found {}", writer.full, reader.full);
        self.find("NAME_MISMATCH", path, &detail);
        false
    }
}

fn find_field<'w>(field: &Field, writer: &'w Record) -> Option<&'w Field> {
    writer
        .fields
        .iter()
        .find(|written| written.name == field.name)
        .or_else(|| writer.fields.iter().find(|written| field.aliases.contains(&written.name)))
}

fn promotes(written: &Kind, read: &Kind) -> bool {
    matches!(
        (written, read),
        (Kind::Null, Kind::Null)
            | (Kind::Boolean, Kind::Boolean)
            | (Kind::Int, Kind::Int | Kind::Long | Kind::Float | Kind::Double)
            | (Kind::Long, Kind::Long | Kind::Float | Kind::Double)
            | (Kind::Float, Kind::Float | Kind::Double)
            | (Kind::Double, Kind::Double)
            | (Kind::String | Kind::Bytes, Kind::String | Kind::Bytes)
    )
}

fn described(kind: &Kind) -> String {
    match kind.name() {
        Some(name) => format!("{} {}", kind.word(), name.full),
        None => kind.word().to_owned(),
    }
}

fn push(path: &mut String, word: &str) {
    if !path.ends_with('/') {
        path.push('/');
    }
    // Writing to a String cannot fail.
    write!(path, "{word}").ok();
}

#[cfg(test)]
mod tests;
