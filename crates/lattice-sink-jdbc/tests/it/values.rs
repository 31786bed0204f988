//! Values of every type, into columns that the sink makes and into others.

use std::sync::Arc;

use lattice_core::{
    schema::{Field, Schema, Type},
    value::Value,
};

use crate::{
    fixture::*,
    postgres::{PG15, database, lines, target},
};

fn named(kind: Type, name: &str) -> Schema {
    Schema::new(kind).named(name, 1).optional()
}

fn variable() -> Schema {
    let fields = vec![
        Field::new("scale", Schema::new(Type::Int32)),
        Field::new("value", Schema::new(Type::Bytes)),
    ];
    Schema { fields, ..Schema::new(Type::Struct) }
        .named("io.debezium.data.VariableScaleDecimal", 1)
        .optional()
}

fn array(element: Schema) -> Schema {
    Schema::array(Arc::new(element.optional())).optional()
}

fn bytes(bytes: &'static [u8]) -> Value<'static> {
    Value::bytes(bytes)
}

#[tokio::test]
async fn every_type_arrives_as_the_database_has_it() {
    let database = database(PG15, "jdbc_types").await;
    let mut sink = Sink::debezium(target(&database), MIRROR);
    let decimal = Schema::new(Type::Bytes)
        .named("org.apache.kafka.connect.data.Decimal", 1)
        .parameter("scale", "5")
        .parameter("connect.decimal.precision", "40");
    let columns = vec![
        ("id", int32()),
        ("w", decimal.optional()),
        ("v", variable()),
        ("d", named(Type::Int32, "io.debezium.time.Date")),
        ("tm", named(Type::Int64, "io.debezium.time.MicroTime")),
        ("ts", named(Type::Int64, "io.debezium.time.MicroTimestamp")),
        ("tz", named(Type::String, "io.debezium.time.ZonedTimestamp")),
        ("ttz", named(Type::String, "io.debezium.time.ZonedTime")),
        ("iv", named(Type::Int64, "io.debezium.time.MicroDuration")),
        ("j", named(Type::String, "io.debezium.data.Json")),
        ("u", named(Type::String, "io.debezium.data.Uuid")),
        ("x", Schema::new(Type::Bytes).optional()),
        ("f", Schema::new(Type::Float64).optional()),
        ("b", named(Type::Bytes, "io.debezium.data.Bits").parameter("length", "9")),
        ("a", array(int32())),
        ("s", array(string())),
        ("z", array(named(Type::String, "io.debezium.time.ZonedTimestamp"))),
    ];
    let t = Source::new(columns, 1);
    let one = vec![
        int(1),
        bytes(&[0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11, 0x22]),
        Value::Struct(vec![int(20), bytes(&[1])]),
        int(-719_528),
        int(86_399_999_999),
        int(-62_135_596_800_000_000),
        text("2024-02-29T23:59:59.123456+02:00"),
        text("10:11:12+01:00"),
        int(-1_500_000),
        text("{\"a\": [1, \"x\"]}"),
        text("00112233-4455-6677-8899-aabbccddeeff"),
        bytes(&[0, 255, b'\\']),
        Value::Float64(f64::NAN),
        bytes(&[1, 1]),
        Value::Array(vec![int(1), Value::Null, int(3)]),
        Value::Array(vec![text("a,b"), text("q\"x\\"), Value::Null, text(""), text("NULL")]),
        Value::Array(vec![text("2024-01-01T00:00:00Z"), Value::Null]),
    ];
    let mut two = vec![Value::Null; one.len()];
    two[0] = int(2);
    two[3] = int(i64::from(i32::MAX));
    two[5] = int(-9_223_372_036_832_400_000);
    two[6] = text("infinity");
    two[12] = Value::Float64(f64::NEG_INFINITY);
    two[14] = Value::Array(vec![]);
    sink.write(batch("t", &t, 0, vec![create(one), create(two)])).await;
    let sql = "select w, v, d, tm, ts, tz, ttz, iv, j, u, x, f, b, a, s, z from t order by id";
    assert_eq!(
        lines(&database, sql).await,
        [
            "859680582837069624.15906|0.00000000000000000001|0001-01-01 BC|23:59:59.999999|0001-01-01 00:00:00|\
             2024-02-29 21:59:59.123456+00|10:11:12+01|-00:00:01.5|{\"a\": [1, \"x\"]}|\
             00112233-4455-6677-8899-aabbccddeeff|\\x00ff5c|NaN|100000001|{1,NULL,3}|\
             {\"a,b\",\"q\\\"x\\\\\",NULL,\"\",\"NULL\"}|{\"2024-01-01 00:00:00+00\",NULL}",
            "NULL|NULL|infinity|NULL|-infinity|infinity|NULL|NULL|NULL|NULL|NULL|-Infinity|NULL|{}|NULL|NULL"
        ]
    );
}

#[tokio::test]
async fn columns_made_by_hand_get_values_of_their_own_type() {
    let database = database(PG15, "jdbc_hand").await;
    database
        .execute(
            "create type mood as enum ('sad', 'fine'); create domain small as numeric(5,2);
             create table t (id bigint primary key, m mood, n small, j jsonb, ip inet, r int4range, c char(3), e mood[], j2 int default 5)",
        )
        .await;
    let keys = [&[("errors.tolerance", "all")], MIRROR].concat();
    let mut sink = Sink::debezium(target(&database), &keys);
    let columns = vec![
        ("id", int32()),
        ("m", named(Type::String, "io.debezium.data.Enum")),
        ("n", string().optional()),
        ("j", named(Type::String, "io.debezium.data.Json")),
        ("ip", string().optional()),
        ("r", string().optional()),
        ("c", string().optional()),
        ("e", array(string())),
        ("j2", int32().with_default(int(9)).optional()),
    ];
    let t = Source::new(columns, 1);
    let row = |id, m, n, c| {
        let e = Value::Array(vec![text("sad"), Value::Null]);
        vec![
            int(id),
            text(m),
            text(n),
            text("{\"b\":1}"),
            text("10.0.0.1"),
            text("[1,3)"),
            text(c),
            e,
            Value::Null,
        ]
    };
    let events = vec![
        create(row(1, "fine", "123.45", "ab")),
        create(row(2, "angry", "1", "a")),
        create(row(3, "sad", "1234.5", "a")),
        create(row(4, "sad", "1.234", "a")),
        create(row(5, "sad", "1", "toolong")),
        create(row(6, "sad", "-1.5", "abc")),
    ];
    let rejected = sink.try_write(batch("t", &t, 0, events)).await.unwrap();
    // NULL stays NULL, whatever default field or column has.
    assert_eq!(
        lines(&database, "select * from t order by id").await,
        [
            "1|fine|123.45|{\"b\": 1}|10.0.0.1|[1,3)|ab |{sad,NULL}|NULL",
            "6|sad|-1.50|{\"b\": 1}|10.0.0.1|[1,3)|abc|{sad,NULL}|NULL"
        ]
    );
    let mut told: Vec<(i64, String)> =
        rejected.iter().map(|one| (one.offset, one.error.chain())).collect();
    told.sort();
    let words = ["angry", "1234.5", "1.234", "value too long for type character(3)"];
    for ((offset, error), word) in told.iter().zip(words) {
        assert!(error.contains(word), "{offset}: {error}");
    }
    assert_eq!(told.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(told[3].1.contains("id=5"), "{}", told[3].1);
}
