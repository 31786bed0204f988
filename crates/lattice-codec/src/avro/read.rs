//! Avro bytes → values, or past them, by a plan that is compiled once a schema.

use std::sync::Arc;

use lattice_core::value::{Binary, Text, Value};
use lattice_registry::avro::{Kind, NodeId, Schema};

/// How the bytes of one schema are read.
#[derive(Debug)]
pub(crate) enum Reader {
    Null,
    Bool,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Enum(Vec<Arc<str>>),
    Array(Box<Reader>),
    Map(Box<Reader>),
    /// A map as an array of key-value records.
    Entries(Box<Reader>, Box<Reader>),
    Record(Vec<Reader>),
    /// A union with null; the other branch's index.
    Optional(u8, Box<Reader>),
    /// Any other union: a struct with a field for each branch that is not null.
    Union(Vec<Reader>),
}

/// What is wrong with bytes or with a schema.
///
/// A pointer wide: with it a result of a number still comes back in registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reason(String);

impl Damage {
    #[cold]
    pub(crate) fn new(reason: String) -> Self {
        Self(Box::new(Reason(reason)))
    }

    /// In words.
    pub(crate) fn reason(&self) -> &str {
        &self.0.0
    }
}

impl From<&'static str> for Damage {
    #[cold]
    fn from(reason: &'static str) -> Self {
        Self::new(reason.to_owned())
    }
}

type Result<T> = std::result::Result<T, Damage>;

/// Items that take no bytes can be counted without end; more than these are damage.
const MAX_EMPTY_ITEMS: u64 = 1 << 16;

const TOO_SHORT: &str = "the bytes end too early";

impl Reader {
    /// Errors: a schema that refers to itself.
    pub(crate) fn compile(schema: &Schema, id: NodeId) -> Result<Self> {
        Self::node(schema, id, &mut Vec::new())
    }

    fn node(schema: &Schema, id: NodeId, path: &mut Vec<NodeId>) -> Result<Self> {
        if path.contains(&id) {
            return Err("recursive schemas are not supported".into());
        }
        path.push(id);
        let made = Self::kind(schema, id, path);
        path.pop();
        made
    }

    fn kind(schema: &Schema, id: NodeId, path: &mut Vec<NodeId>) -> Result<Self> {
        let mut child = |id: NodeId| Self::node(schema, id, path);
        Ok(match schema.kind(id) {
            Kind::Null => Self::Null,
            Kind::Boolean => Self::Bool,
            Kind::Int => Self::Int,
            Kind::Long => Self::Long,
            Kind::Float => Self::Float,
            Kind::Double => Self::Double,
            Kind::Bytes => Self::Bytes,
            Kind::String => Self::Text,
            Kind::Fixed(fixed) => Self::Fixed(fixed.size),
            Kind::Enum(symbols) => Self::Enum(symbols.symbols.clone()),
            Kind::Array(items) => match map_entry(schema, *items) {
                Some((key, value)) => Self::Entries(Box::new(child(key)?), Box::new(child(value)?)),
                None => Self::Array(Box::new(child(*items)?)),
            },
            Kind::Map(values) => Self::Map(Box::new(child(*values)?)),
            Kind::Record(record) => Self::Record(
                record.fields.iter().map(|field| child(field.schema)).collect::<Result<_>>()?,
            ),
            Kind::Union(branches) => match (optional_branch(schema, branches), &branches[..]) {
                (Some(index), _) => {
                    let number = u8::try_from(index).map_err(|_| TOO_SHORT)?;
                    Self::Optional(number, Box::new(child(branches[index])?))
                }
                (None, branches) => {
                    Self::Union(branches.iter().map(|id| child(*id)).collect::<Result<_>>()?)
                }
            },
        })
    }

