//! What goes wrong between sink and server.

use std::{future::Future, time::Duration};

use lattice_core::{
    connector::{SinkConnector, WriteStatus},
    error::ErrorKind,
    schema::{Schema, Type},
    value::Value,
};
use lattice_sink_clickhouse::ClickHouseSink;
use lattice_testkit::{TcpProxy, wait_until};

use crate::fixture::*;

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string())], 1)
}

#[tokio::test]
async fn one_row_that_the_server_refuses_is_found_and_the_others_pass() {
    let mut sink = Sink::new(MODERN, "poison").await;
    sink.database.query("CREATE TABLE t (id Int32, s IPv4, l Array(String)) ENGINE = ReplacingMergeTree ORDER BY id").await;
    let list = Schema::array(std::sync::Arc::new(string()));
    let t = Source::new(vec![("id", int32()), ("s", string()), ("l", list)], 1);
    let row = |id: i64| {
        let address = if id == 37 { "10.0.0.256" } else { "10.0.0.1" };
        vec![int(id), text(address), Value::Array(vec![text("a"); id as usize % 3])]
    };
    let events = (0..100).map(|id| create(id, row(id as i64))).collect();
    let rejected = sink.try_write(batch("t", &t, 1000, events)).await.unwrap();
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(rejected[0].offset, 1037);
    assert_eq!(rejected[0].error.kind(), ErrorKind::Data);
    let lines =
        sink.lines("SELECT count(), countIf(id = 37), countIf(length(l) = id % 3) FROM t").await;
    assert_eq!(lines, ["99\t0\t99"]);
}

#[tokio::test]
async fn text_too_long_for_its_column_is_rejected_alone() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "toolong").await;
        sink.database
            .query("CREATE TABLE t (id Int32, s FixedString(3)) ENGINE = MergeTree ORDER BY id")
            .await;
        let t = Source::new(vec![("id", int32()), ("s", string())], 1);
        let events =
            vec![create(1, vec![int(1), text("ok")]), create(2, vec![int(2), text("toolong")])];
        let rejected = sink.try_write(batch("t", &t, 0, events)).await.unwrap();
        assert_eq!(rejected.len(), 1, "{engine}: {rejected:?}");
        assert_eq!(sink.lines("SELECT id FROM t").await, ["1"], "{engine}");
    }
}

#[tokio::test]
async fn values_that_cannot_be_encoded_are_rejected_with_column_and_cause() {
    let mut sink = Sink::new(MODERN, "enums").await;
    sink.database
        .query("CREATE TABLE t (id Int32, e Enum8('A' = 1, 'B' = 2), n Int32) ENGINE = MergeTree ORDER BY id")
        .await;
    let t = Source::new(vec![("id", int32()), ("e", string()), ("n", int32().optional())], 1);
    let events = vec![
        create(1, vec![int(1), text("A"), int(1)]),
        create(2, vec![int(2), text("C"), int(1)]),
        create(3, vec![int(3), text("B"), Value::Null]),
        create(4, vec![int(4), text("B"), int(4)]),
    ];
    let rejected = sink.try_write(batch("t", &t, 0, events)).await.unwrap();
    let offsets: Vec<i64> = rejected.iter().map(|row| row.offset).collect();
    assert_eq!(offsets, [1, 2]);
    assert!(rejected[0].error.to_string().contains("column e of table t"), "{:?}", rejected[0]);
    assert!(rejected[1].error.to_string().contains("NULL"), "{:?}", rejected[1]);
    assert_eq!(sink.lines("SELECT id, e, n FROM t ORDER BY id").await, ["1\tA\t1", "4\tB\t4"]);
}

#[tokio::test]
async fn answer_lost_on_the_way_and_the_insert_repeated_change_nothing() {
    for keys in [1, 0] {
        let mut sink = Sink::new(MODERN, "lost").await;
        let proxy = TcpProxy::start(sink.database.url());
        sink.config.set("port", proxy.port().to_string());
        let t = Source::new(vec![("id", int32()), ("v", string())], keys);
        for round in 0..5 {
            let events = || {
                (0..200)
                    .map(|id| {
                        create(round * 1000 + id, vec![int((round * 200 + id) as i64), text("x")])
                    })
                    .collect()
            };
            let offset = (round * 200) as i64;
            if round > 0 {
                proxy.lose_next_answer();
            }
            while let Err(error) = sink.try_write(batch("t", &t, offset, events())).await {
                assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
                sink.reopen().await;
            }
        }
        assert_eq!(
            sink.lines(
                "SELECT count(), uniqExact(id) FROM t FINAL".trim_end_matches(if keys == 0 {
                    " FINAL"
                } else {
                    ""
                })
            )
            .await,
            ["1000\t1000"]
        );
    }
}

