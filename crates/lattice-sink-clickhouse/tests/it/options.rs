//! Keys that change what is done: each shown by what it does to a server.

use std::sync::Arc;

use lattice_core::{
    config::Severity,
    connector::SinkConnector,
    error::ErrorKind,
    schema::{Schema, Type},
    value::Value,
};
use lattice_sink_clickhouse::ClickHouseSink;
use lattice_testkit::{TlsFront, ca_certificate};

use crate::fixture::*;

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

#[tokio::test]
async fn inserts_compressed_by_lz4_arrive() {
    let mut sink = Sink::with(MODERN, "lz4", &[("compression", "lz4")]).await;
    let events = (0..5000).map(|id| create(id, vec![int(id as i64), text("a text")])).collect();
    sink.write(batch("t", &source(), 0, events)).await;
    let sums = sink.lines("SELECT count(), sum(id), countIf(v = 'a text') FROM t_live").await;
    assert_eq!(sums, ["5000\t12497500\t5000"]);
}

#[tokio::test]
async fn lz4_for_a_server_that_cannot_read_it_is_refused_before_the_first_row() {
    let sink = Sink::with("LATTICE_TEST_CH18", "oldlz4", &[("compression", "lz4")]).await;
    let issues = ClickHouseSink.validate(&sink.config).await;
    assert!(issues.iter().any(|issue| issue.key == "compression"), "{issues:?}");
    let Err(error) = sink.open().await else { panic!("it was opened") };
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn settings_of_the_configuration_go_with_every_insert() {
    let setting = "input_format_native_allow_types_conversion=0";
    for (keys, refused) in [(vec![], 0), (vec![("clickhouseSettings", setting)], 1)] {
        let mut sink = Sink::with(MODERN, "settings", &keys).await;
        sink.database
            .query("CREATE TABLE t (id Int32, v IPv4) ENGINE = MergeTree ORDER BY id")
            .await;
        let t = Source::new(vec![("id", int32()), ("v", string())], 1);
        let write = batch("t", &t, 0, vec![create(1, vec![int(1), text("10.0.0.1")])]);
        let rejected = sink.try_write(write).await.unwrap();
        assert_eq!(rejected.len(), refused, "{rejected:?}");
    }
    let keys = [("clickhouseSettings", "no_such_setting=1")];
    let mut sink = Sink::with(MODERN, "nosetting", &keys).await;
    let write = batch("t", &source(), 0, vec![create(1, vec![int(1), text("x")])]);
    let error = sink.try_write(write).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.chain().contains("no_such_setting"), "{}", error.chain());
}

#[tokio::test]
async fn topics_go_to_the_tables_that_they_are_mapped_to() {
    let keys = [
        ("topic2TableMap", "shop.public.a = `goods`, shop.public.b=other"),
        ("table.name.format", "raw_${topic}"),
    ];
    let mut sink = Sink::with(MODERN, "mapped", &keys).await;
    for topic in ["shop.public.a", "shop.public.b", "c"] {
        sink.write(batch(topic, &source(), 0, vec![create(1, vec![int(1), text("x")])])).await;
    }
    let tables = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View' ORDER BY name";
    assert_eq!(sink.lines(tables).await, ["goods", "other", "raw_c"]);
}

#[tokio::test]
async fn deleted_rows_are_marked_kept_or_ignored_as_told() {
    for engine in BOTH {
        for (mode, left) in [
            ("tombstone", vec!["1\t\t1", "2\tb\t0"]),
            ("soft", vec!["1\ta2\t1", "2\tb\t0"]),
            ("ignore", vec!["1\ta2\t0", "2\tb\t0"]),
        ] {
            let mut sink = Sink::with(engine, "deletes", &[("delete.mode", mode)]).await;
            let t = Source::new(vec![("id", int32()), ("v", string())], 1);
            let events = vec![
                create(1, vec![int(1), text("a")]),
                create(2, vec![int(2), text("b")]),
                update(3, vec![int(1), text("a2")]),
                delete(4, vec![int(1)]),
                tombstone(vec![int(1)]),
            ];
            sink.write(batch("t", &t, 0, events)).await;
            let rows = "SELECT id, argMax(v, _version), argMax(is_deleted, _version) FROM t GROUP BY id ORDER BY id";
            assert_eq!(sink.lines(rows).await, left, "{mode} on {engine}");
            let live = sink.lines("SELECT id FROM t_live ORDER BY id").await;
            assert_eq!(live.len(), left.iter().filter(|row| row.ends_with('0')).count());
        }
    }
}