    /// Reads a value.
    pub(crate) fn read<'a>(&self, input: &mut Input<'a>) -> Result<Value<'a>> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool => match input.take(1)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err("a boolean that is neither 0 nor 1".into()),
            },
            Self::Int => Value::Int(input.int()?),
            Self::Long => Value::Int(input.long()?),
            Self::Float => Value::Float32(f32::from_le_bytes(input.array()?)),
            Self::Double => Value::Float64(f64::from_le_bytes(input.array()?)),
            Self::Bytes => Value::Bytes(Binary::borrowed(input.bytes()?)),
            Self::Text => Value::Text(Text::borrowed(input.text()?)),
            Self::Fixed(size) => Value::Bytes(Binary::borrowed(input.take(*size)?)),
            Self::Enum(symbols) => {
                let index = usize::try_from(input.int()?).ok();
                match index.and_then(|index| symbols.get(index)) {
                    Some(symbol) => Value::Text(Text::copied(symbol)),
                    None => return Err("an enum symbol that the schema does not have".into()),
                }
            }
            Self::Array(items) => {
                let mut list = Vec::new();
                input.blocks(|input| {
                    list.push(items.read(input)?);
                    Ok(())
                })?;
                Value::Array(list)
            }
            Self::Map(values) => {
                let mut list = Vec::new();
                input.blocks(|input| {
                    let key = Value::Text(Text::borrowed(input.text()?));
                    list.push((key, values.read(input)?));
                    Ok(())
                })?;
                Value::Map(list)
            }
            Self::Entries(keys, values) => {
                let mut list = Vec::new();
                input.blocks(|input| {
                    let key = keys.read(input)?;
                    list.push((key, values.read(input)?));
                    Ok(())
                })?;
                Value::Map(list)
            }
            Self::Record(fields) => {
                Value::Struct(fields.iter().map(|field| field.read(input)).collect::<Result<_>>()?)
            }
            Self::Optional(branch, inner) => {
                if input.optional(*branch)? {
                    return inner.read(input);
                }
                Value::Null
            }
            Self::Union(branches) => return union(branches, input),
        })
    }

    /// Goes past a value.
    pub(crate) fn skip(&self, input: &mut Input<'_>) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Bool => {
                input.take(1)?;
            }
            Self::Int | Self::Long | Self::Enum(_) => input.skip_long()?,
            Self::Float => {
                input.take(4)?;
            }
            Self::Double => {
                input.take(8)?;
            }
            Self::Bytes | Self::Text => {
                input.bytes()?;
            }
            Self::Fixed(size) => {
                input.take(*size)?;
            }
            Self::Array(items) => input.blocks(|input| items.skip(input))?,
            Self::Map(values) => input.blocks(|input| {
                input.bytes()?;
                values.skip(input)
            })?,
            Self::Entries(keys, values) => input.blocks(|input| {
                keys.skip(input)?;
                values.skip(input)
            })?,
            Self::Record(fields) => {
                for field in fields {
                    field.skip(input)?;
                }
            }
            Self::Optional(branch, inner) => {
                if input.optional(*branch)? {
                    inner.skip(input)?;
                }
            }
            Self::Union(branches) => branch_of(branches, input)?.1.skip(input)?,
        }
        Ok(())
    }
}

fn branch_of<'r>(branches: &'r [Reader], input: &mut Input<'_>) -> Result<(usize, &'r Reader)> {
    let index = usize::try_from(input.long()?).unwrap_or(usize::MAX);
    match branches.get(index) {
        Some(branch) => Ok((index, branch)),
        None => Err("a union branch that the schema does not have".into()),
    }
}

/// A union of several types: a struct in which only the branch that is there has a value.
fn union<'a>(branches: &[Reader], input: &mut Input<'a>) -> Result<Value<'a>> {
    let (index, branch) = branch_of(branches, input)?;
    if matches!(branch, Reader::Null) {
        return Ok(Value::Null);
    }
    let value = branch.read(input)?;
    let place = branches[..index].iter().filter(|one| !matches!(one, Reader::Null)).count();
    let count = branches.iter().filter(|one| !matches!(one, Reader::Null)).count();
    let mut fields = vec![Value::Null; count];
    if let Some(slot) = fields.get_mut(place) {
        *slot = value;
    }
    Ok(Value::Struct(fields))
}

