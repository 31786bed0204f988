//! DropHeaders, HeaderFrom and InsertHeader.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::{Error, Result},
    schema::{Field, Schema},
    value::Value,
};

use crate::{
    Record, Transform,
    literal::parse,
    record::{Datum, Header, Shape, Side, entry, is_named, only_map, only_struct},
    schemas::{Cache, get, get_all, with_fields},
    settings::{REPLACE_NULL, Settings},
};

const HEADERS: Key =
    Key::new("headers", KeyType::List, "The headers' names. Example: trace,secret").required();

pub(super) const DROP_KEYS: &[Key] = &[HEADERS];

struct DropHeaders(Vec<String>);

pub(super) fn drop_headers(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    Ok(Box::new(DropHeaders(settings.list(&HEADERS))))
}

impl Transform for DropHeaders {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        record.headers.retain(|header| !self.0.iter().any(|name| **name == *header.name));
        Ok(Some(record))
    }
}

const HEADER: Key = Key::new("header", KeyType::String, "The header's name.").required();
const LITERAL: Key = Key::new(
    "value.literal",
    KeyType::String,
    "The header's value; numbers, true and false, times, lists and maps are told by their form.",
);

pub(super) const INSERT_KEYS: &[Key] = &[HEADER, LITERAL];

struct InsertHeader(Header);

pub(super) fn insert_header(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    let name = settings.text(&HEADER).into();
    if settings.config.get(LITERAL.name).is_none() {
        return Err(settings.invalid(LITERAL.name, "it is missing", "give the header's value"));
    }
    Ok(Box::new(InsertHeader(Header { name, datum: parse(settings.text(&LITERAL)) })))
}

impl Transform for InsertHeader {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        record.headers.push(self.0.clone());
        Ok(Some(record))
    }
}

pub(super) mod from {
    use super::*;

    const FIELDS: Key = Key::new("fields", KeyType::List, "The fields to take.").required();
    const OPERATION: Key = Key::new(
        "operation",
        KeyType::String,
        "Whether the fields are left in the record (copy) or not (move).",
    )
    .required()
    .rule(Rule::OneOf(&["move", "copy"]));

    pub(in crate::kafka) const KEYS: &[Key] = &[FIELDS, HEADERS, OPERATION, REPLACE_NULL];

    struct HeaderFrom {
        side: Side,
        fields: Vec<String>,
        headers: Vec<String>,
        moves: bool,
        replace_null: bool,
        cache: Cache<(Arc<Schema>, Vec<usize>)>,
    }

    pub(in crate::kafka) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
        let (fields, headers) = (settings.list(&FIELDS), settings.list(&HEADERS));
        if fields.len() != headers.len() {
            let reason =
                "'fields' config must have the same number of elements as 'headers' config.";
            return Err(settings.invalid(FIELDS.name, reason, "name one header for each field"));
        }
        Ok(Box::new(HeaderFrom {
            side,
            fields,
            headers,
            moves: settings.word(&OPERATION) == "move",
            replace_null: settings.flag(&REPLACE_NULL),
            cache: Cache::default(),
        }))
    }

    impl Transform for HeaderFrom {
        fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
            let purpose = if self.moves { "header move" } else { "header copy" };
            let datum = record.side(self.side);
            let (changed, headers) = match datum.shape(purpose)? {
                Shape::Null if datum.schema.is_some() => return Err(only_struct(purpose, "null")),
                Shape::Null => return Err(only_map(purpose, "null")),
                Shape::Map(entries) => self.of_map(entries),
                Shape::Struct(schema, values) => {
                    let (schema, values) = (Arc::clone(schema), values.to_vec());
                    self.of_struct(&schema, &values)?
                }
            };
            let named = self.headers.iter().zip(headers);
            let named = named.map(|(name, datum)| Header { name: name.as_str().into(), datum });
            record.headers.extend(named);
            *record.side_mut(self.side) = changed;
            Ok(Some(record))
        }
    }

    impl HeaderFrom {
        fn of_map(&self, entries: &[(Value<'static>, Value<'static>)]) -> (Datum, Vec<Datum>) {
            let value = |field: &String| Datum {
                schema: None,
                value: entry(entries, field).cloned().unwrap_or_default(),
            };
            let headers = self.fields.iter().map(value).collect();
            let mut left = entries.to_vec();
            if self.moves {
                left.retain(|(name, _)| !self.fields.iter().any(|field| is_named(name, field)));
            }
            (Datum { schema: None, value: Value::Map(left) }, headers)
        }

        fn of_struct(
            &mut self,
            schema: &Arc<Schema>,
            values: &[Value<'static>],
        ) -> Result<(Datum, Vec<Datum>)> {
            let mut headers = Vec::with_capacity(self.fields.len());
            for field in &self.fields {
                let at = schema.field_index(field).ok_or_else(|| {
                    Error::data(format!("the record has no field \"{field}\"")).with_remedy(
                        "name only fields of the record in \"fields\", or use a predicate",
                    )
                })?;
                let Some((inner, value)) = schema.fields.get(at).zip(values.get(at)) else {
                    continue;
                };
                let value = get(&inner.schema, value, self.replace_null);
                headers.push(Datum::new(Arc::clone(&inner.schema), value));
            }
            if !self.moves {
                let datum = Datum::new(Arc::clone(schema), Value::Struct(values.to_vec()));
                return Ok((datum, headers));
            }
            let (made, picks) = self.cache.get(schema, |schema| {
                let kept = schema.fields.iter().enumerate();
                let kept =
                    kept.filter(|(_, one)| !self.fields.iter().any(|field| **field == *one.name));
                let (picks, fields): (Vec<usize>, Vec<Field>) =
                    kept.map(|(at, field)| (at, field.clone())).unzip();
                (Arc::new(with_fields(schema, fields)), picks)
            });
            let all = get_all(schema, values, self.replace_null);
            let kept = picks.iter().filter_map(|at| all.get(*at).cloned()).collect();
            Ok((Datum::new(Arc::clone(made), Value::Struct(kept)), headers))
        }
    }
}
