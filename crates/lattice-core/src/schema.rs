//! The schema model: Kafka Connect's, which both ends of every topic agree on.

use std::sync::Arc;

use crate::value::Value;

/// Kafka Connect's physical types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// `INT8`
    Int8,
    /// `INT16`
    Int16,
    /// `INT32`
    Int32,
    /// `INT64`
    Int64,
    /// `FLOAT32`
    Float32,
    /// `FLOAT64`
    Float64,
    /// `BOOLEAN`
    Boolean,
    /// `STRING`
    String,
    /// `BYTES`
    Bytes,
    /// `ARRAY` of [`Schema::element`]
    Array,
    /// `MAP` from [`Schema::key`] to [`Schema::element`]
    Map,
    /// `STRUCT` of [`Schema::fields`]
    Struct,
}

/// A schema: a physical type, and optionally a semantic name (`io.debezium.time.Date`), a
/// version, parameters, a default and documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The physical type.
    pub kind: Type,
    /// Whether NULL is a value of it.
    pub optional: bool,
    /// The semantic type's name, or a struct's full name.
    pub name: Option<Arc<str>>,
    /// The semantic type's version.
    pub version: Option<i32>,
    /// Documentation.
    pub doc: Option<Arc<str>>,
    /// The default, already in the schema's own value form.
    pub default: Option<Value<'static>>,
    /// Parameters in the order they were given.
    pub parameters: Vec<(Arc<str>, Arc<str>)>,
    /// Fields of a struct, in order; empty otherwise.
    pub fields: Vec<Field>,
    /// Key schema of a map.
    pub key: Option<Arc<Schema>>,
    /// Element schema of an array, value schema of a map.
    pub element: Option<Arc<Schema>>,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name, as the source has it (converters adjust it to their rules).
    pub name: Arc<str>,
    /// The field's schema.
    pub schema: Arc<Schema>,
}

impl Schema {
    /// A required schema of a physical type and nothing more.
    #[must_use]
    pub fn new(kind: Type) -> Self {
        Self {
            kind,
            optional: false,
            name: None,
            version: None,
            doc: None,
            default: None,
            parameters: Vec::new(),
            fields: Vec::new(),
            key: None,
            element: None,
        }
    }

    /// An array of `element`.
    #[must_use]
    pub fn array(element: Arc<Schema>) -> Self {
        Self { element: Some(element), ..Self::new(Type::Array) }
    }

    /// A map from `key` to `element`.
    #[must_use]
    pub fn map(key: Arc<Schema>, element: Arc<Schema>) -> Self {
        Self { key: Some(key), element: Some(element), ..Self::new(Type::Map) }
    }

    /// A struct named `name`.
    pub fn structure(name: impl Into<Arc<str>>, fields: Vec<Field>) -> Self {
        Self { name: Some(name.into()), fields, ..Self::new(Type::Struct) }
    }

    /// The same, optional.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The same, with a semantic name and version.
    #[must_use]
    pub fn named(mut self, name: &str, version: i32) -> Self {
        self.name = Some(name.into());
        self.version = Some(version);
        self
    }

    /// The same, with one more parameter.
    #[must_use]
    pub fn parameter(mut self, key: &str, value: &str) -> Self {
        self.parameters.push((key.into(), value.into()));
        self
    }

    /// The same, with a default.
    #[must_use]
    pub fn with_default(mut self, value: Value<'static>) -> Self {
        self.default = Some(value);
        self
    }

    /// The semantic name, or `""`.
    #[must_use]
    pub fn semantic(&self) -> &str {
        self.name.as_deref().unwrap_or("")
    }

    /// The parameter's value.
    #[must_use]
    pub fn get_parameter(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
    }

    /// The position of the field named `name`.
    #[must_use]
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| &*field.name == name)
    }
}

impl Field {
    /// A field.
    pub fn new(name: impl Into<Arc<str>>, schema: impl Into<Arc<Schema>>) -> Self {
        Self { name: name.into(), schema: schema.into() }
    }
}
