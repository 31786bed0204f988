//! Tables that are read again by signals, while the stream goes on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lattice_core::{
    event::{Op, SnapshotMarker},
    value::Value,
};

use crate::harness::{Seen, Source, number};

const SIGNALS: &str =
    "CREATE TABLE dbz_signal(id varchar(64) PRIMARY KEY, type varchar(32), data text)";

async fn signalled(server: &str, hint: &str, chunk: &str) -> Source {
    let more = [
        ("snapshot.mode", "no_data"),
        ("signal.data.collection", "public.dbz_signal"),
        ("incremental.snapshot.chunk.size", chunk),
        ("table.exclude.list", "public.dbz_signal"),
    ];
    let source = Source::new(server, hint, &more).await;
    source.database.execute(SIGNALS).await;
    source
}

async fn execute(source: &Source, id: &str, tables: &str) {
    let sql = format!(
        "INSERT INTO dbz_signal VALUES ('{id}', 'execute-snapshot', \
         '{{\"data-collections\": [{tables}], \"type\": \"incremental\"}}')"
    );
    source.database.execute(&sql).await;
}

fn read_of(seen: &[Seen], table: &str) -> usize {
    seen.iter().filter(|event| event.op == Op::Read && event.table == table).count()
}

#[tokio::test]
async fn a_key_of_nan_and_generated_columns_do_not_end_it_early() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = signalled(server, "incremental", "10").await;
        source.config.set("decimal.handling.mode", "string");
        source
            .database
            .execute(
                "CREATE TABLE ink(k numeric PRIMARY KEY, v int); \
                 INSERT INTO ink SELECT g, g FROM generate_series(1, 50) g; \
                 INSERT INTO ink VALUES ('NaN', -1); \
                 CREATE TABLE ing(id int PRIMARY KEY, a int, g int GENERATED ALWAYS AS (a * 2) STORED); \
                 INSERT INTO ing SELECT g, g FROM generate_series(1, 20) g; \
                 CREATE TABLE \"Odd \"\"q\"\"\"(\"A\" text, b int, v text, PRIMARY KEY (b, \"A\")); \
                 INSERT INTO \"Odd \"\"q\"\"\" SELECT 'it''s ' || g, g % 3, 'x' FROM generate_series(1, 31) g",
            )
            .await;
        let mut task = source.open().await;
        execute(&source, "1", "\"public.ink\"").await;
        execute(&source, "2", "\"public.ing\", \"public.odd.*\"").await;
        let seen = source
            .read(&mut task, |seen| {
                read_of(seen, "public.ink") >= 51
                    && read_of(seen, "public.ing") >= 20
                    && read_of(seen, "public.Odd \"q\"") >= 31
            })
            .await;
        source.database.execute("INSERT INTO ing VALUES (99, 9)").await;
        let rest = source.read(&mut task, |seen| seen.iter().any(|one| one.op == Op::Create)).await;
        let all: Vec<&Seen> = seen.iter().chain(&rest).collect();
        let reads: Vec<_> = all.iter().filter(|event| event.op == Op::Read).collect();
        assert_eq!(reads.len(), 51 + 20 + 31, "each row once");
        assert!(reads.iter().all(|event| event.snapshot == SnapshotMarker::Incremental));
        let signals = all.iter().filter(|event| event.table == "public.dbz_signal").count();
        assert_eq!(signals, 2, "signals are records, too");
        task.close().await;
    }
}

/// The last event of each key, as a compacted topic keeps it.
fn last(events: &[Seen]) -> BTreeMap<i64, i64> {
    let mut rows = BTreeMap::new();
    for event in events.iter().filter(|event| event.table == "public.t") {
        match event.op {
            Op::Delete => rows.remove(&event.id()),
            _ => rows.insert(event.id(), number(event.column("v"))),
        };
    }
    rows
}

/// The event of the highest version of each key, as a sink keeps it.
fn newest(events: &[Seen]) -> BTreeMap<i64, i64> {
    let mut rows: BTreeMap<i64, (u64, Option<i64>)> = BTreeMap::new();
    for event in events.iter().filter(|event| event.table == "public.t") {
        let value = (event.op != Op::Delete).then(|| number(event.column("v")));
        let row = rows.entry(event.id()).or_default();
        if event.lsn >= row.0 {
            *row = (event.lsn, value);
        }
    }
    rows.into_iter().filter_map(|(id, (_, value))| Some((id, value?))).collect()
}

const ROWS: i64 = 3000;

