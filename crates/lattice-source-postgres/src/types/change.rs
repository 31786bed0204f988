//! Values that are not written as they are: cut, masked or hashed. Source: Debezium's `TruncateStrings`, `MaskStrings`.

use std::sync::Arc;

use lattice_core::value::{Binary, Text, Value};
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// What is done to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// At most so many characters (of Java: UTF-16) or bytes stay.
    Cut(usize),
    /// So many stars in its place, also in NULL's.
    Stars(usize),
    /// Its hash in its place.
    Hash {
        /// Which.
        algorithm: Algorithm,
        /// What is hashed before it.
        salt: Arc<str>,
        /// Whether the text is hashed as Java serializes it.
        java: bool,
    },
}

/// A hash, by Java's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// MD5
    Md5,
    /// SHA-224
    Sha224,
    /// SHA-256
    Sha256,
    /// SHA-384
    Sha384,
    /// SHA-512
    Sha512,
}

impl Algorithm {
    /// By Java's name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.to_ascii_uppercase().as_str() {
            "MD5" => Self::Md5,
            "SHA-224" | "SHA224" => Self::Sha224,
            "SHA-256" | "SHA256" => Self::Sha256,
            "SHA-384" | "SHA384" => Self::Sha384,
            "SHA-512" | "SHA512" => Self::Sha512,
            _ => return None,
        })
    }

    fn hex(self, bytes: &[u8]) -> String {
        fn text(bytes: &[u8]) -> String {
            bytes.iter().fold(String::new(), |mut text, byte| {
                for half in [byte >> 4, byte & 15] {
                    text.push(char::from_digit(half.into(), 16).unwrap_or('0'));
                }
                text
            })
        }
        match self {
            Self::Md5 => text(&Md5::digest(bytes)),
            Self::Sha224 => text(&Sha224::digest(bytes)),
            Self::Sha256 => text(&Sha256::digest(bytes)),
            Self::Sha384 => text(&Sha384::digest(bytes)),
            Self::Sha512 => text(&Sha512::digest(bytes)),
        }
    }
}

/// A change of one column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnChange {
    /// What is done.
    pub change: Change,
    /// The length that the column declares: hashes are cut to it.
    pub length: Option<usize>,
}

impl ColumnChange {
    /// The value that is written. What the database did not send stays so: a mask of a placeholder would be taken for a
    /// mask of the value.
    #[must_use]
    pub fn apply<'a>(&self, value: Value<'a>) -> Value<'a> {
        match (&self.change, value) {
            (_, value @ (Value::Missing | Value::Unchanged)) => value,
            (Change::Stars(count), _) => Value::Text(Text::owned("*".repeat(*count))),
            (Change::Cut(count), Value::Text(text)) => cut(text, *count),
            (Change::Cut(count), Value::Bytes(bytes)) => {
                let kept = bytes.as_slice().get(..*count).map(Binary::copied);
                Value::Bytes(kept.unwrap_or(bytes))
            }
            (Change::Hash { algorithm, salt, java }, Value::Text(text)) => {
                let mut bytes = salt.as_bytes().to_vec();
                if *java {
                    serialize(text.as_str(), &mut bytes);
                } else {
                    bytes.extend_from_slice(text.as_bytes());
                }
                let mut hex = algorithm.hex(&bytes);
                hex.truncate(self.length.unwrap_or(usize::MAX));
                Value::Text(Text::owned(hex))
            }
            (_, value) => value,
        }
    }
}

fn cut(text: Text<'_>, count: usize) -> Value<'_> {
    let (mut units, mut end) = (0, 0);
    for char in text.as_str().chars() {
        units += char.len_utf16();
        if units > count {
            return Value::Text(Text::copied(text.as_str().get(..end).unwrap_or_default()));
        }
        end += char.len_utf8();
    }
    Value::Text(text)
}

/// A `String` as `ObjectOutputStream` writes it.
fn serialize(text: &str, out: &mut Vec<u8>) {
    let mut modified = Vec::with_capacity(text.len());
    for unit in text.encode_utf16() {
        // UTF-8 of each UTF-16 unit by itself, and two bytes for zero.
        let low = |shift: u16| u8::try_from(unit >> shift & 0x3f).unwrap_or(0) | 0x80;
        match unit {
            1..=0x7f => modified.push(u8::try_from(unit).unwrap_or(0)),
            0 | 0x80..=0x7ff => {
                modified.extend([u8::try_from(unit >> 6).unwrap_or(0) | 0xc0, low(0)]);
            }
            _ => modified.extend([u8::try_from(unit >> 12).unwrap_or(0) | 0xe0, low(6), low(0)]),
        }
    }
    out.extend([0xac, 0xed, 0x00, 0x05]);
    match u16::try_from(modified.len()) {
        Ok(len) => {
            out.push(b't');
            out.extend(len.to_be_bytes());
        }
        Err(_) => {
            out.push(b'|');
            out.extend((modified.len() as u64).to_be_bytes());
        }
    }
    out.extend(modified);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(change: Change, value: Value<'static>) -> Value<'static> {
        ColumnChange { change, length: None }.apply(value)
    }

    #[test]
    fn texts_and_bytes_are_cut_and_stars_take_nulls_place() {
        assert_eq!(applied(Change::Cut(3), Value::text("Zürich")), Value::text("Zür"));
        assert_eq!(applied(Change::Cut(3), Value::text("a😀b")), Value::text("a😀"));
        assert_eq!(applied(Change::Cut(2), Value::text("a😀b")), Value::text("a"));
        assert_eq!(applied(Change::Cut(9), Value::text("abc")), Value::text("abc"));
        assert_eq!(applied(Change::Cut(1), Value::bytes(&[1, 2])), Value::bytes(&[1]));
        assert_eq!(applied(Change::Stars(2), Value::Null), Value::text("**"));
        assert_eq!(applied(Change::Stars(0), Value::text("x")), Value::text(""));
    }

    #[test]
    fn what_was_not_sent_stays_so() {
        assert_eq!(applied(Change::Stars(2), Value::Unchanged), Value::Unchanged);
        assert_eq!(applied(Change::Stars(2), Value::Missing), Value::Missing);
    }

    #[test]
    fn java_s_form_of_a_text() {
        let mut out = Vec::new();
        serialize("a\0é😀", &mut out);
        let text = [b'a', 0xc0, 0x80, 0xc3, 0xa9, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80];
        assert_eq!(out[..7], [0xac, 0xed, 0, 5, b't', 0, 11]);
        assert_eq!(out[7..], text);
    }
}
