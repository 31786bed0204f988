//! Tables made by hand, tables that evolve, names that collide.

use lattice_core::{
    connector::SinkConnector,
    error::ErrorKind,
    schema::{Field, Schema, Type},
    value::Value,
};
use lattice_sink_clickhouse::ClickHouseSink;

use crate::fixture::*;

#[tokio::test]
async fn hand_made_table_is_honoured_and_its_columns_are_mapped_by_name() {
    let mut sink = Sink::with(MODERN, "handmade", &[("schema.evolution", "none")]).await;
    sink.database
        .query(
            "CREATE TABLE `shop.public.t` (al Nullable(String) ALIAS a, id Int32, a String DEFAULT 'dflt', \
             lc LowCardinality(String) DEFAULT 'L', n Nullable(Int32) DEFAULT 5, mt String MATERIALIZED concat(a, '!')) \
             ENGINE = MergeTree ORDER BY id",
        )
        .await;
    let narrow = Source::new(vec![("id", int32())], 1);
    sink.write(batch("shop.public.t", &narrow, 0, vec![create(1, vec![int(1)])])).await;
    let wide = Source::new(vec![("id", int32()), ("a", string()), ("extra", int32())], 1);
    let row = |id| vec![int(id), text("x"), int(1)];
    sink.write(batch("shop.public.t", &wide, 1, vec![create(2, row(2))])).await;
    sink.database.query("ALTER TABLE `shop.public.t` ADD COLUMN z Int32 DEFAULT 3 FIRST").await;
    sink.write(batch("shop.public.t", &wide, 2, vec![create(3, row(3))])).await;
    let lines = sink.lines("SELECT id, a, lc, n, z, al, mt FROM `shop.public.t` ORDER BY id").await;
    assert_eq!(
        lines,
        ["1\tdflt\tL\t5\t3\tdflt\tdflt!", "2\tx\tL\t5\t3\tx\tx!", "3\tx\tL\t5\t3\tx\tx!"]
    );
    let (_, table) = sink.progress.tables().pop().unwrap();
    let message = table.message().unwrap_or_default();
    assert!(message.contains("field extra has no column"), "{message}");
}

#[tokio::test]
async fn columns_of_the_original_convention_are_filled() {
    let mut sink = Sink::new(MODERN, "original").await;
    sink.database
        .query(
            "CREATE TABLE `p.s.t` (id Int32, v String, op String, source_ts_ms Int64, __deleted String) \
             ENGINE = ReplacingMergeTree(source_ts_ms) ORDER BY id",
        )
        .await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let events = vec![
        create(1, vec![int(1), text("a")]),
        create(2, vec![int(2), text("b")]),
        delete(3, vec![int(2)]),
    ];
    sink.write(batch("p.s.t", &t, 0, events)).await;
    let lines =
        sink.lines("SELECT id, op, source_ts_ms, __deleted FROM `p.s.t` FINAL ORDER BY id").await;
    assert_eq!(lines, ["1\tc\t1700000000000\tfalse", "2\td\t1700000000000\ttrue"]);
}

#[tokio::test]
async fn deletes_in_a_table_without_any_mark_remove_the_row() {
    let mut sink = Sink::new(MODERN, "unmarked").await;
    sink.database
        .query("CREATE TABLE t (id Int32, v String, ver UInt64) ENGINE = ReplacingMergeTree(ver) ORDER BY id")
        .await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let events = vec![create(1, vec![int(1), text("a")]), create(2, vec![int(2), text("b")])];
    sink.write(batch("t", &t, 0, events)).await;
    sink.write(batch("t", &t, 2, vec![delete(3, vec![int(2)])])).await;
    assert_eq!(sink.lines("SELECT id, v, ver FROM t FINAL ORDER BY id").await, ["1\ta\t1"]);
}