#[tokio::test]
async fn under_writes_and_stops_it_ends_equal_to_the_table() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = signalled(server, "incwrites", "100").await;
        let sql = format!(
            "CREATE TABLE t(id int PRIMARY KEY, v int); \
             INSERT INTO t SELECT g, 0 FROM generate_series(1, {ROWS}) g"
        );
        source.database.execute(&sql).await;
        let mut task = source.open().await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = tokio::task::JoinSet::new();
        for seed in 1..=3_u64 {
            let (client, stop) = (source.database.connect().await, Arc::clone(&stop));
            writers.spawn(async move {
                let mut random = seed;
                while !stop.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
                    let id = (random >> 33) % ROWS.unsigned_abs() + 1;
                    let sql = match random >> 60 {
                        0 => format!("DELETE FROM t WHERE id = {id}"),
                        1 => format!("INSERT INTO t VALUES ({id}, 1) ON CONFLICT DO NOTHING"),
                        // A change that waits for its end makes commits of others pass it.
                        2 => format!(
                            "BEGIN; UPDATE t SET v = v + 1 WHERE id = {id}; SELECT pg_sleep(0.02); COMMIT"
                        ),
                        _ => format!("UPDATE t SET v = v + 1 WHERE id = {id}"),
                    };
                    let _ = client.batch_execute(&sql).await;
                }
            });
        }
        execute(&source, "1", "\"public.t\"").await;
        let mut events = source.read(&mut task, |seen| read_of(seen, "public.t") > 500).await;
        task.close().await;
        let mut task = source.open().await;
        events.extend(source.read(&mut task, |seen| read_of(seen, "public.t") > 1000).await);
        stop.store(true, Ordering::Relaxed);
        while let Some(ended) = writers.join_next().await {
            ended.expect("the writer ends well");
        }
        let left = |source: &Source| {
            let offset = &source.position.as_ref().expect("a position").offset;
            offset.contains_key("lattice_incremental")
        };
        while left(&source) {
            // A chunk may have nothing to tell; this has.
            let touch = "UPDATE t SET v = v WHERE id = (SELECT min(id) FROM t)";
            source.database.execute(touch).await;
            events.extend(source.read(&mut task, |seen| !seen.is_empty()).await);
        }
        source.database.execute("INSERT INTO t VALUES (0, -1)").await;
        let ended =
            |seen: &[Seen]| seen.iter().any(|event| event.after.is_some() && event.id() == 0);
        events.extend(source.read(&mut task, ended).await);
        let rows = source.database.value("SELECT json_object_agg(id, v)::text FROM t").await;
        let now: BTreeMap<i64, i64> = serde_json::from_str(&rows).expect("rows");
        assert_eq!(last(&events), now);
        assert_eq!(newest(&events), now);
        task.close().await;
    }
}

#[tokio::test]
async fn the_only_copy_of_a_large_value_is_not_left_out() {
    let mut source = signalled("LATTICE_TEST_PG15", "inclarge", "64").await;
    source
        .database
        .execute(
            "CREATE TABLE t(id int PRIMARY KEY, v int, big text); \
             ALTER TABLE t ALTER big SET STORAGE EXTERNAL; \
             INSERT INTO t SELECT g, 0, repeat('x', 9000) FROM generate_series(1, 200) g",
        )
        .await;
    let mut task = source.open().await;
    let (client, stop) = (source.database.connect().await, Arc::new(AtomicBool::new(false)));
    let writer = {
        let stop = Arc::clone(&stop);
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // Every row changes all the time, but not within every moment.
                let sql = "UPDATE t SET v = v + 1; SELECT pg_sleep(0.05)";
                client.batch_execute(sql).await.expect("updates");
            }
        })
    };
    execute(&source, "1", "\"public.t\"").await;
    let large = |event: &Seen| {
        event.op == Op::Read
            && matches!(event.column("big"), Value::Text(text) if text.as_str().len() == 9000)
    };
    let whole = |seen: &[Seen]| {
        let ids = seen.iter().filter(|event| event.table == "public.t" && large(event));
        ids.map(Seen::id).collect::<std::collections::BTreeSet<_>>().len() == 200
    };
    source.read(&mut task, whole).await;
    stop.store(true, Ordering::Relaxed);
    writer.await.expect("the writer ends well");
    task.close().await;
}

#[tokio::test]
async fn tables_that_cannot_be_read_are_named_and_keep_no_other_from_being_read() {
    let mut source = signalled("LATTICE_TEST_PG15", "increfused", "10").await;
    source
        .database
        .execute(
            "CREATE TABLE keyless(v int); INSERT INTO keyless VALUES (1); \
             CREATE TABLE t(id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)",
        )
        .await;
    let mut task = source.open().await;
    execute(&source, "1", "\"public.nothing\"").await;
    execute(&source, "2", "\"public.keyless\"").await;
    execute(&source, "3", "\"public.t\"").await;
    source.read(&mut task, |seen| read_of(seen, "public.t") == 2).await;
    let notes = source.progress.notes();
    let note = |name: &str| {
        notes.iter().find(|(key, _)| *key == name).map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let refused = note("incremental snapshot");
    assert!(refused.contains("public.keyless") && refused.contains("primary key"), "{refused}");
    task.close().await;
}
