//! The `source` block of events. Source: Debezium's `PostgresSourceInfoStructMaker`, 3.6.

use std::sync::Arc;

use lattice_core::{
    event::{Origin, SourceInfo, TableId},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

/// The version that events name: the one whose shape they have.
pub const VERSION: &str = "3.6.1.Final";

const MARKERS: &str =
    "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental";

/// Gives the `source` block.
#[derive(Debug)]
pub struct PostgresInfo {
    schema: Arc<Schema>,
    name: Arc<str>,
}

impl PostgresInfo {
    /// For the server named `prefix`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        let text = || Schema::new(Type::String);
        let long = || Schema::new(Type::Int64);
        let snapshot = text()
            .optional()
            .named("io.debezium.data.Enum", 1)
            .parameter("allowed", MARKERS)
            .with_default(Value::text("false"));
        let fields = vec![
            Field::new("version", text()),
            Field::new("connector", text()),
            Field::new("name", text()),
            Field::new("ts_ms", long()),
            Field::new("snapshot", snapshot),
            Field::new("db", text()),
            Field::new("sequence", text().optional()),
            Field::new("ts_us", long().optional()),
            Field::new("ts_ns", long().optional()),
            Field::new("schema", text()),
            Field::new("table", text()),
            Field::new("txId", long().optional()),
            Field::new("lsn", long().optional()),
            Field::new("xmin", long().optional()),
            Field::new("origin", text().optional()),
            Field::new("origin_lsn", long().optional()),
        ];
        let schema = Schema { fields, ..Schema::new(Type::Struct) }
            .named("io.debezium.connector.postgresql.Source", 1);
        Self { schema: Arc::new(schema), name: prefix.into() }
    }
}

impl SourceInfo for PostgresInfo {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn values<'a>(&'a self, table: &'a TableId, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        let number = |number: Option<u64>| {
            number.map_or(Value::Null, |number| Value::Int(number.cast_signed()))
        };
        out.extend([
            Value::text(VERSION),
            Value::text("postgresql"),
            Value::text(&self.name),
            Value::Int(origin.ts_us.div_euclid(1000)),
            Value::text(origin.snapshot.as_str()),
            Value::text(&table.database),
            sequence(origin),
            Value::Int(origin.ts_us),
            Value::Int(origin.ts_us.saturating_mul(1000)),
            Value::text(&table.schema),
            Value::text(&table.table),
            number(origin.tx_id),
            number(origin.lsn),
            Value::Null,
            origin.extra.as_deref().map_or(Value::Null, Value::text),
            Value::Null,
        ]);
    }

    fn event_fields(&self) -> &[usize] {
        // "sequence" and "lsn"
        &[6, 12]
    }

    fn event_values<'a>(&'a self, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        let lsn = origin.lsn.map_or(Value::Null, |lsn| Value::Int(lsn.cast_signed()));
        out.extend([sequence(origin), lsn]);
    }
}

/// `["<last commit>","<this>"]`, without an allocation: two LSNs of 20 digits fit.
fn sequence(origin: &Origin) -> Value<'static> {
    let mut line = Line { bytes: [0; 64], len: 0 };
    line.push(b"[");
    line.lsn(origin.last_commit_lsn);
    line.push(b",");
    line.lsn(origin.lsn);
    line.push(b"]");
    let text = line.bytes.get(..line.len).and_then(|text| std::str::from_utf8(text).ok());
    text.map_or(Value::Null, |text| Value::Text(Text::copied(text)))
}

/// A short text being written. By hand, since it is on the hot path.
struct Line {
    bytes: [u8; 64],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + text.len()) {
            room.copy_from_slice(text);
            self.len += text.len();
        }
    }

    /// In quotes, or `null`.
    fn lsn(&mut self, lsn: Option<u64>) {
        let Some(mut rest) = lsn else { return self.push(b"null") };
        let mut digits = [b'"'; 22];
        let mut at = digits.len() - 1;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at - 1..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lattice_core::event::SnapshotMarker;

    #[test]
    fn the_block_has_a_value_for_every_field_in_order() {
        let info = PostgresInfo::new("shop");
        let table = TableId { database: "d".into(), schema: "s".into(), table: "t".into() };
        let origin = Origin {
            ts_us: 1_500_000,
            tx_id: Some(7),
            lsn: Some(24_023_128),
            last_commit_lsn: None,
            snapshot: SnapshotMarker::First,
            extra: None,
        };
        let mut values = Vec::new();
        info.values(&table, &origin, &mut values);
        assert_eq!(values.len(), info.schema().fields.len());
        let named = |name: &str| values[info.schema().field_index(name).unwrap()].clone();
        assert_eq!(named("sequence"), Value::text("[null,\"24023128\"]"));
        assert_eq!(named("ts_ms"), Value::Int(1500));
        assert_eq!(named("snapshot"), Value::text("first"));
        assert_eq!(named("lsn"), Value::Int(24_023_128));
        let ends = Origin { lsn: Some(0), last_commit_lsn: Some(u64::MAX), ..origin };
        let text = Value::text("[\"18446744073709551615\",\"0\"]");
        assert_eq!(sequence(&ends), text);
    }

    #[test]
    fn only_the_event_fields_depend_on_the_lsn() {
        let info = PostgresInfo::new("shop");
        let table = TableId { database: "d".into(), schema: "s".into(), table: "t".into() };
        let origin = |lsn| Origin {
            ts_us: 1_500_000,
            tx_id: Some(7),
            lsn,
            last_commit_lsn: Some(5),
            snapshot: SnapshotMarker::False,
            extra: Some("node".into()),
        };
        let (one, other) = (origin(Some(1)), origin(None));
        let (mut left, mut right, mut picked) = (Vec::new(), Vec::new(), Vec::new());
        info.values(&table, &one, &mut left);
        info.values(&table, &other, &mut right);
        info.event_values(&one, &mut picked);
        let differ: Vec<usize> =
            (0..left.len()).filter(|index| left[*index] != right[*index]).collect();
        assert_eq!(differ, info.event_fields());
        let expected: Vec<_> = differ.iter().map(|index| left[*index].clone()).collect();
        assert_eq!(picked, expected);
    }
}
