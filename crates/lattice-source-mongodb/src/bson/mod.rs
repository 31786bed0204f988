//! BSON as bytes: what one needs to walk through a document without building it.

mod escape;
pub mod json;
pub mod number;
#[cfg(test)]
mod tests;

use lattice_core::{Error, Result};

/// BSON's element types. Source: bsonspec.org, version 1.1.
#[allow(missing_docs)] // their names say it
pub mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOLEAN: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const DB_POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7f;
    pub const MIN_KEY: u8 = 0xff;
}

/// The bytes are no BSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage(pub &'static str);

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Self::data(format!("the document is no valid BSON: {}", damage.0))
    }
}

/// A value: its type and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    /// One of [`kind`].
    pub kind: u8,
    /// All of its bytes and no more.
    pub bytes: &'a [u8],
}

/// A field of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its name; MongoDB does not promise that it is UTF-8.
    pub name: &'a [u8],
    /// Its value.
    pub value: Raw<'a>,
}

/// The elements of a document, in its order.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

/// Walks through a document's bytes (its length included).
///
/// Errors: a length that does not fit, or a missing end.
pub fn elements(document: &[u8]) -> Result<Elements<'_>, Damage> {
    let body = whole(document)?;
    Ok(Elements { rest: body })
}

/// What is between a document's length and its final zero.
fn whole(document: &[u8]) -> Result<&[u8], Damage> {
    let stated = length(document)?;
    match document {
        [_, _, _, _, body @ .., 0] if stated == document.len() => Ok(body),
        _ => Err(Damage("a document whose length is wrong")),
    }
}

fn length(bytes: &[u8]) -> Result<usize, Damage> {
    let head: [u8; 4] = bytes
        .get(..4)
        .and_then(|head| head.try_into().ok())
        .ok_or(Damage("a length that is cut off"))?;
    usize::try_from(i32::from_le_bytes(head)).map_err(|_| Damage("a negative length"))
}

impl<'a> Elements<'a> {
    fn take(&mut self) -> Result<Element<'a>, Damage> {
        let (kind, rest) = self.rest.split_first().ok_or(Damage("an element that is cut off"))?;
        let (name, rest) = c_string(rest)?;
        let size = size(*kind, rest)?;
        let bytes = rest.get(..size).ok_or(Damage("a value that is cut off"))?;
        self.rest = rest.get(size..).unwrap_or_default();
        Ok(Element { name, value: Raw { kind: *kind, bytes } })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let element = self.take();
        if element.is_err() {
            self.rest = &[];
        }
        Some(element)
    }
}

fn c_string(bytes: &[u8]) -> Result<(&[u8], &[u8]), Damage> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Damage("a name without end"))?;
    Ok((bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default()))
}

fn size(kind: u8, bytes: &[u8]) -> Result<usize, Damage> {
    let with =
        |more: usize| length(bytes)?.checked_add(more).ok_or(Damage("a length that is too large"));
    Ok(match kind {
        kind::UNDEFINED | kind::NULL | kind::MAX_KEY | kind::MIN_KEY => 0,
        kind::BOOLEAN => 1,
        kind::INT32 => 4,
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => 8,
        kind::OBJECT_ID => 12,
        kind::DECIMAL128 => 16,
        kind::DOCUMENT | kind::ARRAY | kind::CODE_WITH_SCOPE => with(0)?,
        kind::STRING | kind::CODE | kind::SYMBOL => with(4)?,
        kind::BINARY => with(5)?,
        kind::DB_POINTER => with(16)?,
        kind::REGEX => {
            let (_, rest) = c_string(bytes)?;
            let (_, after) = c_string(rest)?;
            bytes.len() - after.len()
        }
        _ => return Err(Damage("an unknown type")),
    })
}

impl<'a> Raw<'a> {
    fn fixed<const N: usize>(self) -> Result<[u8; N], Damage> {
        self.bytes.try_into().map_err(|_| Damage("a number that is cut off"))
    }

    /// The bytes of a string's text.
    ///
    /// Errors: no final zero.
    pub fn text_bytes(self) -> Result<&'a [u8], Damage> {
        string(self.bytes).map(|(text, _)| text)
    }

    /// The text, if it is a UTF-8 string.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        let text = (self.kind == kind::STRING).then(|| self.text_bytes().ok())??;
        std::str::from_utf8(text).ok()
    }

    /// The bytes of a document or an array, if it is one.
    #[must_use]
    pub fn as_document(self) -> Option<&'a [u8]> {
        matches!(self.kind, kind::DOCUMENT | kind::ARRAY).then_some(self.bytes)
    }

    /// A whole number, of 32 or 64 bits.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.kind {
            kind::INT32 => self.fixed().ok().map(|bytes| i64::from(i32::from_le_bytes(bytes))),
            kind::INT64 | kind::DATE => self.fixed().ok().map(i64::from_le_bytes),
            _ => None,
        }
    }

    /// A timestamp: seconds << 32 | increment.
    #[must_use]
    pub fn as_timestamp(self) -> Option<u64> {
        (self.kind == kind::TIMESTAMP).then(|| self.fixed().ok().map(u64::from_le_bytes))?
    }
}

/// A string at the start of `bytes`, without its final zero, and what follows it.
fn string(bytes: &[u8]) -> Result<(&[u8], &[u8]), Damage> {
    let end = length(bytes)?.checked_add(4).ok_or(Damage("a length that is too large"))?;
    let text = bytes.get(4..end).ok_or(Damage("a string that is cut off"))?;
    match text {
        [text @ .., 0] => Ok((text, bytes.get(end..).unwrap_or_default())),
        _ => Err(Damage("a string without end")),
    }
}

/// The first field of that name.
#[must_use]
pub fn get<'a>(document: &'a [u8], name: &str) -> Option<Raw<'a>> {
    let mut found = elements(document).ok()?.filter_map(Result::ok);
    found.find(|element| element.name == name.as_bytes()).map(|element| element.value)
}

/// A document of one field named `_`: how an `_id` alone is kept.
#[must_use]
pub fn wrap(value: Raw<'_>) -> Vec<u8> {
    let length = i32::try_from(value.bytes.len() + 8).unwrap_or(i32::MAX);
    let mut out = Vec::with_capacity(value.bytes.len() + 8);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[value.kind, b'_', 0]);
    out.extend_from_slice(value.bytes);
    out.push(0);
    out
}
