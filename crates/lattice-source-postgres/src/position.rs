//! Positions: Debezium's offset fields, and beside them what makes them exact: the row's number
//! in its transaction, and which server it was.

use std::collections::BTreeMap;

use lattice_core::{Error, Result, position::Position};
use serde_json::{Map, Value, json};

use crate::incremental::IncrementalProgress;

/// How far a table's snapshot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitProgress {
    /// The table's file when its chunks were cut; a rewritten table begins anew.
    pub file: u64,
    /// Pages in a chunk.
    pub pages: u64,
    /// How many chunks; the last one has no end.
    pub chunks: u32,
    /// Which are done.
    pub done: Vec<u32>,
}

/// How far a snapshot is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotProgress {
    /// What its rows carry as version: no change of the stream has a smaller LSN.
    pub version_lsn: u64,
    /// The oldest transaction that the first reader may not have seen in full.
    pub xmin: u64,
    /// The tables' parts, by their quoted name.
    pub units: BTreeMap<String, UnitProgress>,
}

/// Where a task resumes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offset {
    /// The last message's LSN.
    pub lsn: Option<u64>,
    /// All transactions that were committed before it are done: where streaming starts.
    pub commit_lsn: Option<u64>,
    /// A transaction that is done in part: the LSN of its commit record, and how many of its
    /// messages are done.
    pub partial: Option<(u64, u64)>,
    /// Non-transactional messages up to here are done.
    pub message_lsn: Option<u64>,
    /// The transaction.
    pub tx_id: Option<u32>,
    /// Its commit time. Units: µs since the Unix epoch.
    pub ts_us: Option<i64>,
    /// Debezium's word for the last message.
    pub message_type: Option<&'static str>,
    /// The server's system identifier.
    pub system_id: Option<String>,
    /// The server's timeline.
    pub timeline: Option<u32>,
    /// The snapshot, while it is not finished.
    pub snapshot: Option<SnapshotProgress>,
    /// The incremental snapshot, while it is not finished.
    pub incremental: Option<IncrementalProgress>,
    /// Debezium had not finished its snapshot.
    pub foreign_snapshot: bool,
}

/// The partition of a position.
#[must_use]
pub fn partition(prefix: &str) -> Map<String, Value> {
    Map::from_iter([("server".to_owned(), Value::from(prefix))])
}

impl Offset {
    /// Reads an offset, ours or Debezium's.
    ///
    /// Errors: `Config`, saying what a position looks like.
    pub fn parse(position: &Position) -> Result<Self> {
        let offset = &position.offset;
        let number = |name: &str| -> Result<Option<u64>> {
            match offset.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => value.as_u64().map(Some).ok_or_else(|| invalid(name)),
            }
        };
        let text = |name: &str| offset.get(name).and_then(Value::as_str).map(str::to_owned);
        let (lsn, processed) = (number("lsn")?, number("lsn_proc")?);
        let commit = number("lsn_commit")?.or(processed).or(lsn);
        let snapshot = match text("lattice_snapshot") {
            Some(text) => Some(parse_snapshot(&text)?),
            None => None,
        };
        let foreign = offset.get("snapshot").is_some_and(|value| !value.is_null())
            && !offset.get("snapshot_completed").is_some_and(|value| value == &json!(true))
            && snapshot.is_none();
        if commit.is_none() && snapshot.is_none() && !foreign {
            return Err(invalid("lsn_commit"));
        }
        Ok(Self {
            lsn,
            commit_lsn: commit,
            partial: number("lattice_tx_lsn")?.zip(number("lattice_tx_row")?),
            message_lsn: number("lattice_message_lsn")?,
            tx_id: number("txId")?.and_then(|id| u32::try_from(id).ok()),
            ts_us: offset.get("ts_usec").and_then(Value::as_i64),
            message_type: None,
            system_id: text("lattice_system_id"),
            timeline: number("lattice_timeline")?.and_then(|line| u32::try_from(line).ok()),
            snapshot,
            incremental: text("lattice_incremental")
                .map(|text| IncrementalProgress::parse(&text))
                .transpose()?,
            foreign_snapshot: foreign,
        })
    }

    /// Writes an offset.
    #[must_use]
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.to_owned(), value);
            }
        };
        put("lsn", self.lsn.map(Value::from));
        put("lsn_proc", self.lsn.or(self.commit_lsn).map(Value::from));
        put("lsn_commit", self.commit_lsn.map(Value::from));
        put("txId", self.tx_id.map(Value::from));
        put("ts_usec", self.ts_us.map(Value::from));
        put("messageType", self.message_type.map(Value::from));
        put("lattice_tx_lsn", self.partial.map(|(lsn, _)| lsn.into()));
        put("lattice_tx_row", self.partial.map(|(_, row)| row.into()));
        put("lattice_message_lsn", self.message_lsn.map(Value::from));
        put("lattice_system_id", self.system_id.clone().map(Value::from));
        put("lattice_timeline", self.timeline.map(Value::from));
        put("lattice_incremental", self.incremental.as_ref().map(|left| left.to_json().into()));
        if let Some(snapshot) = &self.snapshot {
            put("snapshot", Some("INITIAL".into()));
            put("snapshot_completed", Some(false.into()));
            put("lattice_snapshot", Some(write_snapshot(snapshot).into()));
        }
        map
    }
}

