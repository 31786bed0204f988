//! Extended JSON straight from BSON's bytes, byte for byte as the Java driver writes it.
//! Source: `org.bson.json` of the Java driver, as Debezium calls it.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    Damage, Raw, c_string, elements,
    escape::quoted,
    kind, length,
    number::{decimal128, double, iso_date},
    string,
};
use crate::fields::{Below, Fate};

/// Deeper documents are refused; MongoDB itself stores at most 100 levels.
const DEEPEST: usize = 200;

/// Which Extended JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Version 1, strict.
    Strict,
    /// Version 2, canonical.
    Canonical,
    /// Version 2, relaxed.
    Relaxed,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Which Extended JSON.
    pub mode: Mode,
    /// A space after commas (the writer without indentation) or none (with an empty indentation).
    pub spaced: bool,
}

/// Writes a document, with `fields` for what is left out or renamed.
///
/// Errors: bytes that are no BSON; `out` is then unspecified.
pub fn document(
    bytes: &[u8],
    style: Style,
    fields: &Below<'_>,
    out: &mut String,
) -> Result<(), Damage> {
    Writer { style, out }.document(bytes, fields, 0)
}

/// Writes one value.
///
/// Errors: as [`document`].
pub fn value(
    raw: Raw<'_>,
    style: Style,
    fields: &Below<'_>,
    out: &mut String,
) -> Result<(), Damage> {
    Writer { style, out }.value(raw, fields, 0)
}

/// Writes a name in quotes.
pub(crate) fn name(text: &[u8], out: &mut String) {
    quoted(text, out);
}

struct Writer<'o> {
    style: Style,
    out: &'o mut String,
}