#[tokio::test]
async fn too_many_parts_is_waited_for() {
    let mut sink = Sink::with(MODERN, "parts", &[("retryCount", "0")]).await;
    sink.database
        .query(
            "CREATE TABLE t (id Int32, v String) ENGINE = MergeTree ORDER BY id SETTINGS parts_to_throw_insert = 3, \
             parts_to_delay_insert = 0, max_bytes_to_merge_at_max_space_in_pool = 1, merge_selector_algorithm = 'Simple'",
        )
        .await;
    for id in 0..3 {
        sink.database
            .query(&format!("INSERT INTO t SETTINGS async_insert = 0 VALUES ({id}, '')"))
            .await;
    }
    let t = source();
    let write = || batch("t", &t, 0, vec![create(1, vec![int(9), text("x")])]);
    let error = sink.try_write(write()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
    sink.database.query("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 3000").await;
    sink.reopen().await;
    sink.write(write()).await;
    assert_eq!(sink.lines("SELECT count() FROM t WHERE id = 9").await, ["1"]);
}

#[tokio::test]
async fn wrong_password_host_and_database_are_named() {
    let sink = Sink::new(MODERN, "wrong").await;
    let issues = ClickHouseSink.validate(&sink.config).await;
    assert!(issues.is_empty(), "{issues:?}");
    for (key, value, named, part) in [
        ("password", "hunter2", "password", "516"),
        ("database", "no_such_database", "database", "no_such_database"),
        ("port", "1", "hostname", "cannot reach"),
    ] {
        let mut config = sink.config.clone();
        config.set(key, value);
        let issues = ClickHouseSink.validate(&config).await;
        assert_eq!(issues[0].key, named, "{issues:?}");
        assert!(issues[0].message.contains(part), "{issues:?}");
        assert!(issues[0].remedy.is_some(), "{issues:?}");
        assert!(!format!("{issues:?}").contains("hunter2"));
    }
    let mut wrong = Sink::new(MODERN, "auth").await;
    wrong.config.set("password", "hunter2");
    let error = wrong.try_write(batch("t", &source(), 0, Vec::new())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
}

#[tokio::test]
async fn rows_are_written_within_the_latency_while_others_come() {
    let sink = Sink::new(MODERN, "latency").await;
    let mut task = sink.open().await.unwrap();
    let t = source();
    let first = batch("t", &t, 0, vec![create(1, vec![int(0), text("x")])]);
    assert!(matches!(task.write(first).await.unwrap(), WriteStatus::Accepted));
    let mut offset = 1;
    let mut reported = 0;
    while reported == 0 {
        // No further batch comes: the task itself sees to it that the row is written.
        if let WriteStatus::Written { batches, rejected } = task.advance().await.unwrap() {
            assert!(rejected.is_empty());
            reported += batches;
        }
    }
    assert_eq!(sink.lines("SELECT count() FROM t").await, ["1"]);
    let writing = &mut task;
    wait_until(Duration::from_secs(20), "rows are written while others are gathered", async || {
        let next = batch("t", &t, offset, vec![create(2, vec![int(offset), text("y")])]);
        offset += 1;
        if let WriteStatus::Written { batches, rejected } = writing.write(next).await.unwrap() {
            assert!(rejected.is_empty());
            reported += batches;
        }
        reported > 3
    })
    .await;
    let count: usize = sink.lines("SELECT count() FROM t").await[0].parse().unwrap();
    assert!(count >= reported, "{reported} batches are said to be safe, {count} rows are there");
    assert!(task.flush().await.unwrap().is_empty());
    assert_eq!(sink.lines("SELECT count() FROM t").await, [offset.to_string()]);
    let idle = std::pin::pin!(task.advance());
    let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(idle.poll(&mut waker).is_pending(), "nothing is held");
}

#[tokio::test]
async fn several_tables_are_written_together() {
    let mut sink = Sink::new(MODERN, "several").await;
    for round in 0..2 {
        for at in 0..6 {
            let t = Source::new(vec![("id", int32()), ("n", Schema::new(Type::Int64))], 1);
            let events = (0..50).map(|id| create(id, vec![int(id as i64), int(round)])).collect();
            sink.write(batch(["a", "b", "c", "d", "e", "f"][at], &t, round * 50, events)).await;
        }
    }
    for table in ["a", "f"] {
        assert_eq!(sink.lines(&format!("SELECT count() FROM {table}_live")).await, ["50"]);
    }
}

#[tokio::test]
async fn rows_of_two_structures_in_one_write_all_arrive() {
    for server in BOTH {
        let sink = Sink::new(server, "two_structures").await;
        let before = Source::new(vec![("id", int32())], 1);
        let after =
            Source::new(vec![("id", int32()), ("n", Schema::new(Type::Int64).optional())], 1);
        let mut task = sink.open().await.unwrap();
        let old = (0..50).map(|id| create(id, vec![int(id as i64)])).collect();
        task.write(batch("t", &before, 0, old)).await.unwrap();
        task.write(batch("t", &after, 50, vec![create(50, vec![int(50), int(7)])])).await.unwrap();
        let late = (51..60).map(|id| create(id, vec![int(id as i64)])).collect();
        task.write(batch("t", &before, 51, late)).await.unwrap();
        assert!(task.flush().await.unwrap().is_empty());
        assert_eq!(sink.lines("SELECT count(), sum(n) FROM t").await, ["60\t7"]);
    }
}
