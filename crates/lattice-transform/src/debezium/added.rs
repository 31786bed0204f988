//! What ExtractNewRecordState and its likes add to rows and headers: `add.fields`, `add.headers`.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, split_list},
    error::Result,
    schema::Schema,
    value::{Text, Value},
};

use crate::{
    record::{Datum, Header},
    schemas::{basics, inner, member},
    settings::Settings,
};

pub(crate) const ADD_FIELDS: Key = Key::new(
    "add.fields",
    KeyType::List,
    "Fields of the envelope to add to the row: name, block.name, name:newname. Example: op,source.ts_ms:ts",
)
.default("");
pub(crate) const FIELDS_PREFIX: Key =
    Key::new("add.fields.prefix", KeyType::String, "Stands before the names of added fields.")
        .default("__");
pub(crate) const HEADERS_PREFIX: Key =
    Key::new("add.headers.prefix", KeyType::String, "Stands before the names of added headers.")
        .default("__");

/// A field of the envelope under a new name.
#[derive(Debug)]
pub(crate) struct Added {
    /// The envelope's member it stands in; `None`: in the envelope itself.
    block: Option<String>,
    field: String,
    pub(crate) name: String,
}

impl Added {
    /// Reads a list of `name`, `block.name` or either with `:newname`.
    ///
    /// Errors: `Config`.
    pub(crate) fn parse(settings: &Settings, list: &Key, prefix: &Key) -> Result<Vec<Self>> {
        let prefix = settings.text(prefix);
        split_list(settings.text(list))
            .map(|item| {
                Self::one(&item, prefix).ok_or_else(|| {
                    let reason = format!("Unexpected field name: {item}");
                    settings.invalid(list.name, &reason, list.doc)
                })
            })
            .collect()
    }

    fn one(item: &str, prefix: &str) -> Option<Self> {
        let mut parts = item.split(':');
        let (path, name) = (parts.next()?, parts.next());
        if parts.next().is_some() {
            return None;
        }
        let mut splits = path.split('.');
        let first = splits.next()?;
        let (block, field) = match splits.next() {
            Some(field) => (Some(first.to_owned()), field),
            None => (block_of(first).map(str::to_owned), first),
        };
        let name = match name {
            Some(name) => name.to_owned(),
            None if path.contains('.') => format!("{first}_{field}"),
            None => field.to_owned(),
        };
        Some(Self { block, field: field.to_owned(), name: format!("{prefix}{name}") })
    }

    /// The field's schema in an envelope, made optional; `None`: the envelope has no such field.
    pub(crate) fn schema(&self, envelope: &Schema) -> Option<Arc<Schema>> {
        let in_block = self.block.as_deref().and_then(|block| {
            let block = &envelope.fields.get(envelope.field_index(block)?)?.schema;
            Some(&block.fields.get(block.field_index(&self.field)?)?.schema)
        });
        let at_root = || {
            let index = envelope.field_index(&self.field)?;
            Some(&envelope.fields.get(index)?.schema)
        };
        let found = in_block.or_else(at_root)?;
        let copy = Schema {
            fields: found.fields.clone(),
            key: found.key.clone(),
            element: found.element.clone(),
            ..basics(found, found.kind)
        };
        Some(Arc::new(copy.optional()))
    }

    /// The field's value.
    pub(crate) fn value(&self, envelope: &Schema, values: &[Value<'static>]) -> Value<'static> {
        let root = || member(envelope, values, &self.field).map(|(_, value)| value.clone());
        let found =
            match &self.block {
                None => root(),
                // The transaction is not there while a snapshot is taken.
                Some(block) => inner(envelope, values, block).and_then(|(schema, values)| {
                    match member(schema, values, &self.field) {
                        Some((_, value)) => Some(value.clone()),
                        None => root(),
                    }
                }),
            };
        found.unwrap_or_default()
    }

    /// The header that it becomes; on a tombstone there is only the operation.
    pub(crate) fn header(&self, envelope: &Datum) -> Option<Header> {
        let datum = match (&envelope.schema, &envelope.value) {
            (Some(schema), Value::Struct(values)) => {
                Datum { schema: Some(self.schema(schema)?), value: self.value(schema, values) }
            }
            _ if self.field == "op" => Datum::text("d"),
            _ => return None,
        };
        Some(Header { name: self.name.as_str().into(), datum })
    }
}

/// In which block a field is looked for that is named without one.
fn block_of(field: &str) -> Option<&'static str> {
    match field {
        "id" | "data_collection_order" | "total_order" => Some("transaction"),
        "op" | "ts_ms" | "ts_us" | "ts_ns" => None,
        "updateDescription" => Some("updateDescription"),
        _ => Some("source"),
    }
}

/// A text value.
pub(super) fn text(text: &str) -> Value<'static> {
    Value::Text(Text::copied(text))
}
