//! One borrowed value. Its meaning is the [`Schema`](crate::schema::Schema)'s; this is its form.

use std::fmt;

/// A value in the form its schema prescribes.
///
/// Shape: `INT8`…`INT64` are all [`Value::Int`] (the schema says the width); `Decimal` is the
/// big-endian two's complement of the unscaled number in [`Value::Bytes`]; a struct's values
/// stand in the order of the schema's fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// The source did not send it (not part of the replica identity, column not in this row).
    Missing,
    /// An out-of-line value that the change did not touch and the source did not send.
    Unchanged,
    /// `BOOLEAN`
    Bool(bool),
    /// `INT8`, `INT16`, `INT32`, `INT64`
    Int(i64),
    /// `FLOAT32`
    Float32(f32),
    /// `FLOAT64`
    Float64(f64),
    /// `STRING`
    Text(Text<'a>),
    /// `BYTES`
    Bytes(Binary<'a>),
    /// `ARRAY`
    Array(Vec<Value<'a>>),
    /// `MAP`, in the order it came
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// `STRUCT`, one value a field
    Struct(Vec<Value<'a>>),
}

impl<'a> Value<'a> {
    /// A borrowed string.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::Text(Text::borrowed(text))
    }

    /// Borrowed bytes.
    #[must_use]
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Binary::borrowed(bytes))
    }

    /// Whether it is NULL, missing or unchanged: no value of its own to write.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Null | Self::Missing | Self::Unchanged)
    }

    /// The same value, owning all it holds.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Missing => Value::Missing,
            Self::Unchanged => Value::Unchanged,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Float32(value) => Value::Float32(value),
            Self::Float64(value) => Value::Float64(value),
            Self::Text(text) => Value::Text(Text(text.0.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned()),
            Self::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Self::Map(items) => Value::Map(
                items
                    .into_iter()
                    .map(|(key, item)| (key.into_owned(), item.into_owned()))
                    .collect(),
            ),
            Self::Struct(items) => {
                Value::Struct(items.into_iter().map(Value::into_owned).collect())
            }
        }
    }
}

/// How many bytes a [`Binary`] holds without an allocation: the longest timestamp text.
pub const INLINE_BYTES: usize = 38;

/// Bytes that are borrowed from the row, short and inline, or owned: so that formatting a
/// timestamp or a decimal costs no allocation.
#[derive(Clone)]
pub struct Binary<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Borrowed(&'a [u8]),
    Inline { len: u8, bytes: [u8; INLINE_BYTES] },
    Owned(Vec<u8>),
}

impl<'a> Binary<'a> {
    /// Borrows.
    #[must_use]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Repr::Borrowed(bytes))
    }

    /// Owns.
    #[must_use]
    pub fn owned(bytes: Vec<u8>) -> Self {
        Self(Repr::Owned(bytes))
    }

    /// Copies, inline when it is short.
    #[must_use]
    pub fn copied(bytes: &[u8]) -> Self {
        if bytes.len() > INLINE_BYTES {
            return Self(Repr::Owned(bytes.to_vec()));
        }
        let mut inline = [0; INLINE_BYTES];
        inline[..bytes.len()].copy_from_slice(bytes);
        #[allow(clippy::cast_possible_truncation)] // at most INLINE_BYTES
        Self(Repr::Inline { len: bytes.len() as u8, bytes: inline })
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Borrowed(bytes) => bytes,
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Owned(bytes) => bytes,
        }
    }

    /// The same bytes, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Binary<'static> {
        match self.0 {
            Repr::Borrowed(bytes) => Binary::copied(bytes),
            Repr::Inline { len, bytes } => Binary(Repr::Inline { len, bytes }),
            Repr::Owned(bytes) => Binary(Repr::Owned(bytes)),
        }
    }
}

impl PartialEq for Binary<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl fmt::Debug for Binary<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(formatter)
    }
}

/// UTF-8 text that is borrowed from the row, short and inline, or owned.
#[derive(Clone, PartialEq)]
pub struct Text<'a>(Binary<'a>);

impl<'a> Text<'a> {
    /// Borrows.
    #[must_use]
    pub fn borrowed(text: &'a str) -> Self {
        Self(Binary::borrowed(text.as_bytes()))
    }

    /// Owns.
    #[must_use]
    pub fn owned(text: String) -> Self {
        Self(Binary::owned(text.into_bytes()))
    }

    /// Copies, inline when it is short.
    #[must_use]
    pub fn copied(text: &str) -> Self {
        Self(Binary::copied(text.as_bytes()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Every constructor takes `str` or `String`, so this cannot fail; the check is cheap
        // beside what is done with the text, and keeps the crate free of `unsafe`.
        std::str::from_utf8(self.0.as_slice()).unwrap_or("")
    }

    /// The text's bytes, without a check.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(formatter)
    }
}
