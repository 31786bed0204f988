//! JSON text → nodes.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{Enum, Field, Fixed, Kind, Name, Node, NodeId, Record};

/// Why a text is not an Avro schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(super) String);

/// Nesting deeper than this is refused, so that hostile input cannot exhaust the stack.
const MAX_DEPTH: usize = 200;

#[derive(Default)]
pub(super) struct Parser {
    nodes: Vec<Node>,
    names: HashMap<Arc<str>, NodeId>,
}

type Result<T> = std::result::Result<T, ParseError>;

fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(ParseError(message.into()))
}

impl Parser {
    pub(super) fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    pub(super) fn root(&mut self, text: &str) -> Result<NodeId> {
        let json: Value = match serde_json::from_str(text) {
            Ok(json) => json,
            // A bare primitive's name without quotes is what some clients send.
            Err(_) if primitive(text.trim()).is_some() => Value::String(text.trim().to_owned()),
            Err(error) => return fail(format!("the schema is not JSON: {error}")),
        };
        self.schema(&json, "", 0)
    }

    fn add(&mut self, kind: Kind, properties: Map<String, Value>) -> NodeId {
        self.nodes.push(Node { kind, properties });
        NodeId(self.nodes.len() - 1)
    }

    fn schema(&mut self, json: &Value, namespace: &str, depth: usize) -> Result<NodeId> {
        if depth > MAX_DEPTH {
            return fail(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        match json {
            Value::String(word) => self.word(word, namespace, Map::new()),
            Value::Array(branches) => self.union(branches, namespace, depth),
            Value::Object(object) => self.object(object, namespace, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                fail(format!("not a schema: {json}"))
            }
        }
    }

    fn word(
        &mut self,
        word: &str,
        namespace: &str,
        properties: Map<String, Value>,
    ) -> Result<NodeId> {
        if let Some(kind) = primitive(word) {
            return Ok(self.add(kind, properties));
        }
        let full = qualify(word, namespace);
        match self.names.get(&*full).or_else(|| self.names.get(word)) {
            Some(id) => Ok(*id),
            None => fail(format!("undefined name: \"{full}\"")),
        }
    }

    fn union(&mut self, branches: &[Value], namespace: &str, depth: usize) -> Result<NodeId> {
        let mut ids = Vec::with_capacity(branches.len());
        let mut seen: Vec<String> = Vec::new();
        for branch in branches {
            let id = self.schema(branch, namespace, depth + 1)?;
            let kind = &self.nodes[id.0].kind;
            if matches!(kind, Kind::Union(_)) {
                return fail("a union directly inside a union");
            }
            let word =
                kind.name().map_or_else(|| kind.word().to_owned(), |name| name.full.to_string());
            if seen.contains(&word) {
                return fail(format!("duplicate in union: {word}"));
            }
            seen.push(word);
            ids.push(id);
        }
        Ok(self.add(Kind::Union(ids), Map::new()))
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
        depth: usize,
    ) -> Result<NodeId> {
        let word = match object.get("type") {
            Some(Value::String(word)) => word.as_str(),
            Some(inner @ (Value::Object(_) | Value::Array(_))) => {
                return self.schema(inner, namespace, depth + 1);
            }
            Some(other) => return fail(format!("\"type\" is not a type: {other}")),
            None => return fail("no \"type\" in a schema object"),
        };
        match word {
            "record" | "error" => self.record(object, namespace, depth),
            "enum" => self.enumeration(object, namespace),
            "fixed" => self.fixed(object, namespace),
            "array" | "map" => {
                let member = if word == "array" { "items" } else { "values" };
                let Some(inner) = object.get(member) else {
                    return fail(format!("{word} without \"{member}\""));
                };
                let inner = self.schema(inner, namespace, depth + 1)?;
                let kind = if word == "array" { Kind::Array(inner) } else { Kind::Map(inner) };
                Ok(self.add(kind, rest(object, &["type", member])))
            }
            _ => self.word(word, namespace, rest(object, &["type"])),
        }
    }

    fn named(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<(Name, String)> {
        let Some(name) = object.get("name").and_then(Value::as_str) else {
            return fail("a named type without \"name\"");
        };
        let space = match object.get("namespace") {
            Some(Value::String(space)) => space.as_str(),
            Some(Value::Null) | None => namespace,
            Some(other) => return fail(format!("illegal namespace: {other}")),
        };
        let full = qualify(name, space);
        for part in full.split('.') {
            check_name(part)?;
        }
        if self.names.contains_key(&*full) {
            return fail(format!("can't redefine: {full}"));
        }
        let space = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
        let aliases = strings(object, "aliases")?
            .into_iter()
            .map(|alias| Arc::from(qualify(&alias, &space)))
            .collect();
        Ok((Name { full: full.into(), aliases }, space))
    }

    /// Reserves a node for the name before its content is read, so that it may refer to itself.
    fn reserve(&mut self, name: &Name) -> NodeId {
        let unfinished = Record { name: name.clone(), fields: Vec::new() };
        let id = self.add(Kind::Record(unfinished), Map::new());
        self.names.insert(Arc::clone(&name.full), id);
        id
    }

    fn record(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
        depth: usize,
    ) -> Result<NodeId> {
        let (name, space) = self.named(object, namespace)?;
        let id = self.reserve(&name);
        let Some(Value::Array(list)) = object.get("fields") else {
            return fail(format!("record {} has no \"fields\"", name.full));
        };
        let mut fields: Vec<Field> = Vec::with_capacity(list.len());
        for field in list {
            let field = self.field(field, &name, &space, depth)?;
            if fields.iter().any(|other| other.name == field.name) {
                return fail(format!("duplicate field {} in record {}", field.name, name.full));
            }
            fields.push(field);
        }
        let properties = rest(object, &["type", "name", "namespace", "aliases", "fields"]);
        self.nodes[id.0] = Node { kind: Kind::Record(Record { name, fields }), properties };
        Ok(id)
    }

    fn field(&mut self, json: &Value, record: &Name, space: &str, depth: usize) -> Result<Field> {
        let Some(object) = json.as_object() else {
            return fail(format!("a field of record {} is not an object", record.full));
        };
        let Some(name) = object.get("name").and_then(Value::as_str) else {
            return fail(format!("a field of record {} has no \"name\"", record.full));
        };
        check_name(name)?;
        let Some(schema) = object.get("type") else {
            return fail(format!("field {name} of record {} has no \"type\"", record.full));
        };
        let schema = self.schema(schema, space, depth + 1).map_err(|ParseError(reason)| {
            ParseError(format!("field {name} of record {}: {reason}", record.full))
        })?;
        let aliases = strings(object, "aliases")?.into_iter().map(Arc::from).collect();
        let properties = rest(object, &["name", "type", "aliases", "default"]);
        Ok(Field {
            name: name.into(),
            aliases,
            schema,
            default: object.get("default").cloned(),
            properties,
        })
    }

    fn enumeration(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<NodeId> {
        let (name, _) = self.named(object, namespace)?;
        let id = self.reserve(&name);
        if !object.get("symbols").is_some_and(Value::is_array) {
            return fail(format!("enum {} has no \"symbols\"", name.full));
        }
        let symbols: Vec<Arc<str>> =
            strings(object, "symbols")?.into_iter().map(Arc::from).collect();
        for (index, symbol) in symbols.iter().enumerate() {
            check_name(symbol)?;
            if symbols[..index].contains(symbol) {
                return fail(format!("duplicate symbol {symbol} in enum {}", name.full));
            }
        }
        let default = object.get("default").and_then(Value::as_str).map(Arc::from);
        if let Some(default) = &default
            && !symbols.contains(default)
        {
            return fail(format!("the default {default} of enum {} is not a symbol", name.full));
        }
        let properties =
            rest(object, &["type", "name", "namespace", "aliases", "symbols", "default"]);
        let kind = Kind::Enum(Enum { name, symbols, default });
        self.nodes[id.0] = Node { kind, properties };
        Ok(id)
    }

    fn fixed(&mut self, object: &Map<String, Value>, namespace: &str) -> Result<NodeId> {
        let (name, _) = self.named(object, namespace)?;
        let id = self.reserve(&name);
        let size =
            object.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        let Some(size) = size else {
            return fail(format!("fixed {} has no \"size\"", name.full));
        };
        let properties = rest(object, &["type", "name", "namespace", "aliases", "size"]);
        self.nodes[id.0] = Node { kind: Kind::Fixed(Fixed { name, size }), properties };
        Ok(id)
    }
}

pub(super) fn primitive(word: &str) -> Option<Kind> {
    Some(match word {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}

pub(super) fn qualify(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}.{name}")
}

fn check_name(name: &str) -> Result<()> {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|char| char.is_alphabetic() || char == '_');
    if first && chars.all(|char| char.is_alphanumeric() || char == '_') {
        return Ok(());
    }
    fail(format!("illegal name: \"{name}\" (letters, digits and _, not a digit first)"))
}

fn strings(object: &Map<String, Value>, member: &str) -> Result<Vec<String>> {
    let list = match object.get(member) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return fail(format!("\"{member}\" is not a list: {other}")),
    };
    list.iter()
        .map(|item| match item.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => fail(format!("\"{member}\" holds something that is not a text: {item}")),
        })
        .collect()
}

fn rest(object: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    object
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
