//! Values made of values: arrays, hstore, points, geometries, vectors.

use std::borrow::Cow;

use lattice_core::value::{Binary, Text, Value};

use super::decoder::{BadValue, Decoder, float, int, unhex, utf8};

const BAD_ARRAY: BadValue = BadValue("not an array");

/// An array's elements. Several dimensions are flattened in storage order, and lower bounds
/// other than 1 are dropped: the schema has one dimension.
pub(super) fn array<'a>(
    raw: &'a [u8],
    element: &Decoder,
    delimiter: u8,
) -> Result<Value<'a>, BadValue> {
    let mut at = 0;
    if raw.first() == Some(&b'[') {
        at = memchr::memchr(b'=', raw).ok_or(BAD_ARRAY)? + 1;
    }
    if raw.get(at) != Some(&b'{') {
        return Err(BAD_ARRAY);
    }
    let (mut items, mut depth, mut after_item) = (Vec::new(), 0_usize, false);
    while let Some(byte) = raw.get(at).copied() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1).ok_or(BAD_ARRAY)?;
                after_item = true;
                if depth == 0 {
                    at += 1;
                    break;
                }
            }
            byte if byte == delimiter && after_item => after_item = false,
            b'"' => {
                let (text, next) = quoted(raw, at + 1)?;
                items.push(decode(element, text)?);
                (at, after_item) = (next, true);
                continue;
            }
            _ => {
                let (text, next) = bare(raw, at, delimiter)?;
                let null = text.eq_ignore_ascii_case(b"NULL") && matches!(text, Cow::Borrowed(_));
                items.push(if null { Value::Null } else { decode(element, text)? });
                (at, after_item) = (next, true);
                continue;
            }
        }
        at += 1;
    }
    if depth != 0 || at != raw.len() {
        return Err(BAD_ARRAY);
    }
    Ok(Value::Array(items))
}

fn decode<'a>(element: &Decoder, text: Cow<'a, [u8]>) -> Result<Value<'a>, BadValue> {
    match text {
        Cow::Borrowed(text) => element.decode(text),
        Cow::Owned(text) => Ok(element.decode(&text)?.into_owned()),
    }
}

/// The text up to the closing quote, without its escapes, and where it goes on.
fn quoted(raw: &[u8], start: usize) -> Result<(Cow<'_, [u8]>, usize), BadValue> {
    let rest = raw.get(start..).ok_or(BAD_ARRAY)?;
    let end = memchr::memchr2(b'"', b'\\', rest).ok_or(BadValue("a quote is not closed"))?;
    if rest.get(end) == Some(&b'"') {
        return Ok((Cow::Borrowed(rest.get(..end).unwrap_or(&[])), start + end + 1));
    }
    let mut text = Vec::new();
    let mut bytes = rest.iter().copied().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok((Cow::Owned(text), start + index + 1)),
            b'\\' => text.extend(bytes.next().map(|(_, byte)| byte)),
            byte => text.push(byte),
        }
    }
    Err(BadValue("a quote is not closed"))
}

/// An element without quotes, and where the array goes on.
fn bare(raw: &[u8], start: usize, delimiter: u8) -> Result<(Cow<'_, [u8]>, usize), BadValue> {
    let rest = raw.get(start..).ok_or(BAD_ARRAY)?;
    let end = rest
        .iter()
        .position(|byte| *byte == delimiter || *byte == b'}')
        .filter(|end| *end > 0)
        .ok_or(BAD_ARRAY)?;
    Ok((Cow::Borrowed(rest.get(..end).unwrap_or(&[])), start + end))
}

/// `"a"=>"1", "b"=>NULL` as JSON text, or as a map.
pub(super) fn hstore(raw: &[u8], as_map: bool) -> Result<Value<'static>, BadValue> {
    const BAD: BadValue = BadValue("not an hstore");
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        match raw.get(at) {
            Some(b' ' | b',') => {
                at += 1;
                continue;
            }
            Some(b'"') => {}
            _ => return Err(BAD),
        }
        let (key, next) = quoted(raw, at + 1)?;
        let key = utf8(&key)?.to_owned();
        if raw.get(next..next + 2) != Some(b"=>") {
            return Err(BAD);
        }
        let (value, next) = match raw.get(next + 2) {
            Some(b'"') => {
                let (value, next) = quoted(raw, next + 3)?;
                (Some(utf8(&value)?.to_owned()), next)
            }
            _ if raw.get(next + 2..next + 6) == Some(b"NULL") => (None, next + 6),
            _ => return Err(BAD),
        };
        pairs.push((key, value));
        at = next;
    }
    if as_map {
        let text = |text: String| Value::Text(Text::owned(text));
        let pairs =
            pairs.into_iter().map(|(key, value)| (text(key), value.map_or(Value::Null, text)));
        return Ok(Value::Map(pairs.collect()));
    }
    let object: serde_json::Map<String, serde_json::Value> =
        pairs.into_iter().map(|(key, value)| (key, value.into())).collect();
    Ok(Value::Text(Text::owned(serde_json::Value::Object(object).to_string())))
}

