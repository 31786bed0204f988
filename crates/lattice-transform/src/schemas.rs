//! What transformations do with schemas: copies, fields with their defaults, and a memory of what
//! was made of which schema.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    schema::{Field, Schema, Type},
    value::Value,
};

/// More schemas than these are not remembered.
const REMEMBERED: usize = 1024;

/// What was made of schemas, found by their identity.
#[derive(Debug)]
pub(crate) struct Cache<T>(HashMap<usize, (Arc<Schema>, T)>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Cache<T> {
    /// What was made of a schema; made now if it was not.
    pub(crate) fn get(&mut self, schema: &Arc<Schema>, make: impl FnOnce(&Arc<Schema>) -> T) -> &T {
        match self.try_get(schema, |schema| Ok::<_, std::convert::Infallible>(make(schema))) {
            Ok(made) => made,
            Err(never) => match never {},
        }
    }

    /// The same where making may fail.
    pub(crate) fn try_get<E>(
        &mut self,
        schema: &Arc<Schema>,
        make: impl FnOnce(&Arc<Schema>) -> Result<T, E>,
    ) -> Result<&T, E> {
        // The schema is held beside, so that its address stays its own.
        let address = Arc::as_ptr(schema) as usize;
        if self.0.len() >= REMEMBERED && !self.0.contains_key(&address) {
            self.0.clear();
        }
        match self.0.entry(address) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(&entry.into_mut().1),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let made = make(schema)?;
                Ok(&entry.insert((Arc::clone(schema), made)).1)
            }
        }
    }
}

/// A schema of `kind` with name, version, documentation and parameters of `source`; required and
/// without default.
pub(crate) fn basics(source: &Schema, kind: Type) -> Schema {
    Schema {
        name: source.name.clone(),
        version: source.version,
        doc: source.doc.clone(),
        parameters: source.parameters.clone(),
        ..Schema::new(kind)
    }
}

/// A struct like `source` with other fields; required and without default.
pub(crate) fn with_fields(source: &Schema, fields: Vec<Field>) -> Schema {
    Schema { fields, ..basics(source, Type::Struct) }
}

/// A field's value; NULL in a field with a default is the default, if wanted.
pub(crate) fn get(schema: &Schema, value: &Value<'static>, replace_null: bool) -> Value<'static> {
    match &schema.default {
        Some(default) if replace_null && value.is_absent() && !default.is_absent() => {
            default.clone()
        }
        _ => value.clone(),
    }
}

/// The same for all of a struct's fields.
pub(crate) fn get_all(
    schema: &Schema,
    values: &[Value<'static>],
    replace_null: bool,
) -> Vec<Value<'static>> {
    let fields = schema.fields.iter().zip(values);
    fields.map(|(field, value)| get(&field.schema, value, replace_null)).collect()
}

/// A required or optional schema of a physical type.
pub(crate) fn plain(kind: Type, optional: bool) -> Arc<Schema> {
    let schema = Schema::new(kind);
    Arc::new(if optional { schema.optional() } else { schema })
}

/// Kafka Connect's `Timestamp`.
pub(crate) const TIMESTAMP: &str = "org.apache.kafka.connect.data.Timestamp";
/// Kafka Connect's `Date`.
pub(crate) const DATE: &str = "org.apache.kafka.connect.data.Date";
/// Kafka Connect's `Time`.
pub(crate) const TIME: &str = "org.apache.kafka.connect.data.Time";
/// Kafka Connect's `Decimal`.
pub(crate) const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";

/// One of Kafka Connect's logical types.
pub(crate) fn logical(name: &str, optional: bool) -> Arc<Schema> {
    let kind = if name == TIMESTAMP { Type::Int64 } else { Type::Int32 };
    let schema = Schema::new(kind).named(name, 1);
    Arc::new(if optional { schema.optional() } else { schema })
}

/// Whether a struct is Debezium's envelope.
pub(crate) fn is_envelope(schema: &Schema) -> bool {
    schema.kind == Type::Struct && schema.semantic().ends_with(".Envelope")
}

/// A struct's member by name.
pub(crate) fn member<'v>(
    schema: &'v Schema,
    values: &'v [Value<'static>],
    name: &str,
) -> Option<(&'v Arc<Schema>, &'v Value<'static>)> {
    let index = schema.field_index(name)?;
    Some((&schema.fields.get(index)?.schema, values.get(index)?))
}

/// A struct's member that is a struct with a value.
pub(crate) fn inner<'v>(
    schema: &'v Schema,
    values: &'v [Value<'static>],
    name: &str,
) -> Option<(&'v Arc<Schema>, &'v [Value<'static>])> {
    match member(schema, values, name)? {
        (schema, Value::Struct(values)) => Some((schema, values)),
        _ => None,
    }
}
