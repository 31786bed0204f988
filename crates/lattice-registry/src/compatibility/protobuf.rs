//! Protobuf: what a wire can carry. Fields are known by their numbers, so names may change.
//!
//! Source: the findings of Confluent's `ProtobufSchema`, and the encoding's own rules on which
//! scalar types are interchangeable.

use crate::protobuf::{Field, File, Message};

/// Why data of `writer` cannot be read with `reader`; empty: they can.
pub(super) fn unreadable(reader: &File, writer: &File) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, written) in &writer.messages {
        match reader.messages.get(name) {
            Some(read) => message(reader, writer, (name, read, written), &mut findings),
            None => {
                findings
                    .push(format!("MESSAGE_REMOVED at /{name}: the reader has no such message"));
            }
        }
    }
    findings
}

fn message(
    reader: &File,
    writer: &File,
    (name, read, written): (&str, &Message, &Message),
    findings: &mut Vec<String>,
) {
    for (number, field) in &written.fields {
        let place = format!("/{name}/{number}");
        match read.fields.get(number) {
            Some(other) => self::field(reader, writer, &place, (other, field), findings),
            None if field.required => findings
                .push(format!("REQUIRED_FIELD_REMOVED at {place}: {} was required", field.name)),
            None if field.oneof.is_some() => findings.push(format!(
                "ONEOF_FIELD_REMOVED at {place}: {} was a choice of {}",
                field.name,
                field.oneof.as_deref().unwrap_or_default()
            )),
            None => {}
        }
    }
    for (number, field) in &read.fields {
        if field.required && !written.fields.contains_key(number) {
            findings.push(format!(
                "REQUIRED_FIELD_ADDED at /{name}/{number}: the writer has no {}",
                field.name
            ));
        }
    }
    let oneofs = read.fields.values().filter_map(|field| field.oneof.as_deref());
    let mut seen: Vec<&str> = Vec::new();
    for oneof in oneofs {
        if seen.contains(&oneof) {
            continue;
        }
        seen.push(oneof);
        let moved = read.fields.iter().filter(|(number, field)| {
            let before = written.fields.get(number);
            field.oneof.as_deref() == Some(oneof) && before.is_some_and(|old| old.oneof.is_none())
        });
        if moved.count() > 1 {
            findings.push(format!(
                "MULTIPLE_FIELDS_MOVED_TO_ONEOF at /{name}: a reader keeps one choice of {oneof} alone"
            ));
        }
    }
}

fn field(
    reader: &File,
    writer: &File,
    place: &str,
    (read, written): (&Field, &Field),
    findings: &mut Vec<String>,
) {
    let (reads, writes) = (wire_form(reader, &read.kind), wire_form(writer, &written.kind));
    if reads != writes {
        let finding = match (reads, writes) {
            (Wire::Named(_), Wire::Named(_)) => "FIELD_NAMED_TYPE_CHANGED",
            (Wire::Named(_), _) | (_, Wire::Named(_)) => "FIELD_KIND_CHANGED",
            _ => "FIELD_SCALAR_KIND_CHANGED",
        };
        findings.push(format!(
            "{finding} at {place}: reader type {} is not compatible with writer type {}",
            read.kind, written.kind
        ));
        return;
    }
    let numeric = matches!(
        reads,
        Wire::Varint | Wire::ZigZag | Wire::Four | Wire::Eight | Wire::Float | Wire::Double
    );
    if numeric && read.repeated != written.repeated {
        findings.push(format!(
            "FIELD_NUMERIC_LABEL_CHANGED at {place}: {} is repeated on one side alone",
            read.name
        ));
    }
}

/// Types of one form can be read as each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire<'k> {
    Varint,
    ZigZag,
    Four,
    Eight,
    Float,
    Double,
    Bytes,
    Named(&'k str),
}

fn wire_form<'k>(file: &File, kind: &'k str) -> Wire<'k> {
    let short = kind.rsplit('.').next().unwrap_or(kind);
    let is_enum = || file.enums.keys().any(|name| name.rsplit('.').next() == Some(short));
    match kind {
        "int32" | "uint32" | "int64" | "uint64" | "bool" => Wire::Varint,
        "sint32" | "sint64" => Wire::ZigZag,
        "fixed32" | "sfixed32" => Wire::Four,
        "fixed64" | "sfixed64" => Wire::Eight,
        "float" => Wire::Float,
        "double" => Wire::Double,
        "string" | "bytes" => Wire::Bytes,
        _ if is_enum() => Wire::Varint,
        _ => Wire::Named(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (case, writer, reader, the finding; none: compatible)
    #[test]
    fn verdicts_follow_the_wire() {
        let message = |fields: &str| format!("syntax = \"proto3\"; message A {{ {fields} }}");
        let one = message("int32 a = 1;");
        let cases = [
            ("field added", one.clone(), message("int32 a = 1; string b = 2;"), None),
            ("field removed", message("int32 a = 1; string b = 2;"), one.clone(), None),
            ("field renamed", one.clone(), message("int32 z = 1;"), None),
            ("int32 to int64", one.clone(), message("int64 a = 1;"), None),
            ("string to bytes", message("string a = 1;"), message("bytes a = 1;"), None),
            (
                "int32 to string",
                one.clone(),
                message("string a = 1;"),
                Some("FIELD_SCALAR_KIND_CHANGED"),
            ),
            (
                "int32 to sint32",
                one.clone(),
                message("sint32 a = 1;"),
                Some("FIELD_SCALAR_KIND_CHANGED"),
            ),
            ("int32 to message", one.clone(), message("B a = 1;"), Some("FIELD_KIND_CHANGED")),
            (
                "repeated number",
                one.clone(),
                message("repeated int32 a = 1;"),
                Some("FIELD_NUMERIC_LABEL_CHANGED"),
            ),
            (
                "message removed",
                format!("{one} message B {{ int32 x = 1; }}"),
                one.clone(),
                Some("MESSAGE_REMOVED"),
            ),
            (
                "required added",
                one.clone(),
                message("int32 a = 1; required int32 b = 2;"),
                Some("REQUIRED_FIELD_ADDED"),
            ),
            (
                "required removed",
                message("int32 a = 1; required int32 b = 2;"),
                one.clone(),
                Some("REQUIRED_FIELD_REMOVED"),
            ),
            (
                "choice removed",
                message("oneof o { int32 a = 1; int32 b = 2; }"),
                message("oneof o { int32 a = 1; }"),
                Some("ONEOF_FIELD_REMOVED"),
            ),
            (
                "two moved into a choice",
                message("int32 a = 1; int32 b = 2;"),
                message("oneof o { int32 a = 1; int32 b = 2; }"),
                Some("MULTIPLE_FIELDS_MOVED_TO_ONEOF"),
            ),
        ];
        for (case, writer, reader, finding) in cases {
            let (writer, reader) = (File::parse(&writer).unwrap(), File::parse(&reader).unwrap());
            let found = unreadable(&reader, &writer);
            match finding {
                None => assert!(found.is_empty(), "{case}: {found:?}"),
                Some(kind) => assert!(found[0].starts_with(kind), "{case}: {found:?}"),
            }
        }
    }
}