/// The index of the only branch beside null.
pub(super) fn optional_branch(schema: &Schema, branches: &[NodeId]) -> Option<usize> {
    let null = branches.iter().position(|id| matches!(schema.kind(*id), Kind::Null))?;
    (branches.len() == 2).then(|| 1 - null)
}

/// Key and value of an array's items, if they are Kafka Connect's map entries.
pub(super) fn map_entry(schema: &Schema, items: NodeId) -> Option<(NodeId, NodeId)> {
    let Kind::Record(record) = schema.kind(items) else { return None };
    let marked = schema.node(items).properties.get("connect.internal.type");
    let marked = marked.and_then(|word| word.as_str()) == Some("MapEntry");
    if !marked && &*record.name.full != "io.confluent.connect.avro.MapEntry" {
        return None;
    }
    match &record.fields[..] {
        [key, value] if &*key.name == "key" && &*value.name == "value" => {
            Some((key.schema, value.schema))
        }
        _ => None,
    }
}

/// Bytes that are being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(TOO_SHORT.into());
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(TOO_SHORT.into());
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// A zig-zag varint.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64> {
        if let [byte @ 0..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.long_number()
    }

    #[inline(never)]
    fn long_number(&mut self) -> Result<i64> {
        let length = self.varint_len()?;
        let (number, rest) = self.rest.split_at(length);
        let bits =
            number.iter().rev().fold(0_u64, |bits, byte| (bits << 7) | u64::from(byte & 0x7f));
        self.rest = rest;
        #[allow(clippy::cast_possible_wrap)] // zig-zag is a change of bits
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// Goes past a varint without reading it.
    #[inline]
    pub(crate) fn skip_long(&mut self) -> Result<()> {
        if let [0..=0x7f, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(());
        }
        let length = self.varint_len()?;
        self.rest = &self.rest[length..];
        Ok(())
    }

    /// How many bytes the varint here takes.
    #[inline]
    fn varint_len(&self) -> Result<usize> {
        const LAST: u64 = 0x8080_8080_8080_8080;
        if let Some(eight) = self.rest.first_chunk() {
            // The first byte without its upper bit is the number's last.
            let ends = !u64::from_le_bytes(*eight) & LAST;
            if ends != 0 {
                return Ok(ends.trailing_zeros() as usize / 8 + 1);
            }
        }
        match self.rest.iter().take(10).position(|byte| byte & 0x80 == 0) {
            Some(at) => Ok(at + 1),
            None if self.rest.len() < 10 => Err(TOO_SHORT.into()),
            None => Err("a number of too many bytes".into()),
        }
    }

    #[inline]
    pub(crate) fn int(&mut self) -> Result<i64> {
        let number = self.long()?;
        if i32::try_from(number).is_err() {
            return Err("an int beyond 32 bits".into());
        }
        Ok(number)
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let Ok(length) = usize::try_from(self.long()?) else {
            return Err("a negative length".into());
        };
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "text that is not UTF-8".into())
    }

    /// The bytes of a text, which are UTF-8. Nearly all texts are ASCII, which is known sooner.
    #[inline]
    pub(crate) fn text_bytes(&mut self) -> Result<&'a [u8]> {
        let bytes = self.bytes()?;
        if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            return Err("text that is not UTF-8".into());
        }
        Ok(bytes)
    }

    /// Whether an optional value is there.
    #[inline]
    pub(crate) fn optional(&mut self, branch: u8) -> Result<bool> {
        match self.long()? {
            index if index == i64::from(branch) => Ok(true),
            0 | 1 => Ok(false),
            _ => Err("a union branch that the schema does not have".into()),
        }
    }

    /// The items of an array or map.
    fn blocks(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let mut empty = 0_u64;
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                self.long()?; // the block's size in bytes
            }
            for _ in 0..count.unsigned_abs() {
                let before = self.left();
                item(self)?;
                if self.left() == before {
                    empty += 1;
                    if empty > MAX_EMPTY_ITEMS {
                        return Err("too many items without bytes".into());
                    }
                }
            }
        }
    }
}
