//! ExtractNewRecordState: the row instead of the envelope.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    config::{Importance, Key, KeyType, Rule},
    error::Result,
    schema::{Field, Schema, Type},
    value::Value,
};

use super::added::{ADD_FIELDS, Added, FIELDS_PREFIX, HEADERS_PREFIX, text};
use crate::{
    Record, Transform,
    record::{Datum, Side, form, only_struct},
    schemas::{Cache, get_all, inner, is_envelope, member, plain, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const HANDLING: Key = Key::new(
    "delete.tombstone.handling.mode",
    KeyType::String,
    "What becomes of deletes and of the tombstones after them: drop (neither), tombstone (one tombstone), \
     rewrite (the row before with __deleted=true), rewrite-with-tombstone (both), delete-to-tombstone (a \
     tombstone without schema).",
)
.default("tombstone")
.rule(Rule::OneOf(&["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"]));
const DROP_TOMBSTONES: Key = Key::new(
    "drop.tombstones",
    KeyType::Boolean,
    "Debezium 2's key; use delete.tombstone.handling.mode. Whether tombstones are dropped.",
)
.default("true")
.importance(Importance::Low);
const DELETE_MODE: Key = Key::new(
    "delete.handling.mode",
    KeyType::String,
    "Debezium 2's key; use delete.tombstone.handling.mode. What becomes of deletes: drop, none, rewrite.",
)
.default("drop")
.importance(Importance::Low)
.rule(Rule::OneOf(&["drop", "none", "rewrite"]));
const ROUTE: Key = Key::new(
    "route.by.field",
    KeyType::String,
    "A field of the row whose text becomes the topic. Example: customer_region",
)
.default("");
const ADD_HEADERS: Key = Key::new(
    "add.headers",
    KeyType::List,
    "Fields of the envelope to add as headers, written as in add.fields. Example: op,source.table",
)
.default("");
const DROP_HEADER: Key = Key::new(
    "drop.fields.header.name",
    KeyType::String,
    "The header with a list of the fields to leave out.",
);
const DROP_FROM_KEY: Key = Key::new(
    "drop.fields.from.key",
    KeyType::Boolean,
    "Whether these fields are left out of the key too.",
)
.default("false");
const DROP_COMPATIBLE: Key = Key::new(
    "drop.fields.keep.schema.compatible",
    KeyType::Boolean,
    "Whether only optional fields are left out.",
)
.default("true");

pub(super) const KEYS: &[Key] = &[
    HANDLING,
    DROP_TOMBSTONES,
    DELETE_MODE,
    ROUTE,
    ADD_FIELDS,
    FIELDS_PREFIX,
    ADD_HEADERS,
    HEADERS_PREFIX,
    DROP_HEADER,
    DROP_FROM_KEY,
    DROP_COMPATIBLE,
    REPLACE_NULL,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handling {
    Drop,
    Tombstone,
    Rewrite,
    RewriteWithTombstone,
    DeleteToTombstone,
}

/// A row's schema, the same without some fields, and which are left.
type Dropped = (Arc<Schema>, Arc<Schema>, Vec<usize>);

struct Unwrap {
    handling: Handling,
    route: Option<String>,
    fields: Vec<Added>,
    headers: Vec<Added>,
    drop_header: Option<String>,
    drop_from_key: bool,
    drop_compatible: bool,
    replace_null: bool,
    /// By the envelope's schema: that of the flat row.
    flat: Cache<Arc<Schema>>,
    /// By a row's schema: that without the named fields.
    dropped: HashMap<(usize, Vec<String>), Dropped>,
}

pub(super) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let owned = |key: &Key| settings.given(key).map(str::to_owned);
    Ok(Box::new(Unwrap {
        handling: handling(settings),
        route: owned(&ROUTE),
        fields: Added::parse(settings, &ADD_FIELDS, &FIELDS_PREFIX)?,
        headers: Added::parse(settings, &ADD_HEADERS, &HEADERS_PREFIX)?,
        drop_header: owned(&DROP_HEADER),
        drop_from_key: settings.flag(&DROP_FROM_KEY),
        drop_compatible: settings.flag(&DROP_COMPATIBLE),
        replace_null: settings.flag(&REPLACE_NULL),
        flat: Cache::default(),
        dropped: HashMap::new(),
    }))
}

/// The mode; Debezium 2's two keys hold where the new one is not given.
fn handling(settings: &Settings) -> Handling {
    let given = |key: &Key| settings.config.get(key.name).is_some();
    if !given(&HANDLING) && (given(&DROP_TOMBSTONES) || given(&DELETE_MODE)) {
        return match (settings.word(&DELETE_MODE).as_str(), settings.flag(&DROP_TOMBSTONES)) {
            ("rewrite", true) => Handling::Rewrite,
            ("rewrite", false) => Handling::RewriteWithTombstone,
            ("drop", true) => Handling::Drop,
            _ => Handling::Tombstone,
        };
    }
    match settings.word(&HANDLING).as_str() {
        "drop" => Handling::Drop,
        "rewrite" => Handling::Rewrite,
        "rewrite-with-tombstone" => Handling::RewriteWithTombstone,
        "delete-to-tombstone" => Handling::DeleteToTombstone,
        _ => Handling::Tombstone,
    }
}

impl Transform for Unwrap {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        if record.value.is_null() {
            self.add_headers(&mut record);
            let passed = self.handling == Handling::RewriteWithTombstone;
            return Ok(passed.then_some(record));
        }
        if !record.value.schema.as_ref().is_some_and(|schema| is_envelope(schema)) {
            return Ok(Some(record));
        }
        self.add_headers(&mut record);
        let envelope = std::mem::take(&mut record.value);
        let (Some(schema), Value::Struct(values)) = (&envelope.schema, &envelope.value) else {
            return Ok(Some(Record { value: envelope, ..record }));
        };
        for side in ["after", "before"] {
            if let Some((_, value)) = member(schema, values, side)
                && !value.is_absent()
                && !matches!(value, Value::Struct(_))
            {
                return Err(only_struct("source field insertion", form(value)).with_remedy(
                    "documents (MongoDB's) are no rows: use io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
                ));
            }
        }
        match (inner(schema, values, "after"), inner(schema, values, "before")) {
            (Some((_, after)), _) => {
                let flat = self.flat(schema, values, after, "false");
                self.reroute(&mut record, &flat);
                record.value = flat;
                self.drop_fields(&mut record);
            }
            (None, Some((before_schema, before))) => {
                let row = Datum::new(Arc::clone(before_schema), Value::Struct(before.to_vec()));
                self.reroute(&mut record, &row);
                match self.deleted(schema, values, before) {
                    Some(datum) => record.value = datum,
                    None => return Ok(None),
                }
                self.drop_fields(&mut record);
            }
            // A truncation has no row.
            (None, None) => return Ok(None),
        }
        Ok(Some(record))
    }
}

impl Unwrap {
    fn rewrites(&self) -> bool {
        matches!(self.handling, Handling::Rewrite | Handling::RewriteWithTombstone)
    }

    fn add_headers(&self, record: &mut Record) {
        let headers: Vec<_> =
            self.headers.iter().filter_map(|added| added.header(&record.value)).collect();
        record.headers.extend(headers);
    }

    /// The row with `__deleted`, where rows are rewritten, and the added fields.
    fn flat(
        &mut self,
        schema: &Arc<Schema>,
        values: &[Value<'static>],
        row: &[Value<'static>],
        deleted: &str,
    ) -> Datum {
        let (rewrites, fields) = (self.rewrites(), &self.fields);
        let flat = self.flat.get(schema, |envelope| {
            let row = envelope.field_index("after").and_then(|at| envelope.fields.get(at));
            let row =
                row.map(|field| Arc::clone(&field.schema)).unwrap_or_else(|| Arc::clone(envelope));
            let mut all = row.fields.clone();
            if rewrites {
                all.push(Field::new("__deleted", plain(Type::String, true)));
            }
            for added in fields {
                all.extend(
                    added.schema(envelope).map(|schema| Field::new(added.name.as_str(), schema)),
                );
            }
            Arc::new(with_fields(&row, all))
        });
        // Only inserting a field looks at defaults.
        let mut all = get_all(flat, row, self.replace_null && rewrites);
        if rewrites {
            all.push(text(deleted));
        }
        let present = self.fields.iter().filter(|added| added.schema(schema).is_some());
        all.extend(present.map(|added| added.value(schema, values)));
        Datum::new(Arc::clone(flat), Value::Struct(all))
    }

    /// What a delete becomes; `None`: nothing.
    fn deleted(
        &mut self,
        schema: &Arc<Schema>,
        values: &[Value<'static>],
        before: &[Value<'static>],
    ) -> Option<Datum> {
        match self.handling {
            Handling::Drop => None,
            Handling::Tombstone => {
                let after = member(schema, values, "after").map(|(schema, _)| Arc::clone(schema));
                Some(Datum { schema: after, value: Value::Null })
            }
            Handling::DeleteToTombstone => Some(Datum::default()),
            Handling::Rewrite | Handling::RewriteWithTombstone => {
                Some(self.flat(schema, values, before, "true"))
            }
        }
    }

    fn reroute(&self, record: &mut Record, row: &Datum) {
        let Some(field) = &self.route else { return };
        let (Some(schema), Value::Struct(values)) = (&row.schema, &row.value) else { return };
        if let Some((_, Value::Text(topic))) = member(schema, values, field)
            && !topic.as_str().trim().is_empty()
        {
            record.topic = topic.as_str().into();
        }
    }

    /// Leaves out the fields that the header lists.
    fn drop_fields(&mut self, record: &mut Record) {
        let Some(header) = &self.drop_header else { return };
        let Some(header) = record.headers.iter().find(|one| *one.name == **header) else { return };
        let Value::Array(items) = &header.datum.value else { return };
        let names: Vec<String> = items
            .iter()
            .filter_map(|item| match item {
                Value::Text(text) => Some(text.as_str().to_owned()),
                _ => None,
            })
            .collect();
        if self.drop_from_key {
            self.drop_from(&mut record.key, &names);
        }
        self.drop_from(&mut record.value, &names);
    }

    fn drop_from(&mut self, datum: &mut Datum, names: &[String]) {
        let (Some(schema), Value::Struct(values)) = (&datum.schema, &datum.value) else { return };
        let goes = |field: &Field| {
            (field.schema.optional || !self.drop_compatible)
                && names.iter().any(|name| **name == *field.name)
        };
        if !schema.fields.iter().any(goes) {
            return;
        }
        if self.dropped.len() > 1024 {
            self.dropped.clear();
        }
        let name = (Arc::as_ptr(schema) as usize, names.to_vec());
        let (_, made, picks) = self.dropped.entry(name).or_insert_with(|| {
            let kept = schema.fields.iter().enumerate().filter(|(_, field)| !goes(field));
            let (picks, fields): (Vec<usize>, Vec<Field>) =
                kept.map(|(index, field)| (index, field.clone())).unzip();
            (Arc::clone(schema), Arc::new(with_fields(schema, fields)), picks)
        });
        let all = get_all(schema, values, true);
        let kept = picks.iter().filter_map(|index| all.get(*index).cloned()).collect();
        *datum = Datum::new(Arc::clone(made), Value::Struct(kept));
    }
}
