//! Values in other forms than the defaults, and at the edges of what a row can be.

use lattice_core::{ErrorKind, event::Op, value::Value};
use lattice_testkit::{PostgresDatabase, service};

use crate::harness::{Seen, Source};

/// Inserts the same row before and after the start, and gives the one that both phases agree on.
async fn both_ways(source: &mut Source, create: &str, insert: &str) -> Seen {
    source.database.execute(create).await;
    source.database.execute(insert).await;
    let mut task = source.open().await;
    let read = source.read(&mut task, |seen| seen.len() == 1).await.remove(0);
    source.database.execute(insert).await;
    let streamed = source.read(&mut task, |seen| seen.len() == 1).await.remove(0);
    assert_eq!(read.columns, streamed.columns);
    // As text: NaN is not equal to itself.
    assert_eq!(format!("{:?}", read.after), format!("{:?}", streamed.after));
    streamed
}

fn text(text: &'static str) -> Value<'static> {
    Value::text(text)
}

const NUMBERS: &str = "CREATE TABLE t(n numeric, n2 numeric(10,2), m money, big numeric)";
const INSERT_NUMBERS: &str = "INSERT INTO t VALUES ('NaN', -3.10, '-1234.50', 1e40)";

#[tokio::test]
async fn decimals_in_every_mode() {
    for mode in ["string", "double", "precise"] {
        let more = [("decimal.handling.mode", mode)];
        let mut source = Source::new("LATTICE_TEST_PG18", "decimals", &more).await;
        let seen = both_ways(&mut source, NUMBERS, INSERT_NUMBERS).await;
        let row = seen.after.expect("a row");
        match mode {
            "string" => {
                let big = text("10000000000000000000000000000000000000000");
                assert_eq!(row, [text("NAN"), text("-3.10"), text("-1234.50"), big]);
            }
            "double" => {
                assert!(matches!(row[0], Value::Float64(number) if number.is_nan()));
                let rest = [-3.1, -1234.5, 1e40].map(Value::Float64);
                assert_eq!(row[1..], rest);
            }
            _ => {
                assert_eq!(row[0], Value::Null, "an exact number cannot be NaN");
                assert_eq!(row[1], Value::bytes(&[0xfe, 0xca]));
            }
        }
    }
}

#[tokio::test]
async fn a_special_number_can_be_made_to_fail_naming_its_column() {
    let more = [("event.converting.failure.handling.mode", "fail")];
    let mut source = Source::new("LATTICE_TEST_PG18", "special", &more).await;
    source.database.execute(NUMBERS).await;
    source.database.execute("INSERT INTO t VALUES ('-Infinity', 1, 1, 1)").await;
    let message = first_error(&mut source).await;
    assert!(message.contains("\"n\" of public.t"), "{message}");
}

/// Opens and reads the first row, which must be refused as bad data.
async fn first_error(source: &mut Source) -> String {
    let mut task = source.open().await;
    loop {
        let batch = task.next_batch().await.expect("a batch").expect("goes on");
        let Some(event) = batch.events.first() else { continue };
        let row = event.after.expect("a row").of(&batch.data);
        let decoder = &batch.tables[event.table as usize].decoder;
        let error = decoder.decode(row, &mut Vec::new()).expect_err("must be refused");
        assert_eq!(error.kind(), ErrorKind::Data);
        return error.to_string();
    }
}

#[tokio::test]
async fn times_in_every_mode() {
    let create = "CREATE TABLE t(d date, ti time(6), ts timestamp(6), iv interval)";
    let insert = "INSERT INTO t VALUES ('2024-02-29', '12:34:56.789012', '1969-12-31 23:59:59.999999', \
                  '1 year 2 mons -3 days 04:05:06.5')";
    let (day, us) = (Value::Int(19_782), 45_296_789_012_i64);
    for (mode, expected) in [
        ("connect", [day.clone(), Value::Int(us / 1000), Value::Int(-1)]),
        (
            "isostring",
            [text("2024-02-29Z"), text("12:34:56.789012Z"), text("1969-12-31T23:59:59.999999Z")],
        ),
        ("microseconds", [day.clone(), Value::Int(us), Value::Int(-1)]),
        ("nanoseconds", [day.clone(), Value::Int(us * 1000), Value::Int(-1000)]),
        ("adaptive_time_microseconds", [day.clone(), Value::Int(us), Value::Int(-1)]),
    ] {
        let more = [("time.precision.mode", mode), ("interval.handling.mode", "string")];
        let mut source = Source::new("LATTICE_TEST_PG15", "times", &more).await;
        let seen = both_ways(&mut source, create, insert).await;
        assert_eq!(seen.after.as_ref().expect("a row")[..3], expected, "{mode}");
        assert_eq!(seen.column("iv"), text("P1Y2M-3DT4H5M6.5S"));
    }
}

#[tokio::test]
async fn bytes_in_every_mode() {
    for (mode, expected) in [
        ("bytes", Value::bytes(&[0, 0xff, 0xfe])),
        ("base64", text("AP/+")),
        ("base64-url-safe", text("AP_-")),
        ("hex", text("00fffe")),
    ] {
        let more = [("binary.handling.mode", mode)];
        let mut source = Source::new("LATTICE_TEST_PG18", "bytes", &more).await;
        let create = "CREATE TABLE t(x bytea, xs bytea[])";
        let insert = "INSERT INTO t VALUES ('\\x00fffe', array['\\x00fffe'::bytea, NULL])";
        let seen = both_ways(&mut source, create, insert).await;
        assert_eq!(seen.column("x"), expected);
        assert_eq!(seen.column("xs"), Value::Array(vec![expected, Value::Null]));
    }
}

#[tokio::test]
async fn arrays_that_are_empty_nested_or_hold_what_looks_like_null() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = Source::new(server, "arrays", &[]).await;
        let create = "CREATE TABLE t(e int[], m int[], lb int[], s text[], n int[])";
        let insert = "INSERT INTO t VALUES ('{}', '{{1,2},{3,4}}', '[0:1]={7,8}', \
                      array['a,b', 'NULL', NULL, '', E'q\"\\\\', '{x}'], NULL)";
        let seen = both_ways(&mut source, create, insert).await;
        let ints = |ints: &[i64]| Value::Array(ints.iter().map(|int| Value::Int(*int)).collect());
        assert_eq!(seen.column("e"), ints(&[]));
        assert_eq!(seen.column("m"), ints(&[1, 2, 3, 4]), "several dimensions are flattened");
        assert_eq!(seen.column("lb"), ints(&[7, 8]));
        let strings =
            [text("a,b"), text("NULL"), Value::Null, text(""), text("q\"\\"), text("{x}")];
        assert_eq!(seen.column("s"), Value::Array(strings.to_vec()));
        assert_eq!(seen.column("n"), Value::Null);
    }
}

