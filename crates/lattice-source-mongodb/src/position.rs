//! Positions: Debezium's offset fields, and beside them how far a snapshot is.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{Error, Result, position::Position};
use serde_json::{Map, Value, json};

use crate::bson;

/// A range of `_id`s that one cursor reads in their order. Every `_id` is kept as a document of the
/// field `_`, so that its type survives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    /// The first one, or all before `to`.
    pub from: Option<Vec<u8>>,
    /// The first one that is no longer part of it, or all to the end.
    pub to: Option<Vec<u8>>,
    /// The last one that was read.
    pub last: Option<Vec<u8>>,
    /// All is read.
    pub done: bool,
}

/// How far a snapshot is: the ranges of each collection, by `database.collection`. A collection that is
/// not there was not begun.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotProgress(pub BTreeMap<String, Vec<Range>>);

/// Where a task resumes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offset {
    /// Cluster time of the last change: seconds << 32 | increment.
    pub time: Option<u64>,
    /// The resume token, as BSON.
    pub token: Option<Vec<u8>>,
    /// Session and number of the last change's transaction.
    pub transaction: Option<(String, i64)>,
    /// The snapshot, while it is not finished.
    pub snapshot: Option<SnapshotProgress>,
    /// Debezium had not finished its snapshot.
    pub foreign_snapshot: bool,
}

/// The partition of a position.
#[must_use]
pub fn partition(prefix: &str) -> Map<String, Value> {
    Map::from_iter([("server_id".to_owned(), Value::from(prefix))])
}

impl Offset {
    /// Reads an offset, ours or Debezium's.
    ///
    /// Errors: `Config`, saying what a position looks like.
    pub fn parse(position: &Position) -> Result<Self> {
        let offset = &position.offset;
        let number = |name: &str| match offset.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| invalid(name)),
        };
        let text = |name: &str| match offset.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| invalid(name)),
        };
        let time = match (number("sec")?, number("ord")?) {
            (Some(seconds), ord) if seconds > 0 => {
                let seconds = u32::try_from(seconds).map_err(|_| invalid("sec"))?;
                let ord = u32::try_from(ord.unwrap_or(0).max(0)).map_err(|_| invalid("ord"))?;
                Some(u64::from(seconds) << 32 | u64::from(ord))
            }
            _ => None,
        };
        let token = text("resume_token")?.map(token_of).transpose()?;
        let snapshot = text("lattice_snapshot")?.map(parse_snapshot).transpose()?;
        let initial = offset.get("initsync").is_some_and(|value| value == &json!(true));
        let foreign_snapshot = initial && snapshot.is_none();
        if time.is_none() && token.is_none() && !foreign_snapshot {
            return Err(invalid("resume_token"));
        }
        let session = text("lsid")?.map(str::to_owned);
        let transaction = session.zip(number("txnNumber")?);
        Ok(Self { time, token, transaction, snapshot, foreign_snapshot })
    }

    /// Writes an offset.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let (sec, ord) = self.time.map_or((-1, -1), |time| {
            (
                i64::try_from(time >> 32).unwrap_or(-1),
                i64::try_from(time & 0xffff_ffff).unwrap_or(-1),
            )
        });
        map.insert("sec".to_owned(), sec.into());
        map.insert("ord".to_owned(), ord.into());
        if let Some(token) = &self.token {
            map.insert("resume_token".to_owned(), STANDARD.encode(token).into());
        }
        if let Some((session, number)) = &self.transaction {
            map.insert("lsid".to_owned(), session.as_str().into());
            map.insert("txnNumber".to_owned(), (*number).into());
        }
        if let Some(snapshot) = &self.snapshot {
            map.insert("initsync".to_owned(), true.into());
            map.insert("lattice_snapshot".to_owned(), write_snapshot(snapshot).into());
        }
        map
    }
}

fn invalid(field: &str) -> Error {
    Error::config(format!("\"{field}\" of the position is missing or has a wrong form")).with_remedy(
        "a position looks like {\"partition\":{\"server_id\":\"<topic.prefix>\"},\
         \"offset\":{\"sec\":1767225600,\"ord\":1,\"resume_token\":\"<Base64 of the token as BSON>\"}}",
    )
}

/// Base64 of the token's BSON, or the bare hexadecimal text that older versions of Debezium stored.
fn token_of(text: &str) -> Result<Vec<u8>> {
    if let Some(bytes) =
        STANDARD.decode(text).ok().filter(|bytes| bson::get(bytes, "_data").is_some())
    {
        return Ok(bytes);
    }
    let legal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !legal {
        return Err(invalid("resume_token"));
    }
    let mut document = mongodb::bson::RawDocumentBuf::new();
    document.append(mongodb::bson::cstr!("_data"), text);
    Ok(document.into_bytes())
}

fn write_snapshot(snapshot: &SnapshotProgress) -> String {
    let id =
        |id: &Option<Vec<u8>>| id.as_ref().map_or(Value::Null, |id| STANDARD.encode(id).into());
    let range = |range: &Range| match range.done {
        true => Value::from("done"),
        false => json!([id(&range.from), id(&range.to), id(&range.last)]),
    };
    let mut collections = Map::new();
    for (name, ranges) in &snapshot.0 {
        let value = if ranges.iter().all(|range| range.done) {
            Value::from("done")
        } else {
            ranges.iter().map(range).collect()
        };
        collections.insert(name.clone(), value);
    }
    Value::Object(collections).to_string()
}

fn parse_snapshot(text: &str) -> Result<SnapshotProgress> {
    let bad = || invalid("lattice_snapshot");
    let value: Value = serde_json::from_str(text).map_err(|error| bad().with_source(error))?;
    let id = |value: Option<&Value>| match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            bytes.filter(|bytes| bson::get(bytes, "_").is_some()).map(Some).ok_or_else(bad)
        }
    };
    let finished = || Range { done: true, ..Range::default() };
    let range = |value: &Value| {
        if value == "done" {
            return Ok(finished());
        }
        let [from, to, last] = [0_usize, 1, 2].map(|index| id(value.get(index)));
        Ok(Range { from: from?, to: to?, last: last?, done: false })
    };
    let mut progress = BTreeMap::new();
    for (name, ranges) in value.as_object().ok_or_else(bad)? {
        let ranges = if ranges == "done" {
            vec![finished()]
        } else {
            ranges.as_array().ok_or_else(bad)?.iter().map(range).collect::<Result<_>>()?
        };
        progress.insert(name.clone(), ranges);
    }
    Ok(SnapshotProgress(progress))
}
