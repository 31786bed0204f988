//! Where the snapshot ends and the stream begins, while others write.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lattice_core::event::Op;

use crate::harness::{Seen, Source, number};

const ROWS: u64 = 20_000;

/// Statements that move units between two tables, so that their sum is the same at every
/// consistent point, and that insert and delete keys of the writer's own.
fn moves(seed: u64) -> impl Iterator<Item = String> {
    let mut random = seed;
    std::iter::repeat_with(move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let id = (random >> 33) % ROWS + 1;
        let own = 1_000_000 * seed + (random >> 40) % 50;
        format!(
            "BEGIN; UPDATE sa SET v = v - 1 WHERE id = {id}; UPDATE sb SET v = v + 1 WHERE id = {id}; \
             DELETE FROM sa WHERE id = {own}; INSERT INTO sa VALUES ({own}, 0); \
             DELETE FROM sa WHERE id = {own} AND {id} % 2 = 0; COMMIT"
        )
    })
}

/// Applies events as a sink does: the highest version of a key wins.
fn fold(events: &[Seen]) -> BTreeMap<(String, i64), i64> {
    let mut rows: BTreeMap<(String, i64), (u64, Option<i64>)> = BTreeMap::new();
    for event in events {
        let value = (event.op != Op::Delete).then(|| number(event.column("v")));
        let row = rows.entry((event.table.clone(), event.id())).or_default();
        if event.lsn >= row.0 {
            *row = (event.lsn, value);
        }
    }
    rows.into_iter().filter_map(|(key, (_, value))| Some((key, value?))).collect()
}

#[tokio::test]
async fn a_parallel_snapshot_under_writes_joins_the_stream_without_gap_or_overlap() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let more = [("snapshot.max.threads", "3"), ("lattice.snapshot.chunk.bytes", "65536")];
        let mut source = Source::new(server, "seam", &more).await;
        for table in ["sa", "sb"] {
            let sql = format!(
                "CREATE TABLE {table}(id int PRIMARY KEY, v int); \
                 INSERT INTO {table} SELECT g, 100 FROM generate_series(1, {ROWS}) g"
            );
            source.database.execute(&sql).await;
        }
        source.database.execute("CREATE TABLE ends(id int PRIMARY KEY, v int)").await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = tokio::task::JoinSet::new();
        for seed in 1..=4 {
            let (client, stop) = (source.database.connect().await, Arc::clone(&stop));
            writers.spawn(async move {
                for sql in moves(seed) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    // Two writers may meet in the opposite order; the one that loses goes on.
                    let _ = client.batch_execute(&sql).await;
                }
            });
        }
        let mut task = source.open().await;
        let streams = |seen: &[Seen]| seen.iter().filter(|event| event.op != Op::Read).count();
        let mut events = source.read(&mut task, |seen| streams(seen) > 500).await;
        stop.store(true, Ordering::Relaxed);
        while let Some(ended) = writers.join_next().await {
            ended.expect("the writer ends well");
        }
        source.database.execute("INSERT INTO ends VALUES (1, 1)").await;
        let ended = |seen: &[Seen]| seen.iter().any(|event| event.table == "public.ends");
        events.extend(source.read(&mut task, ended).await);

        let reads = || events.iter().filter(|event| event.op == Op::Read);
        let moved = reads().filter(|event| event.id() <= 100_000);
        assert_eq!(moved.clone().count() as u64, 2 * ROWS, "each row is read once");
        let sum: i64 = moved.map(|event| number(event.column("v"))).sum();
        assert_eq!(sum.unsigned_abs(), 2 * ROWS * 100, "the snapshot is of one moment");
        let mut now = BTreeMap::new();
        for table in ["sa", "sb", "ends"] {
            for row in source.database.query(&format!("SELECT id, v FROM {table}")).await {
                let value =
                    |at: usize| row[at].as_deref().and_then(|v| v.parse().ok()).expect("a number");
                now.insert((format!("public.{table}"), value(0)), value(1));
            }
        }
        let folded = fold(&events);
        let differs: Vec<_> =
            now.iter().filter(|(key, value)| folded.get(key) != Some(value)).collect();
        assert!(differs.is_empty(), "{} differ: {:?}", differs.len(), differs.first());
        assert_eq!(folded.len(), now.len());
    }
}