impl Writer<'_> {
    fn comma(&mut self) {
        self.out.push_str(if self.style.spaced { ", " } else { "," });
    }

    fn name(&mut self, text: &[u8]) {
        quoted(text, self.out);
        self.out.push_str(": ");
    }

    fn document(&mut self, bytes: &[u8], fields: &Below<'_>, depth: usize) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage("documents nested too deep"));
        }
        self.out.push('{');
        let mut first = true;
        for element in elements(bytes)? {
            let element = element?;
            let (fate, inside) = if fields.is_empty() {
                (Fate::Kept, Below::default())
            } else {
                fields.enter(element.name)
            };
            let name = match fate {
                Fate::Kept => element.name,
                Fate::Renamed(name) => name.as_bytes(),
                Fate::Removed => continue,
            };
            if !std::mem::take(&mut first) {
                self.comma();
            }
            self.name(name);
            self.value(element.value, &inside, depth + 1)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn array(&mut self, bytes: &[u8], fields: &Below<'_>, depth: usize) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage("documents nested too deep"));
        }
        self.out.push('[');
        for (index, element) in elements(bytes)?.enumerate() {
            if index > 0 {
                self.comma();
            }
            // Paths go through arrays as if they were not there.
            self.value(element?.value, fields, depth + 1)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// `{"$name": ` … `}` around what `inner` writes.
    fn wrapped(&mut self, name: &str, inner: impl FnOnce(&mut String)) {
        self.out.push_str("{\"");
        self.out.push_str(name);
        self.out.push_str("\": ");
        inner(self.out);
        self.out.push('}');
    }

    fn value(&mut self, raw: Raw<'_>, fields: &Below<'_>, depth: usize) -> Result<(), Damage> {
        let canonical = self.style.mode == Mode::Canonical;
        match raw.kind {
            kind::DOUBLE => self.double(f64::from_le_bytes(raw.fixed()?)),
            kind::STRING => quoted(raw.text_bytes()?, self.out),
            kind::DOCUMENT => self.document(raw.bytes, fields, depth)?,
            kind::ARRAY => self.array(raw.bytes, fields, depth)?,
            kind::BINARY => self.binary(raw.bytes)?,
            kind::UNDEFINED => self.out.push_str("{\"$undefined\": true}"),
            kind::OBJECT_ID => self.wrapped("$oid", |out| hex(raw.bytes, out)),
            kind::BOOLEAN => {
                let [byte] = raw.fixed()?;
                self.out.push_str(if byte == 0 { "false" } else { "true" });
            }
            kind::DATE => self.date(i64::from_le_bytes(raw.fixed()?)),
            kind::NULL => self.out.push_str("null"),
            kind::REGEX => self.regex(raw.bytes)?,
            kind::DB_POINTER => self.pointer(raw.bytes)?,
            kind::CODE => {
                let text = raw.text_bytes()?;
                self.wrapped("$code", |out| quoted(text, out));
            }
            kind::SYMBOL => {
                let text = raw.text_bytes()?;
                self.wrapped("$symbol", |out| quoted(text, out));
            }
            kind::CODE_WITH_SCOPE => self.scoped(raw.bytes, depth)?,
            kind::INT32 => {
                let number = i32::from_le_bytes(raw.fixed()?);
                self.number(canonical.then_some("$numberInt"), number.into());
            }
            kind::TIMESTAMP => self.timestamp(u64::from_le_bytes(raw.fixed()?)),
            kind::INT64 => {
                let wrapped = (self.style.mode != Mode::Relaxed).then_some("$numberLong");
                self.number(wrapped, i64::from_le_bytes(raw.fixed()?));
            }
            kind::DECIMAL128 => {
                let text = decimal128(raw.fixed()?);
                self.wrapped("$numberDecimal", |out| quoted(text.as_bytes(), out));
            }
            kind::MIN_KEY => self.out.push_str("{\"$minKey\": 1}"),
            kind::MAX_KEY => self.out.push_str("{\"$maxKey\": 1}"),
            _ => return Err(Damage("an unknown type")),
        }
        Ok(())
    }

    fn number(&mut self, wrapper: Option<&str>, number: i64) {
        // Writing to a string cannot fail.
        match wrapper {
            Some(name) => self.wrapped(name, |out| {
                let _ = write!(out, "\"{number}\"");
            }),
            None => {
                let _ = write!(self.out, "{number}");
            }
        }
    }

    fn double(&mut self, number: f64) {
        let text = |out: &mut String| {
            if number.is_nan() {
                out.push_str("NaN");
            } else if number.is_infinite() {
                out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
            } else {
                double(number, out);
            }
        };
        let plain = match self.style.mode {
            Mode::Strict => true,
            Mode::Canonical => false,
            Mode::Relaxed => number.is_finite(),
        };
        if plain {
            return text(self.out);
        }
        self.wrapped("$numberDouble", |out| {
            out.push('"');
            text(out);
            out.push('"');
        });
    }

    fn date(&mut self, ms: i64) {
        // Writing to a string cannot fail.
        match self.style.mode {
            Mode::Strict => self.wrapped("$date", |out| {
                let _ = write!(out, "{ms}");
            }),
            Mode::Relaxed => {
                let mut text = String::new();
                if iso_date(ms, &mut text).is_some() {
                    self.wrapped("$date", |out| quoted(text.as_bytes(), out));
                } else {
                    self.canonical_date(ms);
                }
            }
            Mode::Canonical => self.canonical_date(ms),
        }
    }

    fn canonical_date(&mut self, ms: i64) {
        self.wrapped("$date", |out| {
            let _ = write!(out, "{{\"$numberLong\": \"{ms}\"}}");
        });
    }

    fn binary(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (subtype, data) =
            bytes.get(4..).and_then(<[u8]>::split_first).ok_or(Damage("binary that is cut off"))?;
        // The old binary has its length a second time.
        let data = match (*subtype, data.get(4..)) {
            (2, Some(inner)) if length(data)? == inner.len() => inner,
            _ => data,
        };
        let text = STANDARD.encode(data);
        let comma = if self.style.spaced { ", " } else { "," };
        let _ = if self.style.mode == Mode::Strict {
            write!(self.out, "{{\"$binary\": \"{text}\"{comma}\"$type\": \"{subtype:02X}\"}}")
        } else {
            let out = &mut *self.out;
            write!(
                out,
                "{{\"$binary\": {{\"base64\": \"{text}\"{comma}\"subType\": \"{subtype:02X}\"}}}}"
            )
        };
        Ok(())
    }

    fn regex(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (pattern, rest) = c_string(bytes)?;
        let (options, _) = c_string(rest)?;
        let strict = self.style.mode == Mode::Strict;
        self.out.push_str(if strict {
            "{\"$regex\": "
        } else {
            "{\"$regularExpression\": {\"pattern\": "
        });
        quoted(pattern, self.out);
        self.comma();
        self.name(if strict { b"$options" } else { b"options" });
        quoted(options, self.out);
        self.out.push_str(if strict { "}" } else { "}}" });
        Ok(())
    }

    fn pointer(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (namespace, id) = string(bytes)?;
        let canonical = self.style.mode == Mode::Canonical;
        self.out.push_str(if canonical { "{\"$dbPointer\": {\"$ref\": " } else { "{\"$ref\": " });
        quoted(namespace, self.out);
        self.comma();
        self.name(b"$id");
        self.wrapped("$oid", |out| hex(id, out));
        self.out.push_str(if canonical { "}}" } else { "}" });
        Ok(())
    }

    fn scoped(&mut self, bytes: &[u8], depth: usize) -> Result<(), Damage> {
        let body = bytes.get(4..).ok_or(Damage("code that is cut off"))?;
        let (code, scope) = string(body)?;
        self.out.push_str("{\"$code\": ");
        quoted(code, self.out);
        self.comma();
        self.name(b"$scope");
        self.document(scope, &Below::default(), depth + 1)?;
        self.out.push('}');
        Ok(())
    }

    fn timestamp(&mut self, bits: u64) {
        let (seconds, increment) = (bits >> 32, bits & 0xffff_ffff);
        let comma = if self.style.spaced { ", " } else { "," };
        let _ =
            write!(self.out, "{{\"$timestamp\": {{\"t\": {seconds}{comma}\"i\": {increment}}}}}");
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push('"');
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('"');
}