#[tokio::test]
async fn types_of_the_same_name_in_two_schemas_stay_apart() {
    let mut source = Source::new("LATTICE_TEST_PG15", "twins", &[]).await;
    let create = "CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE TYPE s1.kind AS ENUM ('a', 'b'); \
                  CREATE TYPE s2.kind AS ENUM ('x', 'y'); CREATE DOMAIN s1.amt AS numeric(10,2); \
                  CREATE DOMAIN s2.amt AS text; \
                  CREATE TABLE t(k s1.kind, m s1.amt, k2 s2.kind, m2 s2.amt, ka s2.kind[])";
    let insert = "INSERT INTO t VALUES ('a', 1.5, 'x', 'hello', '{x}')";
    let seen = both_ways(&mut source, create, insert).await;
    assert_eq!(seen.column("m"), Value::bytes(&[0, 150]));
    assert_eq!(seen.column("m2"), text("hello"));
    assert_eq!(seen.column("ka"), Value::Array(vec![text("x")]));
}

#[tokio::test]
async fn a_table_of_1600_columns() {
    let mut source = Source::new("LATTICE_TEST_PG15", "wide", &[]).await;
    let columns: Vec<String> = (0..1600).map(|at| format!("c{at} int2")).collect();
    let values: Vec<String> = (0..1600).map(|at| at.to_string()).collect();
    let create = format!("CREATE TABLE t({})", columns.join(", "));
    let insert = format!("INSERT INTO t VALUES ({})", values.join(", "));
    let seen = both_ways(&mut source, &create, &insert).await;
    assert_eq!(seen.column("c1599"), Value::Int(1599));
    assert_eq!(seen.columns.len(), 1600);
}

