//! Upserts, deletes, keys, truncation, unchanged values.

use lattice_core::value::Value;

use crate::fixture::*;

const T: &str = "fulfillment.public.products";
const LIVE: &str = "SELECT id, v FROM `fulfillment.public.products_live` ORDER BY id";

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

#[tokio::test]
async fn inserts_updates_and_deletes_end_equal_to_the_source() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "upserts").await;
        let t = source();
        let events = vec![
            create(10, vec![int(1), text("a")]),
            create(11, vec![int(2), text("b")]),
            create(12, vec![int(3), Value::Null]),
            update(13, vec![int(1), text("a2")]),
            delete(14, vec![int(2)]),
            tombstone(vec![int(2)]),
        ];
        sink.write(batch(T, &t, 0, events)).await;
        assert_eq!(sink.lines(LIVE).await, ["1\ta2", "3\t\\N"], "{engine}");
        let events = vec![
            delete(20, vec![int(1)]),
            tombstone(vec![int(1)]),
            create(21, vec![int(2), text("b2")]),
        ];
        sink.write(batch(T, &t, 6, events)).await;
        assert_eq!(sink.lines(LIVE).await, ["2\tb2", "3\t\\N"], "{engine}");
        let (_, table) = sink.progress.tables().pop().unwrap();
        assert_eq!(table.events.load(std::sync::atomic::Ordering::Relaxed), 9);
    }
}

#[tokio::test]
async fn redelivered_old_delete_does_not_outrank_the_later_insert() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "redelivered").await;
        let t = source();
        let events = || {
            vec![
                create(100, vec![int(1), text("a")]),
                delete(200, vec![int(1)]),
                create(300, vec![int(1), text("b")]),
            ]
        };
        for event in events() {
            sink.write(batch(T, &t, 0, vec![event])).await;
        }
        for from in [0, 1, 2, 1, 0] {
            sink.reopen().await;
            for event in events().into_iter().skip(from) {
                sink.write(batch(T, &t, 0, vec![event])).await;
                assert_eq!(sink.lines(LIVE).await, ["1\tb"], "{engine}");
            }
        }
        // One batch that ends on the old delete again.
        sink.write(batch(
            T,
            &t,
            0,
            events().into_iter().chain(events().into_iter().take(2)).collect(),
        ))
        .await;
        assert_eq!(sink.lines(LIVE).await, ["1\tb"], "{engine}");
        // Merges may have removed the older ones meanwhile; none is new.
        let versions =
            "SELECT max(_version), uniqExact(_version) <= 3 FROM `fulfillment.public.products`";
        assert_eq!(sink.lines(versions).await, ["300\t1"]);
        sink.database.query("OPTIMIZE TABLE `fulfillment.public.products` FINAL").await;
        assert_eq!(sink.lines(LIVE).await, ["1\tb"], "{engine}");
    }
}

#[tokio::test]
async fn composite_key_that_changes_moves_the_row() {
    let mut sink = Sink::new(MODERN, "composite").await;
    let t = Source::new(vec![("a", int32()), ("b", string()), ("v", int32())], 2);
    let row = |a, b, v| vec![int(a), text(b), int(v)];
    let events = vec![
        create(1, row(1, "x", 1)),
        create(2, row(1, "y", 2)),
        delete(3, vec![int(1), text("x")]),
        create(3, row(1, "t", 1)),
        delete(4, vec![int(1), text("y")]),
        create(4, row(1, "x", 2)),
    ];
    sink.write(batch("t", &t, 0, events)).await;
    let lines = sink.lines("SELECT a, b, v FROM t_live ORDER BY a, b").await;
    assert_eq!(lines, ["1\tt\t1", "1\tx\t2"]);
}

#[tokio::test]
async fn truncation_removes_older_rows_whenever_they_come() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "truncation").await;
        let t = source();
        sink.write(batch(T, &t, 0, vec![create(10, vec![int(1), text("a")])])).await;
        let events = vec![
            create(11, vec![int(2), text("b")]),
            truncate(20),
            create(21, vec![int(3), text("c")]),
        ];
        sink.write(batch(T, &t, 1, events)).await;
        assert_eq!(sink.lines(LIVE).await, ["3\tc"], "{engine}");
        sink.write(batch(T, &t, 1, vec![create(12, vec![int(4), text("late")])])).await;
        assert_eq!(sink.lines(LIVE).await, ["3\tc"], "{engine}");
    }
}

#[tokio::test]
async fn untouched_large_value_is_kept_from_before_batch_or_table() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "toast").await;
        let columns = vec![("id", int32()), ("n", int32()), ("big", string().optional())];
        let t = Source::new(columns, 1);
        let live = "SELECT id, n, big FROM t_live ORDER BY id";
        let row = |id, n, big| vec![int(id), int(n), big];
        let events = vec![
            create(1, row(1, 0, text("one"))),
            create(2, row(2, 0, text("two"))),
            update(3, row(1, 1, Value::Unchanged)),
            create(4, row(3, 0, Value::Null)),
        ];
        sink.write(batch("t", &t, 0, events)).await;
        assert_eq!(sink.lines(live).await, ["1\t1\tone", "2\t0\ttwo", "3\t0\t\\N"], "{engine}");
        let mut full = update(7, row(3, 3, Value::Unchanged));
        full.before = Some(row(3, 0, text("before")));
        let events = vec![
            update(5, row(1, 2, Value::Unchanged)),
            update(6, row(2, 2, Value::Unchanged)),
            full,
        ];
        sink.write(batch("t", &t, 4, events)).await;
        assert_eq!(sink.lines(live).await, ["1\t2\tone", "2\t2\ttwo", "3\t3\tbefore"], "{engine}");
        let left = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name LIKE 'lattice_stage%'";
        assert_eq!(sink.lines(left).await, ["0"], "{engine}");
    }
}

#[tokio::test]
async fn table_without_a_key_keeps_every_event_once() {
    for engine in BOTH {
        let mut sink = Sink::new(engine, "keyless").await;
        let t = Source::new(vec![("a", int32()), ("v", string())], 0);
        let row = |a, v| vec![int(a), text(v)];
        let mut gone = delete(5, row(1, "x"));
        gone.key_only = false;
        let events = vec![
            create(1, row(1, "x")),
            create(2, row(1, "x")),
            create(3, row(2, "y")),
            update(4, row(2, "z")),
            gone,
        ];
        sink.write(batch("t", &t, 0, events)).await;
        let all = ["c\t1\tx", "c\t1\tx", "c\t2\ty", "u\t2\tz", "d\t1\tx"];
        let lines = "SELECT _op, a, v FROM t ORDER BY _offset";
        assert_eq!(sink.lines(lines).await, all, "{engine}");
        sink.reopen().await;
        sink.write(batch("t", &t, 1, vec![create(2, row(1, "x")), create(3, row(2, "y"))])).await;
        assert_eq!(sink.lines(lines).await, all, "{engine}");
    }
}
