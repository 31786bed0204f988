//! What must come out right although rows are refused, tasks die and tables misbehave.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lattice_core::{
    error::ErrorKind,
    schema::{Schema, Type},
};
use lattice_testkit::wait_until;

use crate::fixture::*;

fn addresses() -> Source {
    Source::new(vec![("id", int32()), ("s", string())], 1)
}

const VERSIONED: &str = "CREATE TABLE t (id Int32, s IPv4, _version UInt64, is_deleted UInt8) \
     ENGINE = ReplacingMergeTree(_version, is_deleted) ORDER BY id";

#[tokio::test]
async fn refused_change_leaves_the_row_as_it_was_before_it_wherever_batches_begin() {
    let events = || {
        vec![
            create(1, vec![int(1), text("10.0.0.1")]),
            update(2, vec![int(1), text("10.0.0.2")]),
            update(3, vec![int(1), text("10.0.0.256")]),
        ]
    };
    for together in [true, false] {
        let mut sink = Sink::new(MODERN, "refused_last").await;
        sink.database.query(VERSIONED).await;
        let t = addresses();
        let mut rejected = Vec::new();
        if together {
            rejected.extend(sink.try_write(batch("t", &t, 0, events())).await.unwrap());
        } else {
            for (offset, event) in (0..).zip(events()) {
                rejected.extend(sink.try_write(batch("t", &t, offset, vec![event])).await.unwrap());
            }
        }
        let offsets: Vec<i64> = rejected.iter().map(|row| row.offset).collect();
        assert_eq!(offsets, [2]);
        let told = rejected[0].error.remedy().unwrap_or_default();
        assert!(told.contains("the row as it was before"), "{:?}", rejected[0].error);
        assert_eq!(sink.lines("SELECT id, s FROM t FINAL").await, ["1\t10.0.0.2"], "{together}");
    }
}

#[tokio::test]
async fn row_without_a_key_that_was_refused_is_refused_again_after_a_crash() {
    let mut sink = Sink::new(MODERN, "refused_again").await;
    sink.database
        .query(
            "CREATE TABLE t (id Int32, s IPv4, _op String, _topic String, _partition Int32, \
             _offset Int64) ENGINE = MergeTree ORDER BY (_topic, _partition, _offset)",
        )
        .await;
    let t = Source::new(vec![("id", int32()), ("s", string())], 0);
    let events = || {
        let address = |id| if id == 5 { "10.0.0.256" } else { "10.0.0.1" };
        (0..10).map(|id| create(id, vec![int(id as i64), text(address(id))])).collect()
    };
    for _ in 0..2 {
        let rejected = sink.try_write(batch("t", &t, 100, events())).await.unwrap();
        let offsets: Vec<i64> = rejected.iter().map(|row| row.offset).collect();
        assert_eq!(offsets, [105]);
        assert_eq!(sink.lines("SELECT count(), uniqExact(id) FROM t").await, ["9\t9"]);
        // The rows are there; their offsets were not stored before the task died.
        sink.reopen().await;
    }
}

#[tokio::test]
async fn table_that_cannot_be_written_though_it_is_unchanged_fails_the_task() {
    let mut sink = Sink::with(MODERN, "lasting", &[("retryCount", "1")]).await;
    for sql in [
        "CREATE TABLE t (id Int32, v String) ENGINE = MergeTree ORDER BY id",
        "CREATE TABLE copies (id Int32) ENGINE = MergeTree ORDER BY id",
        "CREATE MATERIALIZED VIEW into_copies TO copies AS SELECT id FROM t",
        "DROP TABLE copies SYNC",
    ] {
        sink.database.query(sql).await;
    }
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let write = || batch("t", &t, 0, vec![create(1, vec![int(1), text("x")])]);
    let error = sink.try_write(write()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.chain().contains("copies"), "{}", error.chain());
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("materialized view")));
}

#[tokio::test]
async fn table_that_was_changed_under_the_task_is_read_again() {
    let mut sink = Sink::with(MODERN, "changed", &[("retryCount", "0")]).await;
    sink.database.query("CREATE TABLE t (id Int32, v String) ENGINE = MergeTree ORDER BY id").await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let write = |id: i64| batch("t", &t, id, vec![create(1, vec![int(id), text("x")])]);
    sink.write(write(0)).await;
    sink.database.query("ALTER TABLE t DROP COLUMN v").await;
    let error = sink.try_write(write(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
    sink.reopen().await;
    sink.write(write(1)).await;
    assert_eq!(sink.lines("SELECT id, v FROM t ORDER BY id").await, ["0\t\\N", "1\tx"]);
}

#[tokio::test]
async fn delete_by_statement_takes_no_row_that_is_newer_than_it() {
    let mut sink = Sink::new(MODERN, "statement").await;
    sink.database
        .query(
            "CREATE TABLE t (id Int32, v String, ver UInt64) ENGINE = ReplacingMergeTree(ver) \
             ORDER BY id",
        )
        .await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let events = || {
        vec![
            create(100, vec![int(1), text("a")]),
            delete(200, vec![int(1)]),
            create(300, vec![int(1), text("b")]),
            create(301, vec![int(2), text("c")]),
            delete(302, vec![int(2)]),
        ]
    };
    sink.write(batch("t", &t, 0, events())).await;
    assert_eq!(sink.lines("SELECT id, v FROM t FINAL").await, ["1\tb"]);
    sink.reopen().await;
    sink.write(batch("t", &t, 0, events().into_iter().take(2).collect())).await;
    assert_eq!(sink.lines("SELECT id, v FROM t FINAL").await, ["1\tb"]);
}

#[tokio::test]
async fn row_made_after_its_delete_by_statement_stays() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "remade").await;
        sink.database
            .query("CREATE TABLE t (id Int32, v String) ENGINE = MergeTree ORDER BY id")
            .await;
        let t = Source::new(vec![("id", int32()), ("v", string())], 1);
        let events = vec![
            create(1, vec![int(1), text("a")]),
            delete(2, vec![int(1)]),
            create(3, vec![int(1), text("b")]),
        ];
        sink.write(batch("t", &t, 0, events)).await;
        let sink = &sink;
        wait_until(Duration::from_secs(20), "the deletion is done", async || {
            sink.lines("SELECT id, v FROM t").await == ["1\tb"]
        })
        .await;
    }
}