#[tokio::test]
async fn text_of_an_unknown_encoding_is_refused_naming_its_column() {
    let options = "ENCODING 'SQL_ASCII' LOCALE 'C'";
    let database =
        PostgresDatabase::create_with(&service("LATTICE_TEST_PG15"), "ascii", options).await;
    let mut source = Source::on(database, &[]);
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
    source.database.execute("INSERT INTO t VALUES (1, 'größe')").await;
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.len() == 1).await;
    assert_eq!((seen[0].op, seen[0].column("v")), (Op::Read, text("größe")));
    task.close().await;
    source.database.execute("INSERT INTO t VALUES (2, E'\\xff')").await;
    let message = first_error(&mut source).await;
    assert!(message.contains("\"v\" of public.t") && message.contains("SQL_ASCII"), "{message}");
}

#[tokio::test]
async fn a_value_of_200_mb_passes() {
    let mut source = Source::new("LATTICE_TEST_PG15", "huge", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (1, repeat('x', 200000000))").await;
    let seen = source.read(&mut task, |seen| seen.len() == 1).await;
    let Value::Text(value) = seen[0].column("v") else { panic!("no text") };
    assert!(value.as_str().len() == 200_000_000, "the value was cut");
    task.close().await;
}

#[tokio::test]
async fn a_row_that_the_server_cannot_send_stops_the_task_with_the_way_out() {
    let source = Source::new("LATTICE_TEST_PG15", "too_huge", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v bytea)").await;
    let mut task = source.open().await;
    // Its text has two digits a byte, and a server's text ends at 1 GiB.
    let insert = "INSERT INTO t VALUES (1, convert_to(repeat('x', 540000000), 'UTF8'))";
    source.database.execute(insert).await;
    let error = loop {
        match task.next_batch().await {
            Ok(batch) => {
                let events = batch.map_or(0, |batch| batch.events.len());
                assert_eq!(events, 0, "a row that cannot be sent came");
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Config, "waiting does not help: {}", error.chain());
    let told = error.chain();
    assert!(told.contains("larger than the server can send"), "{told}");
    assert!(told.contains("when_needed"), "{told}");
    task.close().await;
}

#[tokio::test]
async fn dates_at_the_ends_of_time_are_the_same_in_both_phases() {
    let create = "CREATE TABLE t(d date, d2 date, d3 date, da date[], ta timestamp[], ts timestamp, t2 timestamp, \
                  z timestamptz, z2 timestamptz, z3 timestamptz, z4 timestamptz)";
    let insert = "INSERT INTO t VALUES ('0044-03-15 BC', '5874897-12-31', 'infinity', '{0044-03-15 BC}', \
                  '{0044-03-15 00:00:00 BC}', '0001-01-01', '-infinity', '0044-03-15 00:00+00 BC', \
                  '12345-01-01 00:00+00', 'infinity', '-infinity')";
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = Source::new(server, "ends", &[]).await;
        let seen = both_ways(&mut source, create, insert).await;
        let ides = Value::Int(-735_160);
        assert_eq!((seen.column("d"), seen.column("da")), (ides.clone(), Value::Array(vec![ides])));
        assert_eq!(seen.column("d2"), Value::Int(2_145_042_905));
        let us = Value::Int(-735_160 * 86_400 * 1_000_000);
        assert_eq!(seen.column("ta"), Value::Array(vec![us]));
        assert_eq!(seen.column("ts"), Value::Int(-62_135_596_800_000_000));
        assert_eq!(seen.column("z"), text("-0043-03-15T00:00:00.000000Z"));
        assert_eq!(seen.column("z2"), text("+12345-01-01T00:00:00.000000Z"));
        assert_eq!((seen.column("z3"), seen.column("z4")), (text("infinity"), text("-infinity")));
        assert_ne!(seen.column("d3"), Value::Null);
        assert_ne!(seen.column("t2"), Value::Null);
    }
}

#[tokio::test]
async fn hstore_as_json_and_as_a_map() {
    let json = text(r#"{"a":"1","b":null}"#);
    let map = Value::Map(vec![(text("a"), text("1")), (text("b"), Value::Null)]);
    for (mode, expected) in [("json", json), ("map", map)] {
        let more = [("hstore.handling.mode", mode)];
        let mut source = Source::new("LATTICE_TEST_PG15", "hstore", &more).await;
        let create = "CREATE EXTENSION hstore; CREATE TABLE t(h hstore)";
        let insert = "INSERT INTO t VALUES ('a=>1, b=>NULL')";
        let seen = both_ways(&mut source, create, insert).await;
        assert_eq!(seen.column("h"), expected, "{mode}");
    }
}
