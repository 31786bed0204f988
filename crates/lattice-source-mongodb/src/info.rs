//! The `source` block of events. Source: Debezium's `MongoDbSourceInfoStructMaker`, 3.6.

use std::sync::Arc;

use lattice_core::{
    event::{Origin, SnapshotMarker, SourceInfo, TableId},
    schema::{Field, Schema, Type},
    value::Value,
};

/// The version that events name: the one whose shape they have.
pub const VERSION: &str = "3.6.1.Final";

const MARKERS: &str =
    "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental";

/// Gives the `source` block.
#[derive(Debug)]
pub struct MongoInfo {
    schema: Arc<Schema>,
    name: Arc<str>,
    /// The server sends `wallTime`, which is then what `ts_ms` is taken from.
    wall_time: bool,
}

impl MongoInfo {
    /// For the deployment named `prefix`.
    #[must_use]
    pub fn new(prefix: &str, wall_time: bool) -> Self {
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
            Field::new("collection", text()),
            Field::new("ord", Schema::new(Type::Int32)),
            Field::new("lsid", text().optional()),
            Field::new("txnNumber", long().optional()),
            Field::new("wallTime", long().optional()),
        ];
        let schema = Schema { fields, ..Schema::new(Type::Struct) }
            .named("io.debezium.connector.mongo.Source", 1);
        Self { schema: Arc::new(schema), name: prefix.into(), wall_time }
    }
}

/// The increment of the cluster time; -1 where there is none.
fn ord(origin: &Origin) -> Value<'static> {
    let streamed = origin.lsn.filter(|_| origin.snapshot == SnapshotMarker::False);
    #[allow(clippy::cast_possible_truncation)] // the lower half of the timestamp
    let ord = streamed.map_or(-1, |time| (time as u32).cast_signed());
    Value::Int(ord.into())
}

impl SourceInfo for MongoInfo {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn values<'a>(&'a self, table: &'a TableId, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        let ms = origin.ts_us.div_euclid(1000);
        let wall = self.wall_time && origin.snapshot == SnapshotMarker::False;
        out.extend([
            Value::text(VERSION),
            Value::text("mongodb"),
            Value::text(&self.name),
            Value::Int(ms),
            Value::text(origin.snapshot.as_str()),
            Value::text(&table.database),
            Value::Null,
            Value::Int(origin.ts_us),
            Value::Int(origin.ts_us.saturating_mul(1000)),
            Value::text(&table.table),
            ord(origin),
            origin.extra.as_deref().map_or(Value::Null, Value::text),
            origin.tx_id.map_or(Value::Null, |number| Value::Int(number.cast_signed())),
            if wall { Value::Int(ms) } else { Value::Null },
        ]);
    }

    fn event_fields(&self) -> &[usize] {
        // "ord"
        &[10]
    }

    fn event_values<'a>(&'a self, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        out.push(ord(origin));
    }
}