#[tokio::test]
async fn truncation_is_remembered_after_a_restart() {
    let mut sink = Sink::new(MODERN, "truncated").await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    sink.write(batch("t", &t, 0, vec![create(10, vec![int(1), text("a")])])).await;
    sink.database.query("ALTER TABLE t MODIFY COMMENT 'ours'").await;
    for version in [15, 20] {
        sink.write(batch("t", &t, 1, vec![truncate(version)])).await;
    }
    sink.reopen().await;
    // From a partition that was behind.
    let late = vec![create(12, vec![int(2), text("late")]), create(21, vec![int(3), text("new")])];
    sink.write(batch("t", &t, 2, late)).await;
    assert_eq!(sink.lines("SELECT id, v FROM t_live").await, ["3\tnew"]);
    let comment =
        "SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = 't'";
    let comment = sink.lines(comment).await.remove(0);
    assert!(comment.starts_with("ours") && comment.contains("below 20"), "{comment}");
    assert_eq!(comment.matches("lattice").count(), 1, "{comment}");
}

#[tokio::test]
async fn latency_that_was_widened_for_too_many_parts_narrows_again() {
    let sink = Sink::with(MODERN, "narrows", &[("retryCount", "10")]).await;
    sink.database
        .query(
            "CREATE TABLE t (id Int32, v String) ENGINE = MergeTree ORDER BY id SETTINGS \
             parts_to_throw_insert = 1, parts_to_delay_insert = 0, \
             max_bytes_to_merge_at_max_space_in_pool = 1, merge_selector_algorithm = 'Simple'",
        )
        .await;
    sink.database.query("INSERT INTO t SETTINGS async_insert = 0 VALUES (0, '')").await;
    let t = Source::new(vec![("id", int32()), ("v", string())], 1);
    let write = |id: i64| batch("t", &t, id, vec![create(1, vec![int(id), text("x")])]);
    let latency = sink.progress.gauge("sink_batch_latency_ms");
    let mended = async {
        wait_until(Duration::from_secs(20), "the latency is widened", async || {
            latency.load(Ordering::Relaxed) > 100
        })
        .await;
        sink.database.query("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 3000").await;
    };
    let mut task = sink.open().await.unwrap();
    let written = async {
        task.write(write(1)).await.unwrap();
        task.flush().await.unwrap()
    };
    let ((), rejected) = tokio::join!(mended, written);
    assert!(rejected.is_empty(), "{rejected:?}");
    let mut id = 2;
    wait_until(Duration::from_secs(20), "the latency is what was asked for", async || {
        task.write(write(id)).await.unwrap();
        task.flush().await.unwrap();
        id += 1;
        latency.load(Ordering::Relaxed) == 100
    })
    .await;
}

#[tokio::test]
async fn untouched_values_of_two_columns_are_found_in_whatever_order_they_change() {
    let mut sink = Sink::new(MODERN, "two_holes").await;
    let columns = vec![
        ("id", int32()),
        ("a", string().optional()),
        ("b", string().optional()),
        ("l", Schema::array(Arc::new(Schema::new(Type::Int32))).optional()),
    ];
    let t = Source::new(columns, 1);
    let row = |id, a, b| vec![int(id), a, b, lattice_core::value::Value::Null];
    let kept = || lattice_core::value::Value::Unchanged;
    let events = vec![
        create(1, row(1, text("a1"), text("b1"))),
        create(2, row(2, text("a1"), text("b1"))),
        update(3, row(1, kept(), text("b2"))),
        update(4, row(1, text("a2"), kept())),
        update(5, row(2, text("a2"), kept())),
        update(6, row(1, kept(), text("b3"))),
        update(7, row(2, kept(), text("b2"))),
        update(8, row(2, kept(), kept())),
    ];
    sink.write(batch("t", &t, 0, events)).await;
    let lines = sink.lines("SELECT id, a, b FROM t_live ORDER BY id").await;
    assert_eq!(lines, ["1\ta2\tb3", "2\ta2\tb2"]);
}