fn invalid(field: &str) -> Error {
    Error::config(format!("\"{field}\" of the position is missing or not a number")).with_remedy(
        "a position looks like {\"partition\":{\"server\":\"<topic.prefix>\"},\
         \"offset\":{\"lsn\":24023128,\"lsn_proc\":24023128,\"lsn_commit\":24023128}}",
    )
}

fn write_snapshot(snapshot: &SnapshotProgress) -> String {
    let units: Map<String, Value> = snapshot
        .units
        .iter()
        .map(|(name, unit)| {
            let done = ranges(&unit.done);
            (name.clone(), json!([unit.file, unit.pages, unit.chunks, done]))
        })
        .collect();
    json!({"version_lsn": snapshot.version_lsn, "xmin": snapshot.xmin, "tables": units}).to_string()
}

fn parse_snapshot(text: &str) -> Result<SnapshotProgress> {
    let bad = || invalid("lattice_snapshot");
    let value: Value = serde_json::from_str(text).map_err(|error| bad().with_source(error))?;
    let number = |name: &str| value.get(name).and_then(Value::as_u64).ok_or_else(bad);
    let mut units = BTreeMap::new();
    for (name, unit) in value.get("tables").and_then(Value::as_object).ok_or_else(bad)? {
        let field = |index: usize| unit.get(index).and_then(Value::as_u64).ok_or_else(bad);
        let chunks = u32::try_from(field(2)?).map_err(|_| bad())?;
        let done = unit.get(3).and_then(Value::as_str).and_then(|t| parse_ranges(t, chunks));
        let (file, pages, done) = (field(0)?, field(1)?.max(1), done.ok_or_else(bad)?);
        units.insert(name.clone(), UnitProgress { file, pages, chunks, done });
    }
    Ok(SnapshotProgress { version_lsn: number("version_lsn")?, xmin: number("xmin")?, units })
}

/// `[0,1,2,5]` → `0-2,5`: short, however many chunks are done.
fn ranges(done: &[u32]) -> String {
    let mut sorted = done.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in sorted {
        match parts.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(number) => *end = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(start, end): (u32, u32)| {
        if start == end { start.to_string() } else { format!("{start}-{end}") }
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

fn parse_ranges(text: &str, limit: u32) -> Option<Vec<u32>> {
    let mut done = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (start, end) = part.split_once('-').unwrap_or((part, part));
        let (start, end): (u32, u32) = (start.parse().ok()?, end.parse().ok()?);
        if end >= limit || start > end {
            return None;
        }
        done.extend(start..=end);
    }
    Some(done)
}

/// `16/B374D848` as PostgreSQL writes a position in its log.
#[must_use]
pub fn format_lsn(lsn: u64) -> String {
    format!("{:X}/{:X}", lsn >> 32, lsn & 0xffff_ffff)
}

/// Reads what [`format_lsn`] writes.
#[must_use]
pub fn parse_lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let high = u32::from_str_radix(high, 16).ok()?;
    let low = u32::from_str_radix(low, 16).ok()?;
    Some(u64::from(high) << 32 | u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_offset_survives_being_written() {
        let unit = UnitProgress { file: 16_402, pages: 128, chunks: 9, done: vec![0, 1, 2, 5] };
        let offset = Offset {
            lsn: Some(100),
            commit_lsn: Some(90),
            partial: Some((120, 7)),
            message_lsn: Some(80),
            tx_id: Some(555),
            ts_us: Some(1),
            message_type: None,
            system_id: Some("7".to_owned()),
            timeline: Some(1),
            snapshot: Some(SnapshotProgress {
                version_lsn: 50,
                xmin: 700,
                units: BTreeMap::from([("\"s\".\"t\"".to_owned(), unit)]),
            }),
            incremental: Some(IncrementalProgress {
                tables: vec!["s.t".to_owned()],
                ..IncrementalProgress::default()
            }),
            foreign_snapshot: false,
        };
        let position = Position { partition: partition("p"), offset: offset.to_map() };
        assert_eq!(Offset::parse(&position).unwrap(), offset);
        assert!(position.offset["lattice_snapshot"].as_str().unwrap().contains("0-2,5"));
    }

    #[test]
    fn debeziums_offset_is_read_and_nonsense_is_refused() {
        let offset = |value: Value| Position {
            partition: partition("p"),
            offset: value.as_object().cloned().unwrap(),
        };
        let theirs = offset(json!({"lsn_proc": 30, "lsn": 30, "lsn_commit": 20, "txId": 5}));
        assert_eq!(Offset::parse(&theirs).unwrap().commit_lsn, Some(20));
        let running =
            offset(json!({"lsn": 30, "snapshot": "INITIAL", "snapshot_completed": false}));
        assert!(Offset::parse(&running).unwrap().foreign_snapshot);
        assert!(Offset::parse(&offset(json!({"lsn": "x"}))).is_err());
        assert!(Offset::parse(&offset(json!({}))).is_err());
    }

    proptest! {
        #[test]
        fn lsns_are_read_as_they_are_written(lsn: u64) {
            prop_assert_eq!(parse_lsn(&format_lsn(lsn)), Some(lsn));
        }

        #[test]
        fn chunks_are_read_as_they_are_written(done in proptest::collection::btree_set(0_u32..200, 0..60)) {
            let done: Vec<u32> = done.into_iter().collect();
            prop_assert_eq!(parse_ranges(&ranges(&done), 200), Some(done));
        }
    }
}
