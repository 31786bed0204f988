//! ExtractField, HoistField and ValueToKey: parts of a value, and a value as a part.

use std::sync::Arc;

use lattice_core::{
    config::{Key, KeyType, Rule},
    error::{Error, Result},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{
    Record, Transform,
    record::{Datum, Shape, Side, entry},
    schemas::{Cache, get},
    settings::{REPLACE_NULL, Settings},
};

pub(super) mod extract {
    use super::*;

    const FIELD: Key =
        Key::new("field", KeyType::String, "The field to take. Example: after.id").required();
    const SYNTAX: Key = Key::new(
        "field.syntax.version",
        KeyType::String,
        "V1: the name as it is; V2: a path with dots, names with dots in backticks.",
    )
    .default("V1")
    .rule(Rule::OneOf(&["V1", "V2"]));

    pub(in crate::kafka) const KEYS: &[Key] = &[FIELD, SYNTAX, REPLACE_NULL];

    struct ExtractField {
        side: Side,
        field: String,
        steps: Vec<String>,
        replace_null: bool,
    }

    pub(in crate::kafka) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
        let field = settings.text(&FIELD).to_owned();
        let steps = match settings.word(&SYNTAX).as_str() {
            "v2" => path(&field).ok_or_else(|| {
                settings.invalid(FIELD.name, "a backtick is not closed", "close it, or use V1")
            })?,
            _ => vec![field.clone()],
        };
        Ok(Box::new(ExtractField {
            side,
            field,
            steps,
            replace_null: settings.flag(&REPLACE_NULL),
        }))
    }

    /// The steps of a path; backticks hold names with dots.
    fn path(text: &str) -> Option<Vec<String>> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (step, after) = match rest.strip_prefix('`') {
                Some(quoted) => {
                    let end = (0..quoted.len()).find(|at| {
                        quoted[..].as_bytes()[*at] == b'`'
                            && matches!(quoted.as_bytes().get(at + 1), None | Some(b'.'))
                            && !quoted[..*at].ends_with('\\')
                    })?;
                    (quoted[..end].replace("\\`", "`"), &quoted[end + 1..])
                }
                None => {
                    let end = rest.find('.').unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
            };
            steps.push(step);
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None => return Some(steps),
            }
        }
    }

    impl Transform for ExtractField {
        fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
            let datum = record.side(self.side);
            let changed = match &datum.schema {
                None => Datum { schema: None, value: self.of_map(datum)? },
                Some(schema) => {
                    let field = self.of_schema(schema)?;
                    let value = match datum.shape("field extraction")? {
                        Shape::Struct(schema, values) => self.of_struct(schema, values),
                        _ => Value::Null,
                    };
                    Datum { schema: Some(field), value }
                }
            };
            *record.side_mut(self.side) = changed;
            Ok(Some(record))
        }
    }

    impl ExtractField {
        fn of_map(&self, datum: &Datum) -> Result<Value<'static>> {
            let Shape::Map(entries) = datum.shape("field extraction")? else {
                return Ok(Value::Null);
            };
            let mut entries = entries;
            for (index, step) in self.steps.iter().enumerate() {
                match entry(entries, step) {
                    Some(Value::Map(inner)) if index + 1 < self.steps.len() => entries = inner,
                    Some(value) if index + 1 == self.steps.len() => return Ok(value.clone()),
                    _ => return Ok(Value::Null),
                }
            }
            Ok(Value::Null)
        }

        fn of_schema(&self, schema: &Arc<Schema>) -> Result<Arc<Schema>> {
            let mut schema = schema;
            for step in &self.steps {
                if schema.kind != Type::Struct {
                    return Err(crate::record::only_struct(
                        "field extraction",
                        "a value without fields",
                    ));
                }
                let found = schema.field_index(step).and_then(|at| schema.fields.get(at));
                schema = &found
                    .ok_or_else(|| {
                        Error::data(format!("Unknown field: {}", self.field)).with_remedy(
                            "correct \"field\", or use a predicate so that only records with it are treated",
                        )
                    })?
                    .schema;
            }
            Ok(Arc::clone(schema))
        }

        fn of_struct(&self, schema: &Schema, values: &[Value<'static>]) -> Value<'static> {
            let (mut schema, mut values) = (schema, values);
            for (index, step) in self.steps.iter().enumerate() {
                let Some((field, value)) = crate::schemas::member(schema, values, step) else {
                    return Value::Null;
                };
                if index + 1 == self.steps.len() {
                    return get(field, value, self.replace_null);
                }
                let Value::Struct(inner) = value else { return Value::Null };
                (schema, values) = (field, inner);
            }
            Value::Null
        }
    }
}

