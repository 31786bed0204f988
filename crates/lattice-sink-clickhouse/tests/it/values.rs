//! Values of every type, and those that a column cannot hold.

use std::sync::Arc;

use lattice_core::{
    schema::{Field, Schema, Type},
    value::{Binary, Value},
};

use crate::fixture::*;

fn named(kind: Type, name: &str) -> Schema {
    Schema::new(kind).named(name, 1).optional()
}

fn decimal(scale: &str, precision: &str) -> Schema {
    named(Type::Bytes, "org.apache.kafka.connect.data.Decimal")
        .parameter("scale", scale)
        .parameter("connect.decimal.precision", precision)
}

fn bytes(number: i128) -> Value<'static> {
    Value::Bytes(Binary::owned(number.to_be_bytes().to_vec()))
}

#[tokio::test]
async fn values_of_every_type_arrive_as_they_were() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "types").await;
        let strings = Schema::array(Arc::new(string().optional())).optional();
        let columns = vec![
            ("id", Schema::new(Type::Int64)),
            ("b", Schema::new(Type::Boolean).optional()),
            ("i16", Schema::new(Type::Int16).optional()),
            ("f", Schema::new(Type::Float64).optional()),
            ("d", decimal("2", "10")),
            ("u", named(Type::String, "io.debezium.data.Uuid")),
            ("raw", Schema::new(Type::Bytes).optional()),
            ("bits", named(Type::Bytes, "io.debezium.data.Bits").parameter("length", "3")),
            ("e", named(Type::String, "io.debezium.data.Enum").parameter("allowed", "x,y")),
            ("tags", strings),
            ("t", named(Type::Int64, "io.debezium.time.MicroTime")),
        ];
        let t = Source::new(columns, 1);
        let row = vec![
            int(1),
            Value::Bool(true),
            int(-5),
            Value::Float64(f64::INFINITY),
            bytes(-123),
            text("aa0e8400-e29b-41d4-a716-446655440000"),
            Value::bytes(&[0, 255, 10]),
            Value::bytes(&[0b110]),
            text("x"),
            Value::Array(vec![text("a,b"), Value::Null, text("NULL")]),
            int(86_399_999_999),
        ];
        let mut nulls = vec![Value::Null; row.len()];
        nulls[0] = int(2);
        sink.write(batch("t", &t, 0, vec![create(1, row), create(2, nulls)])).await;
        let sql = "SELECT id, toUInt8(b), i16, f, d, u, hex(raw), bits, e, tags, t FROM t_live ORDER BY id";
        let lines = sink.lines(sql).await;
        let first = "1\t1\t-5\tinf\t-1.23\taa0e8400-e29b-41d4-a716-446655440000\t00FF0A\t110\tx\t['a,b',NULL,'NULL']\t86399999999";
        assert_eq!(lines[0], first, "{engine}");
        assert_eq!(lines[1], "2\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t[]\t\\N", "{engine}");
    }
}

#[tokio::test]
async fn null_stays_null_whatever_default_the_column_has() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "nulls").await;
        let made = "CREATE TABLE t (id Int32, n Nullable(Int32) DEFAULT 5, _version UInt64, is_deleted UInt8) \
             ENGINE = ReplacingMergeTree(_version) ORDER BY id";
        sink.database.query(made).await;
        let with_default = int32().optional().with_default(Value::Int(999));
        let t = Source::new(vec![("id", int32()), ("n", with_default)], 1);
        let events = vec![create(1, vec![int(1), Value::Null]), create(2, vec![int(2), int(1)])];
        sink.write(batch("t", &t, 0, events)).await;
        sink.write(batch("t", &t, 2, vec![update(3, vec![int(2), Value::Null])])).await;
        let lines = sink.lines("SELECT id, isNull(n) FROM t FINAL ORDER BY id").await;
        assert_eq!(lines, ["1\t1", "2\t1"], "{engine}");
    }
}

#[tokio::test]
async fn unbounded_wide_and_special_numbers_are_never_wrong() {
    let mut sink = Sink::new(MODERN, "numbers").await;
    let fields = vec![Field::new("scale", int32()), Field::new("value", Schema::new(Type::Bytes))];
    let mut unbounded = Schema::structure("io.debezium.data.VariableScaleDecimal", fields);
    unbounded.optional = true;
    let t = Source::new(vec![("id", int32()), ("n", unbounded), ("w", decimal("5", "40"))], 1);
    let number = |scale, number| Value::Struct(vec![int(scale), bytes(number)]);
    let wide = lattice_wide("99999999999999999999999999999999999.99999");
    let events = vec![
        create(1, vec![int(1), number(4, 1_234_500), bytes(100_000)]),
        create(2, vec![int(2), text("NaN"), Value::Null]),
        create(3, vec![int(3), number(20, 1), wide]),
    ];
    sink.write(batch("t", &t, 0, events)).await;
    let lines = sink.lines("SELECT id, n, toString(w) FROM t_live ORDER BY id").await;
    assert_eq!(
        lines,
        [
            "1\t123.4500\t1",
            "2\tNaN\t\\N",
            "3\t0.00000000000000000001\t99999999999999999999999999999999999.99999"
        ]
    );
}

/// The unscaled bytes of a decimal text.
fn lattice_wide(text: &str) -> Value<'static> {
    let mut bytes = vec![0u8; 24];
    for digit in text.bytes().filter(u8::is_ascii_digit) {
        let mut carry = u32::from(digit - b'0');
        for byte in bytes.iter_mut().rev() {
            let all = u32::from(*byte) * 10 + carry;
            (*byte, carry) = ((all % 256) as u8, all / 256);
        }
    }
    Value::Bytes(Binary::owned(bytes))
}

