//! A parsed Avro schema: an arena of nodes, so that recursive types need no cycles.

mod check;
mod inline;
mod parse;
mod same;

use std::sync::Arc;

use serde_json::{Map, Value};

pub(crate) use inline::inline;
pub use parse::ParseError;
pub(crate) use same::difference;

/// A node of a [`Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub usize);

/// A parsed schema.
#[derive(Debug, Clone)]
pub struct Schema {
    nodes: Vec<Node>,
    root: NodeId,
}

/// A type of the schema.
#[derive(Debug, Clone)]
pub struct Node {
    /// The type itself.
    pub kind: Kind,
    /// Every other property in the order it stands: `logicalType`, `precision`, `scale`,
    /// `connect.name`, ….
    pub properties: Map<String, Value>,
}

/// An Avro type.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes`
    Bytes,
    /// `string`
    String,
    /// `array` of items
    Array(NodeId),
    /// `map` of values
    Map(NodeId),
    /// A union of branches, in order
    Union(Vec<NodeId>),
    /// `record`
    Record(Record),
    /// `enum`
    Enum(Enum),
    /// `fixed`
    Fixed(Fixed),
}

/// A named type's full name and aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Namespace and name, joined by a dot.
    pub full: Arc<str>,
    /// Full names of the aliases.
    pub aliases: Vec<Arc<str>>,
}

impl Name {
    /// The name without its namespace.
    #[must_use]
    pub fn short(&self) -> &str {
        self.full.rsplit('.').next().unwrap_or(&self.full)
    }
}

/// A record.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its name.
    pub name: Name,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Other names a reader knows it by.
    pub aliases: Vec<Arc<str>>,
    /// Its type.
    pub schema: NodeId,
    /// Its default, as JSON.
    pub default: Option<Value>,
    /// Every other property, `doc` and `order` among them.
    pub properties: Map<String, Value>,
}

/// An enum.
#[derive(Debug, Clone)]
pub struct Enum {
    /// Its name.
    pub name: Name,
    /// Its symbols, in order.
    pub symbols: Vec<Arc<str>>,
    /// What a reader takes for a symbol it does not know.
    pub default: Option<Arc<str>>,
}

/// A fixed.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// Its name.
    pub name: Name,
    /// Units: bytes.
    pub size: usize,
}

/// Whether a word names a type without a structure.
pub(crate) fn is_primitive_name(word: &str) -> bool {
    parse::primitive(word).is_some()
}

impl Schema {
    /// Parses a schema's JSON text.
    ///
    /// Errors: the text is not JSON, or not a schema; says where and why.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_with(text, &[])
    }

    /// Parses a schema that uses named types of `references`, given in the order of their
    /// dependence.
    ///
    /// Errors: as [`Schema::parse`]; a reference that does not parse.
    pub fn parse_with(text: &str, references: &[&str]) -> Result<Self, ParseError> {
        let mut parser = parse::Parser::default();
        for reference in references {
            parser.root(reference)?;
        }
        let root = parser.root(text)?;
        let schema = Self { nodes: parser.into_nodes(), root };
        check::defaults(&schema)?;
        Ok(schema)
    }

    /// The outermost type.
    #[must_use]
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// A node.
    ///
    /// Panics: never for ids of this schema.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// A node's type.
    #[must_use]
    pub fn kind(&self, id: NodeId) -> &Kind {
        &self.nodes[id.0].kind
    }
}

impl Kind {
    /// Avro's word for the type.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Record(_) => "record",
            Self::Enum(_) => "enum",
            Self::Fixed(_) => "fixed",
        }
    }

    /// Whether it is one of the types without a structure.
    #[must_use]
    pub fn is_primitive(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Boolean
                | Self::Int
                | Self::Long
                | Self::Float
                | Self::Double
                | Self::Bytes
                | Self::String
        )
    }

    /// The name of a named type.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Record(record) => Some(&record.name),
            Self::Enum(symbols) => Some(&symbols.name),
            Self::Fixed(fixed) => Some(&fixed.name),
            Self::Null
            | Self::Boolean
            | Self::Int
            | Self::Long
            | Self::Float
            | Self::Double
            | Self::Bytes
            | Self::String
            | Self::Array(_)
            | Self::Map(_)
            | Self::Union(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