#[tokio::test]
async fn column_that_cannot_hold_its_field_is_named_before_the_first_row() {
    let mut sink = Sink::new(MODERN, "impossible").await;
    sink.database
        .query("CREATE TABLE t (id Int32, v UUID, w Int32) ENGINE = MergeTree ORDER BY id")
        .await;
    let t = Source::new(vec![("id", int32()), ("v", Schema::new(Type::Int64)), ("w", string())], 1);
    let row = vec![int(1), int(1), text("x")];
    let error = sink.try_write(batch("t", &t, 0, vec![create(1, row)])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let message = error.chain();
    for part in
        ["column v of table t is UUID", "INT64", "column w of table t is Int32", "STRING", "Int64"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(sink.lines("SELECT count() FROM t").await, ["0"]);
}

#[tokio::test]
async fn added_and_widened_columns_follow_the_source() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "evolution").await;
        let t = Source::new(vec![("id", int32()), ("n", int32())], 1);
        sink.write(batch("t", &t, 0, vec![create(1, vec![int(1), int(1)])])).await;
        let columns =
            vec![("id", int32()), ("n", Schema::new(Type::Int64).optional()), ("added", string())];
        let t = Source::new(columns, 1);
        let events = vec![
            create(2, vec![int(2), int(1 << 40), text("x")]),
            create(3, vec![int(3), Value::Null, text("y")]),
        ];
        sink.write(batch("t", &t, 1, events)).await;
        let lines = sink.lines("SELECT id, n, added FROM t_live ORDER BY id").await;
        assert_eq!(lines, ["1\t1\t\\N", "2\t1099511627776\tx", "3\t\\N\ty"], "{engine}");
    }
}

#[tokio::test]
async fn source_columns_with_reserved_names_are_kept_under_others() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "reserved").await;
        let columns = vec![
            ("id", int32()),
            ("is_deleted", int32()),
            ("_version", int32()),
            ("_Sign", int32()),
        ];
        let t = Source::new(columns, 1);
        let row = |id, flag| vec![int(id), int(flag), int(7), int(0)];
        let events = vec![
            create(10, row(1, 1)),
            create(11, row(2, 0)),
            update(12, row(1, 0)),
            delete(13, vec![int(2)]),
        ];
        sink.write(batch("t", &t, 0, events)).await;
        let lines = sink.lines("SELECT id, src_is_deleted, src__version, _Sign FROM t_live").await;
        assert_eq!(lines, ["1\t0\t7\t0"], "{engine}");
    }
}

#[tokio::test]
async fn arrays_with_dots_in_their_names_are_not_one_nested_group() {
    let mut sink = Sink::new(MODERN, "dotted").await;
    let list = || Schema::array(std::sync::Arc::new(string()));
    let t = Source::new(vec![("id", int32()), ("before.a", list()), ("before.b", list())], 1);
    let row = vec![int(1), Value::Array(vec![text("x")]), Value::Array(vec![])];
    sink.write(batch("t", &t, 0, vec![create(1, row)])).await;
    assert_eq!(sink.lines("SELECT before_a, before_b FROM t_live").await, ["['x']\t[]"]);
}

#[tokio::test]
async fn names_with_quotes_dots_spaces_and_unicode_are_kept() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "names").await;
        let t = Source::new(vec![("i d", int32()), ("naïve \"quoted\" `x`", string())], 1);
        sink.write(batch("p.sch ema.tä`ble", &t, 0, vec![create(1, vec![int(1), text("v")])]))
            .await;
        let sql = "SELECT `i d`, `naïve \"quoted\" \\`x\\`` FROM `p.sch ema.tä\\`ble_live`";
        assert_eq!(sink.lines(sql).await, ["1\tv"], "{engine}");
    }
}

#[tokio::test]
async fn preview_tells_columns_statements_and_mismatches() {
    let sink = Sink::new(MODERN, "preview").await;
    let fields = vec![Field::new("id", int32()), Field::new("v", string().optional())];
    let row = Schema::structure("p.s.t", fields);
    let key = ["id".to_owned()];
    let preview = ClickHouseSink.preview(&sink.config, "p.s.t", &row, &key).await.unwrap();
    assert!(!preview.exists);
    assert_eq!(preview.columns[1], ["v", "STRING", "v", "Nullable(String)"].map(str::to_owned));
    assert_eq!(preview.statements.len(), 2);
    assert!(preview.issues.is_empty(), "{:?}", preview.issues);
    sink.database
        .query("CREATE TABLE `p.s.t` (id UUID, w Int32) ENGINE = MergeTree ORDER BY id")
        .await;
    let preview = ClickHouseSink.preview(&sink.config, "p.s.t", &row, &key).await.unwrap();
    assert!(preview.exists);
    assert_eq!(
        preview.statements,
        [format!(
            "ALTER TABLE `{}`.`p.s.t` ADD COLUMN IF NOT EXISTS `v` Nullable(String)",
            sink.database.name()
        )]
    );
    assert!(
        preview
            .issues
            .iter()
            .any(|issue| issue.message.contains("column id of table p.s.t is UUID"))
    );
}