#[tokio::test]
async fn number_too_large_for_its_column_is_null_or_rejected_never_another() {
    let made = "CREATE TABLE t (id Int32, n Nullable(Decimal(5, 2)), s Nullable(Int16)) ENGINE = ReplacingMergeTree ORDER BY id";
    let columns = || {
        vec![("id", int32()), ("n", decimal("2", "10")), ("s", Schema::new(Type::Int64).optional())]
    };
    for (policy, rejected) in [("clamp", 0), ("reject", 2)] {
        let mut sink = Sink::with(MODERN, "outside", &[("value.out.of.range", policy)]).await;
        sink.database.query(made).await;
        let t = Source::new(columns(), 1);
        let events = vec![
            create(1, vec![int(1), bytes(99_999), int(32_767)]),
            create(2, vec![int(2), bytes(100_000), int(1)]),
            create(3, vec![int(3), bytes(1), int(32_768)]),
        ];
        let refused = sink.try_write(batch("t", &t, 0, events)).await.unwrap();
        assert_eq!(refused.len(), rejected, "{refused:?}");
        let lines = sink.lines("SELECT * FROM t FINAL ORDER BY id").await;
        assert_eq!(lines[0], "1\t999.99\t32767");
        if rejected == 0 {
            assert_eq!(lines[1..], ["2\t\\N\t1".to_owned(), "3\t0.01\t\\N".to_owned()]);
            let coerced = sink.progress.gauge("sink_coerced_values");
            assert_eq!(coerced.load(std::sync::atomic::Ordering::Relaxed), 2);
        }
    }
}

#[tokio::test]
async fn dates_beyond_a_narrow_column_are_clamped_and_never_wrap() {
    let mut sink = Sink::new(MODERN, "dates").await;
    sink.database
        .query(
            "CREATE TABLE narrow (id Int32, d Date, ts DateTime('UTC'), z DateTime64(9, 'UTC')) \
             ENGINE = ReplacingMergeTree ORDER BY id",
        )
        .await;
    let columns = || {
        vec![
            ("id", int32()),
            ("d", named(Type::Int32, "io.debezium.time.Date")),
            ("ts", named(Type::Int64, "io.debezium.time.MicroTimestamp")),
            ("z", named(Type::String, "io.debezium.time.ZonedTimestamp")),
        ]
    };
    let row = |id, days, micros, zoned| vec![int(id), int(days), int(micros), text(zoned)];
    let events = || {
        vec![
            create(1, row(1, -719_162, -62_135_596_800_000_000, "0001-01-01T00:00:00Z")),
            create(2, row(2, 2_932_896, 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z")),
            create(3, row(3, 0, 0, "1970-01-01T00:00:00Z")),
            create(4, row(4, 2_147_483_647, 9_223_372_036_825_200_000, "infinity")),
            create(5, row(5, -735_160, i64::MIN, "-0043-03-15T00:00:00Z")),
        ]
    };
    sink.write(batch("wide", &Source::new(columns(), 1), 0, events())).await;
    let wide = sink.lines("SELECT d, ts, z FROM wide_live ORDER BY id").await;
    assert_eq!(wide[0], "0001-01-01\t0001-01-01 00:00:00.000000\t0001-01-01 00:00:00.000000");
    assert_eq!(wide[1], "9999-12-31\t9999-12-31 23:59:59.999999\t9999-12-31 23:59:59.999999");
    assert_eq!(wide[3], wide[1], "infinity is the last moment");
    assert_eq!(wide[4], wide[0], "before the first is the first moment");
    sink.write(batch("narrow", &Source::new(columns(), 1), 0, events())).await;
    let narrow = sink.lines("SELECT d, ts, z FROM narrow FINAL ORDER BY id").await;
    assert_eq!(narrow[0], "1970-01-01\t1970-01-01 00:00:00\t1677-09-21 00:12:43.145224192");
    assert_eq!(narrow[1], "2149-06-06\t2106-02-07 06:28:15\t2262-04-11 23:47:16.854775807");
    assert_eq!(narrow[2], "1970-01-01\t1970-01-01 00:00:00\t1970-01-01 00:00:00.000000000");
}

#[tokio::test]
async fn nested_and_temporal_arrays_keep_their_elements() {
    let mut sink = Sink::new(MODERN, "arrays").await;
    let ints = Schema::array(Arc::new(int32().optional()));
    let nested = Schema::array(Arc::new(ints.clone())).optional();
    let zoned = Schema::array(Arc::new(named(Type::String, "io.debezium.time.ZonedTimestamp")));
    let decimals = Schema::array(Arc::new(decimal("2", "10"))).optional();
    let columns = vec![("id", int32()), ("a", nested), ("z", zoned.optional()), ("n", decimals)];
    let t = Source::new(columns, 1);
    let list = |items| Value::Array(items);
    let events = vec![
        create(
            1,
            vec![
                int(1),
                list(vec![list(vec![int(1), Value::Null]), list(vec![])]),
                list(vec![text("2024-01-01T00:00:00Z"), Value::Null]),
                list(vec![bytes(110)]),
            ],
        ),
        create(2, vec![int(2), Value::Null, list(vec![]), Value::Null]),
    ];
    sink.write(batch("t", &t, 0, events)).await;
    let lines = sink.lines("SELECT a, z, n FROM t_live ORDER BY id").await;
    assert_eq!(lines, ["[[1,NULL],[]]\t['2024-01-01 00:00:00.000000',NULL]\t[1.1]", "[]\t[]\t[]"]);
}