pub(super) mod hoist {
    use super::*;

    const FIELD: Key =
        Key::new("field", KeyType::String, "The field of the new struct. Example: line").required();

    pub(in crate::kafka) const KEYS: &[Key] = &[FIELD];

    struct HoistField {
        side: Side,
        field: String,
        cache: Cache<Arc<Schema>>,
    }

    pub(in crate::kafka) fn make(settings: &Settings, side: Side) -> Result<Box<dyn Transform>> {
        let field = settings.text(&FIELD).to_owned();
        Ok(Box::new(HoistField { side, field, cache: Cache::default() }))
    }

    impl Transform for HoistField {
        fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
            let Datum { schema, value } = std::mem::take(record.side_mut(self.side));
            *record.side_mut(self.side) = match schema {
                None => {
                    let name = Value::Text(Text::copied(&self.field));
                    Datum { schema: None, value: Value::Map(vec![(name, value)]) }
                }
                Some(schema) => {
                    let made = self.cache.get(&schema, |schema| {
                        let fields = vec![Field::new(self.field.as_str(), Arc::clone(schema))];
                        Arc::new(Schema { fields, ..Schema::new(Type::Struct) })
                    });
                    Datum::new(Arc::clone(made), Value::Struct(vec![value]))
                }
            };
            Ok(Some(record))
        }
    }
}

pub(super) mod to_key {
    use super::*;

    const FIELDS: Key =
        Key::new("fields", KeyType::List, "Fields of the value that become the key. Example: id")
            .required();

    pub(in crate::kafka) const KEYS: &[Key] = &[FIELDS, REPLACE_NULL];

    struct ValueToKey {
        fields: Vec<String>,
        replace_null: bool,
        cache: Cache<(Arc<Schema>, Vec<usize>)>,
    }

    pub(in crate::kafka) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
        let fields = settings.list(&FIELDS);
        let replace_null = settings.flag(&REPLACE_NULL);
        Ok(Box::new(ValueToKey { fields, replace_null, cache: Cache::default() }))
    }

    const PURPOSE: &str = "copying fields from value to key";

    impl Transform for ValueToKey {
        fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
            record.key = match record.value.shape(PURPOSE)? {
                Shape::Null => return Err(crate::record::only_struct(PURPOSE, "null")),
                Shape::Map(entries) => {
                    let pick = |field: &String| {
                        let value = entry(entries, field).cloned().unwrap_or_default();
                        (Value::Text(Text::copied(field)), value)
                    };
                    Datum {
                        schema: None,
                        value: Value::Map(self.fields.iter().map(pick).collect()),
                    }
                }
                Shape::Struct(schema, values) => {
                    let (made, picks) =
                        self.cache.try_get(schema, |schema| key_of(schema, &self.fields))?;
                    let pick = |index: &usize| {
                        let field = schema.fields.get(*index).map(|field| &field.schema);
                        field.zip(values.get(*index)).map_or(Value::Null, |(field, value)| {
                            get(field, value, self.replace_null)
                        })
                    };
                    Datum::new(Arc::clone(made), Value::Struct(picks.iter().map(pick).collect()))
                }
            };
            Ok(Some(record))
        }
    }

    fn key_of(schema: &Schema, names: &[String]) -> Result<(Arc<Schema>, Vec<usize>)> {
        let mut picks = Vec::new();
        let mut fields = Vec::new();
        for name in names {
            let Some(at) = schema.field_index(name) else {
                return Err(Error::data(format!("Field does not exist: {name}")).with_remedy(
                    "name only fields of the value in \"fields\", or use a predicate",
                ));
            };
            picks.push(at);
            fields.extend(schema.fields.get(at).cloned());
        }
        Ok((Arc::new(Schema { fields, ..Schema::new(Type::Struct) }), picks))
    }
}
