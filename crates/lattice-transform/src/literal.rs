//! A header's value told by the form of its text, as Kafka Connect's `Values.parseString` does.

use std::sync::Arc;

use lattice_core::{
    schema::{Schema, Type},
    value::{Binary, Value},
};

use crate::{
    date_format::DateFormat,
    numbers::decimal_of,
    record::Datum,
    schemas::{DATE, DECIMAL, TIME, TIMESTAMP, logical},
};

/// One day. Units: ms.
const DAY: i64 = 86_400_000;

/// What a text means.
pub(crate) fn parse(text: &str) -> Datum {
    let plain = || Datum::text(text);
    let token = text.trim();
    match token {
        "null" => Datum::default(),
        "true" | "false" => Datum::new(Schema::new(Type::Boolean), Value::Bool(token == "true")),
        _ if token.starts_with(['[', '{']) => match Lists(token).whole() {
            Some(datum) => datum,
            None => plain(),
        },
        _ => number(token).or_else(|| time(token)).unwrap_or_else(plain),
    }
}

fn number(token: &str) -> Option<Datum> {
    let (bytes, scale) = decimal_of(token)?;
    let float: f64 = token.parse().ok()?;
    // A whole number, however it is written.
    let whole: Option<i64> = match scale {
        0 => token.strip_prefix('+').unwrap_or(token).parse().ok(),
        #[allow(clippy::cast_possible_truncation)] // checked by the comparison
        _ if float.fract() == 0.0 && float.abs() < 9e15 => Some(float as i64),
        _ => None,
    };
    if let Some(whole) = whole {
        let kind = match whole {
            _ if i8::try_from(whole).is_ok() => Type::Int8,
            _ if i16::try_from(whole).is_ok() => Type::Int16,
            _ if i32::try_from(whole).is_ok() => Type::Int32,
            _ => Type::Int64,
        };
        return Some(Datum::new(Schema::new(kind), Value::Int(whole)));
    }
    #[allow(clippy::cast_possible_truncation)] // what does not fit is infinite
    let single = float as f32;
    if scale != 0 && single.is_finite() {
        return Some(Datum::new(Schema::new(Type::Float32), Value::Float32(single)));
    }
    if scale != 0 && float.is_finite() {
        return Some(Datum::new(Schema::new(Type::Float64), Value::Float64(float)));
    }
    let schema = Schema::new(Type::Bytes).named(DECIMAL, 1).parameter("scale", &scale.to_string());
    Some(Datum::new(schema, Value::Bytes(Binary::owned(bytes))))
}

fn time(token: &str) -> Option<Datum> {
    for (len, pattern, name) in [
        (10, "yyyy-MM-dd", DATE),
        (13, "HH:mm:ss.SSS'Z'", TIME),
        (24, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", TIMESTAMP),
    ] {
        let format = DateFormat::compile(pattern).ok()?;
        let ms = match token.len() == len {
            true => format.parse(token).filter(|ms| format.format(*ms) == token),
            false => None,
        };
        if let Some(ms) = ms {
            let value = if name == DATE { ms / DAY } else { ms };
            return Some(Datum { schema: Some(logical(name, false)), value: Value::Int(value) });
        }
    }
    None
}

/// A text of lists and maps that is not read yet.
struct Lists<'t>(&'t str);

impl<'t> Lists<'t> {
    fn whole(mut self) -> Option<Datum> {
        let datum = self.item()?;
        self.0.trim().is_empty().then_some(datum)
    }

    fn take(&mut self, char: char) -> bool {
        match self.0.trim_start().strip_prefix(char) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn item(&mut self) -> Option<Datum> {
        if self.take('[') {
            return self.list();
        }
        if self.take('{') {
            return self.map();
        }
        if self.take('"') {
            let end = self.0.find('"')?;
            let text = Datum::text(&self.0[..end]);
            self.0 = &self.0[end + 1..];
            return Some(text);
        }
        let rest = self.0.trim_start();
        let end = rest.find([',', ']', '}', ':']).unwrap_or(rest.len());
        let (token, rest) = rest.split_at(end);
        self.0 = rest;
        (!token.trim().is_empty()).then(|| parse(token.trim()))
    }

    fn list(&mut self) -> Option<Datum> {
        let mut items = Vec::new();
        while !self.take(']') {
            items.push(self.item()?);
            if !self.take(',') && !self.0.trim_start().starts_with(']') {
                return None;
            }
        }
        let element = common(items.iter())?;
        let values = items.into_iter().map(|item| item.value).collect();
        Some(Datum::new(Schema::array(element), Value::Array(values)))
    }

    fn map(&mut self) -> Option<Datum> {
        let mut items = Vec::new();
        while !self.take('}') {
            let name = self.item()?;
            if !self.take(':') {
                return None;
            }
            items.push((name, self.item()?));
            if !self.take(',') && !self.0.trim_start().starts_with('}') {
                return None;
            }
        }
        let key = common(items.iter().map(|(name, _)| name))?;
        let element = common(items.iter().map(|(_, item)| item))?;
        let values = items.into_iter().map(|(name, item)| (name.value, item.value)).collect();
        Some(Datum::new(Schema::map(key, element), Value::Map(values)))
    }
}

/// The widest of the items' types; `None`: they have none in common.
fn common<'d>(items: impl Iterator<Item = &'d Datum>) -> Option<Arc<Schema>> {
    let mut widest: Option<Arc<Schema>> = None;
    for schema in items.filter_map(|item| item.schema.as_ref()) {
        widest = match widest {
            None => Some(Arc::clone(schema)),
            Some(known) if known.kind == schema.kind && known.name == schema.name => Some(known),
            Some(known) => {
                let (old, new) = (width(known.kind)?, width(schema.kind)?);
                Some(if new > old { Arc::clone(schema) } else { known })
            }
        };
    }
    Some(widest.unwrap_or_else(|| Arc::new(Schema::new(Type::String).optional())))
}

fn width(kind: Type) -> Option<u8> {
    Some(match kind {
        Type::Int8 => 1,
        Type::Int16 => 2,
        Type::Int32 => 3,
        Type::Int64 => 4,
        _ => return None,
    })
}