#[tokio::test]
async fn field_without_column_fails_the_task_if_told_so() {
    let keys = [("schema.evolution", "none"), ("unmapped.fields", "fail")];
    let mut sink = Sink::with(MODERN, "unmapped", &keys).await;
    sink.database.query("CREATE TABLE t (id Int32) ENGINE = MergeTree ORDER BY id").await;
    let write = batch("t", &source(), 0, vec![create(1, vec![int(1), text("x")])]);
    let error = sink.try_write(write).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.to_string().contains("field v has no column in table t"), "{error}");
    assert!(error.remedy().is_some());
    assert_eq!(sink.lines("SELECT count() FROM t").await, ["0"]);
}

#[tokio::test]
async fn maps_arrive_with_their_keys_and_values() {
    let map = Schema::map(Arc::new(string()), Arc::new(Schema::new(Type::Int64).optional()));
    for engine in BOTH {
        let mut sink = Sink::new(engine, "maps").await;
        let t = Source::new(vec![("id", int32()), ("m", map.clone())], 1);
        let pairs = |pairs: &[(&'static str, i64)]| {
            Value::Map(pairs.iter().map(|(key, item)| (text(key), int(*item))).collect())
        };
        let events = vec![
            create(1, vec![int(1), pairs(&[("a", 1), ("b", 2)])]),
            create(2, vec![int(2), pairs(&[])]),
            create(3, vec![int(3), Value::Map(vec![(text("c"), Value::Null)])]),
        ];
        sink.write(batch("t", &t, 0, events)).await;
        let shown = sink.lines("SELECT id, toString(m) FROM t_live ORDER BY id").await;
        if engine == MODERN {
            assert_eq!(shown, ["1\t{\\'a\\':1,\\'b\\':2}", "2\t{}", "3\t{\\'c\\':NULL}"]);
            assert_eq!(sink.lines("SELECT m['b'] FROM t WHERE id = 1").await, ["2"]);
        } else {
            assert_eq!(shown, ["1\t{\"a\":1,\"b\":2}", "2\t{}", "3\t{\"c\":null}"]);
        }
    }
}

#[tokio::test]
async fn table_of_1600_columns_is_made_and_filled() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "wide").await;
        let names: Vec<String> = (1..1600).map(|at| format!("c{at}")).collect();
        let mut columns = vec![("id", int32())];
        columns.extend(names.iter().map(|name| (name.as_str(), string().optional())));
        let t = Source::new(columns, 1);
        let row = |id| {
            let mut row = vec![int(id)];
            row.extend((1..1600).map(|at| if at % 2 == 0 { Value::Null } else { text("v") }));
            row
        };
        let events = (0..20).map(|id| create(id, row(id as i64))).collect();
        sink.write(batch("t", &t, 0, events)).await;
        let sums = "SELECT count(), countIf(c1 = 'v'), countIf(c2 IS NULL), countIf(c1599 = 'v') FROM t_live";
        assert_eq!(sink.lines(sums).await, ["20\t20\t20\t20"], "{engine}");
    }
}

#[tokio::test]
async fn server_is_reached_by_https_if_its_authority_is_known() {
    let mut sink = Sink::with(MODERN, "https", &[("ssl", "true")]).await;
    let front = TlsFront::start(sink.database.url()).await;
    sink.config.set("port", front.port().to_string());
    let write = || batch("t", &source(), 0, vec![create(1, vec![int(1), text("x")])]);

    // The system does not know the authority of the tests; waiting will not change that.
    let issues = ClickHouseSink.validate(&sink.config).await;
    assert_eq!(issues[0].key, "ssl.ca.location", "{issues:?}");
    let error = sink.try_write(write()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.chain().contains("certificate"), "{}", error.chain());
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("ssl.ca.location")));

    sink.config.set("ssl.ca.location", "/no/such/file.pem");
    let issues = ClickHouseSink.validate(&sink.config).await;
    assert_eq!(issues[0].key, "ssl.ca.location", "{issues:?}");
    assert!(issues[0].message.contains("/no/such/file.pem"), "{issues:?}");

    sink.config.set("ssl.ca.location", ca_certificate().to_string_lossy());
    assert!(ClickHouseSink.validate(&sink.config).await.is_empty());
    sink.write(write()).await;
    assert_eq!(sink.lines("SELECT id, v FROM t_live").await, ["1\tx"]);
}

#[tokio::test]
async fn user_who_may_only_read_is_told_at_validation() {
    let mut sink = Sink::new("LATTICE_TEST_CH18", "readonly").await;
    sink.config.set("username", "readonly");
    let issues = ClickHouseSink.validate(&sink.config).await;
    let issue = issues.iter().find(|issue| issue.key == "username").unwrap_or_else(|| {
        panic!("no word of the user's rights: {issues:?}");
    });
    assert_eq!(issue.severity, Severity::Error);
    assert!(issue.message.contains("may only read") && issue.remedy.is_some(), "{issue:?}");
}
