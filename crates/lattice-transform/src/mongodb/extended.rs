//! Extended JSON, version 1 as in documents and version 2 as in keys: which type a value has, and the
//! value. Source: Debezium's `MongoDataConverter`.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{
    calendar,
    error::{Error, Result},
};
use serde_json::{Map, Value as Json};

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bson<'j> {
    /// NULL and what Debezium leaves out: it says nothing of a type.
    Null,
    Bool(bool),
    Int32(i64),
    Int64(i64),
    Double(f64),
    /// Texts, and what Debezium makes texts of: ObjectIds, Decimal128, JavaScript, symbols.
    Text(Cow<'j, str>),
    Bytes(Vec<u8>),
    /// Units: ms since the Unix epoch.
    Moment(i64),
    /// Pattern and options.
    Regex(&'j str, &'j str),
    Array(&'j [Json]),
    Document(&'j Map<String, Json>),
}

/// Reads a document or key as the Java driver writes it.
///
/// Errors: `Data` for what is no JSON.
pub(super) fn parse(text: &str) -> Result<Json> {
    let quoted = quoted(text);
    serde_json::from_str(&quoted).map_err(|error| {
        Error::data("the document is not Extended JSON")
            .with_remedy("ExtractNewDocumentState treats the records of MongoDB's connector only")
            .with_source(error)
    })
}

/// The driver writes doubles that JSON has no words for bare.
fn quoted(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 32);
    let (mut rest, mut inside) = (text, false);
    while let Some(letter) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| rest.starts_with(word));
        let taken = match word {
            Some(word) if !inside => {
                out.push_str("{\"$numberDouble\":\"");
                out.push_str(word);
                out.push_str("\"}");
                word.len()
            }
            _ => {
                let escaped =
                    if letter == '\\' { rest.chars().nth(1).map_or(0, char::len_utf8) } else { 0 };
                inside ^= letter == '"';
                let taken = letter.len_utf8() + escaped;
                out.push_str(rest.get(..taken).unwrap_or_default());
                taken
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// What a value is.
///
/// Errors: `Data` for a type's wrapper whose content is not of that type.
pub(super) fn read(json: &Json) -> Result<Bson<'_>> {
    Ok(match json {
        Json::Null => Bson::Null,
        Json::Bool(value) => Bson::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) if i32::try_from(whole).is_ok() => Bson::Int32(whole),
            Some(whole) => Bson::Int64(whole),
            None => Bson::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Bson::Text(Cow::Borrowed(text)),
        Json::Array(items) => Bson::Array(items),
        Json::Object(members) => match members.iter().next() {
            Some((name, value)) if name.starts_with('$') => wrapped(name, value, members)
                .unwrap_or_else(|| {
                    Err(Error::data(format!("\"{name}\" with {value} is no value of its type")))
                })?,
            _ => Bson::Document(members),
        },
    })
}

/// `None`: the content is not of the type.
fn wrapped<'j>(
    name: &str,
    value: &'j Json,
    members: &'j Map<String, Json>,
) -> Option<Result<Bson<'j>>> {
    let text = || value.as_str();
    let number = || text()?.parse::<i64>().ok();
    Some(Ok(match name {
        "$oid" | "$numberDecimal" | "$symbol" => Bson::Text(text()?.into()),
        "$code" if members.len() == 1 => Bson::Text(text()?.into()),
        "$numberInt" => Bson::Int32(number()?),
        "$numberLong" => Bson::Int64(number()?),
        "$numberDouble" => Bson::Double(match text()? {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            other => other.parse().ok()?,
        }),
        "$date" => Bson::Moment(match value {
            Json::Number(ms) => ms.as_i64()?,
            Json::String(text) => calendar::parse(text.as_bytes())?.div_euclid(1000),
            Json::Object(inner) => inner.get("$numberLong")?.as_str()?.parse().ok()?,
            _ => return None,
        }),
        "$timestamp" => Bson::Moment(value.get("t")?.as_i64()?.saturating_mul(1000)),
        "$binary" => {
            let text = text().or_else(|| value.get("base64")?.as_str())?;
            Bson::Bytes(STANDARD.decode(text).ok()?)
        }
        "$regex" => Bson::Regex(text()?, members.get("$options")?.as_str()?),
        "$regularExpression" => {
            Bson::Regex(value.get("pattern")?.as_str()?, value.get("options")?.as_str()?)
        }
        "$minKey" => Bson::Text("MinKey".into()),
        "$maxKey" => Bson::Text("MaxKey".into()),
        "$undefined" => Bson::Null,
        _ => Bson::Document(members),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_both_versions_is_known() {
        let cases: [(&str, Bson<'_>); 19] = [
            ("1", Bson::Int32(1)),
            ("3000000000", Bson::Int64(3_000_000_000)),
            ("{\"$numberLong\": \"5\"}", Bson::Int64(5)),
            ("1.0", Bson::Double(1.0)),
            ("1.0E+20", Bson::Double(1e20)),
            ("-Infinity", Bson::Double(f64::NEG_INFINITY)),
            ("\"NaN \\\" NaN\"", Bson::Text("NaN \" NaN".into())),
            (
                "{\"$oid\": \"596e275826f08b2730779e1f\"}",
                Bson::Text("596e275826f08b2730779e1f".into()),
            ),
            ("{\"$numberDecimal\": \"1.50\"}", Bson::Text("1.50".into())),
            ("{\"$date\": -1}", Bson::Moment(-1)),
            ("{\"$date\": \"2020-01-01T00:00:00.5Z\"}", Bson::Moment(1_577_836_800_500)),
            ("{\"$date\": {\"$numberLong\": \"7\"}}", Bson::Moment(7)),
            ("{\"$binary\": \"AQI=\",\"$type\": \"04\"}", Bson::Bytes(vec![1, 2])),
            ("{\"$binary\": {\"base64\": \"AQI=\",\"subType\": \"04\"}}", Bson::Bytes(vec![1, 2])),
            ("{\"$timestamp\": {\"t\": 2,\"i\": 9}}", Bson::Moment(2000)),
            ("{\"$regex\": \"a\",\"$options\": \"i\"}", Bson::Regex("a", "i")),
            ("{\"$undefined\": true}", Bson::Null),
            ("{\"$minKey\": 1}", Bson::Text("MinKey".into())),
            ("true", Bson::Bool(true)),
        ];
        for (text, expected) in cases {
            let json = parse(text).expect("is JSON");
            assert_eq!(read(&json).expect("is a value"), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        for text in
            ["{", "{\"$date\": []}", "{\"$numberLong\": \"x\"}", "{\"$binary\": 1}", "NaNa\\"]
        {
            let told = parse(text).and_then(|json| read(&json).map(drop));
            assert!(told.is_err(), "{text}");
        }
    }
}