/// `(x,y)` as x, y, well-known binary and no reference system.
pub(super) fn point(raw: &[u8]) -> Result<Value<'static>, BadValue> {
    const BAD: BadValue = BadValue("not a point");
    let inner = raw.strip_prefix(b"(").and_then(|raw| raw.strip_suffix(b")")).ok_or(BAD)?;
    let (x, y) = utf8(inner)?.split_once(',').ok_or(BAD)?;
    let (x, y): (f64, f64) = (float(x.as_bytes())?, float(y.as_bytes())?);
    let mut wkb = [0; 21];
    // Little-endian, a point.
    wkb[0] = 1;
    wkb[1] = 1;
    wkb[5..13].copy_from_slice(&x.to_le_bytes());
    wkb[13..21].copy_from_slice(&y.to_le_bytes());
    let wkb = Value::Bytes(Binary::copied(&wkb));
    Ok(Value::Struct(vec![Value::Float64(x), Value::Float64(y), wkb, Value::Null]))
}

/// Extended well-known binary in hex, as it is, with the reference system that stands in it.
pub(super) fn geometry(raw: &[u8]) -> Result<Value<'static>, BadValue> {
    let wkb = unhex(raw)?;
    let number = |at: usize| -> Option<u32> {
        let bytes: [u8; 4] = wkb.get(at..at + 4)?.try_into().ok()?;
        let little = wkb.first() == Some(&1);
        Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    const HAS_SRID: u32 = 0x2000_0000;
    let srid = number(1).filter(|kind| kind & HAS_SRID != 0).and_then(|_| number(5));
    let srid = srid.map_or(Value::Null, |srid| Value::Int(i64::from(srid)));
    Ok(Value::Struct(vec![Value::Bytes(Binary::owned(wkb)), srid]))
}

/// `[1,2,3]`
pub(super) fn vector(raw: &[u8], half: bool) -> Result<Value<'static>, BadValue> {
    const BAD: BadValue = BadValue("not a vector");
    let inner = raw.strip_prefix(b"[").and_then(|raw| raw.strip_suffix(b"]")).ok_or(BAD)?;
    let items = inner.split(|byte| *byte == b',').filter(|item| !item.is_empty());
    let number = |item: &[u8]| {
        Ok(if half { Value::Float32(float(item)?) } else { Value::Float64(float(item)?) })
    };
    Ok(Value::Array(items.map(number).collect::<Result<_, BadValue>>()?))
}

/// `{1:1.5,3:3.5}/5`
pub(super) fn sparse_vector(raw: &[u8]) -> Result<Value<'static>, BadValue> {
    const BAD: BadValue = BadValue("not a sparse vector");
    let slash = memchr::memrchr(b'/', raw).ok_or(BAD)?;
    let (items, dimensions) =
        (raw.get(..slash).unwrap_or(&[]), raw.get(slash + 1..).unwrap_or(&[]));
    let dimensions = int(dimensions)?;
    if dimensions > i64::from(i16::MAX) {
        return Err(BadValue("a sparse vector of more than 32767 dimensions"));
    }
    let items = items.strip_prefix(b"{").and_then(|raw| raw.strip_suffix(b"}")).ok_or(BAD)?;
    let mut pairs = Vec::new();
    for item in items.split(|byte| *byte == b',').filter(|item| !item.is_empty()) {
        let colon = memchr::memchr(b':', item).ok_or(BAD)?;
        let (index, value) =
            (item.get(..colon).unwrap_or(&[]), item.get(colon + 1..).unwrap_or(&[]));
        pairs.push((Value::Int(int(index)?), Value::Float64(float(value)?)));
    }
    Ok(Value::Struct(vec![Value::Int(dimensions), Value::Map(pairs)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(raw: &str) -> Vec<Option<String>> {
        let Value::Array(items) = array(raw.as_bytes(), &Decoder::Text, b',').unwrap() else {
            panic!("not an array");
        };
        let text = |item| match item {
            Value::Null => None,
            Value::Text(text) => Some(Text::as_str(&text).to_owned()),
            other => panic!("not a text: {other:?}"),
        };
        items.into_iter().map(text).collect()
    }

    #[test]
    fn the_word_null_and_null_stay_apart_and_escapes_are_undone() {
        let found = texts(r#"{"a,b","NULL",NULL,"","q\"\\","{x}"}"#);
        let expected = [Some("a,b"), Some("NULL"), None, Some(""), Some("q\"\\"), Some("{x}")];
        assert_eq!(found, expected.map(|text| text.map(str::to_owned)));
        assert_eq!(texts("{}"), Vec::<Option<String>>::new());
    }

    #[test]
    fn dimensions_are_flattened_and_bounds_dropped_but_no_element_is_lost() {
        let ints = |raw: &'static [u8]| array(raw, &Decoder::Int, b',').unwrap();
        let expected =
            |numbers: &[i64]| Value::Array(numbers.iter().copied().map(Value::Int).collect());
        assert_eq!(ints(b"{{1,2},{3,4}}"), expected(&[1, 2, 3, 4]));
        assert_eq!(ints(b"[0:1]={7,8}"), expected(&[7, 8]));
        assert!(array(b"{1,2", &Decoder::Int, b',').is_err());
        assert!(array(b"{1}}", &Decoder::Int, b',').is_err());
    }

    #[test]
    fn hstore_as_json_and_as_map() {
        let raw = br#""k"=>"v\"", "n"=>NULL"#;
        assert_eq!(hstore(raw, false).unwrap(), Value::text(r#"{"k":"v\"","n":null}"#));
        let pairs = vec![(Value::text("k"), Value::text("v\"")), (Value::text("n"), Value::Null)];
        assert_eq!(hstore(raw, true).unwrap(), Value::Map(pairs));
    }
}