#[tokio::test]
async fn keys_permuted_in_one_transaction_end_as_the_table() {
    let mut source = Source::new("LATTICE_TEST_PG15", "permute", &[]).await;
    source
        .database
        .execute(
            "CREATE TABLE sw(id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v int); \
             INSERT INTO sw VALUES (1, 10), (2, 20), (3, 30); ALTER TABLE sw REPLICA IDENTITY FULL",
        )
        .await;
    let mut task = source.open().await;
    source.read(&mut task, |seen| seen.len() == 3).await;
    let sql = "UPDATE sw SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 1 END";
    source.database.execute(sql).await;
    let events = source.read(&mut task, |seen| seen.len() == 3).await;
    let moves: Vec<(i64, i64, i64)> = events
        .iter()
        .map(|event| {
            let before = event.before.clone().expect("the identity is full");
            (number(before[0].clone()), event.id(), number(event.column("v")))
        })
        .collect();
    assert_eq!(moves, [(1, 2, 10), (2, 3, 20), (3, 1, 30)]);
    // Versions grow, so a sink that takes the old keys' deletes first ends as the table.
    assert!(events.windows(2).all(|pair| pair[0].lsn <= pair[1].lsn));
}

#[tokio::test]
async fn prepared_transactions_come_once_and_only_when_committed() {
    let mut source = Source::new("LATTICE_TEST_PG15", "prepared", &[]).await;
    let name = source.database.name().to_owned();
    source.database.execute("CREATE TABLE tt(id int PRIMARY KEY, t text)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO tt VALUES (1, 'w')").await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    for (id, gid) in [(2, "a"), (3, "b")] {
        source.database.execute("BEGIN").await;
        source.database.execute(&format!("INSERT INTO tt VALUES ({id}, 'g')")).await;
        source.database.execute(&format!("PREPARE TRANSACTION '{name}_{gid}'")).await;
    }
    source.database.execute("INSERT INTO tt VALUES (4, 'between')").await;
    let seen = source.read(&mut task, |seen| !seen.is_empty()).await;
    assert_eq!(seen.iter().map(Seen::id).collect::<Vec<_>>(), [4]);
    let between = seen[0].lsn;
    task.close().await;
    let mut task = source.open().await;
    source.database.execute(&format!("ROLLBACK PREPARED '{name}_b'")).await;
    source.database.execute(&format!("COMMIT PREPARED '{name}_a'")).await;
    source.database.execute("INSERT INTO tt VALUES (5, 'end')").await;
    let seen = source.read(&mut task, |seen| seen.len() >= 2).await;
    assert_eq!(seen.iter().map(Seen::id).collect::<Vec<_>>(), [2, 5]);
    assert!(seen[0].lsn < between, "the change keeps the position of its writing");
}

#[tokio::test]
async fn rows_of_one_log_position_survive_stops_inside() {
    let mut source = Source::new("LATTICE_TEST_PG18", "copy", &[("max.batch.size", "7")]).await;
    source
        .database
        .execute("CREATE TABLE cm(id int PRIMARY KEY, t text); CREATE TABLE e(id int)")
        .await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO cm VALUES (-1, 'x')").await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    let sql = "COPY cm FROM PROGRAM 'seq 0 4999 | sed \"s/$/\\tx/\"'";
    source.database.execute(sql).await;
    let mut events: Vec<Seen> = Vec::new();
    for part in [5, 100, 700, 1000] {
        events.extend(source.read(&mut task, |seen| seen.len() >= part).await);
        task.close().await;
        task = source.open().await;
    }
    source.database.execute("INSERT INTO cm VALUES (99999, 'end')").await;
    let ended = |seen: &[Seen]| seen.iter().any(|event| event.id() == 99_999);
    events.extend(source.read(&mut task, ended).await);
    let ids: std::collections::BTreeSet<i64> = events.iter().map(Seen::id).collect();
    assert_eq!(ids.len(), 5001);
    let positions: std::collections::BTreeSet<u64> = events.iter().map(|event| event.lsn).collect();
    assert!(positions.len() < 1000, "the rows do not share positions: {}", positions.len());
}
