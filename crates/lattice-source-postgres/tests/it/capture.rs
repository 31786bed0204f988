//! What is captured, and where it goes on.

use std::collections::BTreeSet;

use lattice_core::{
    ErrorKind,
    event::{Op, SnapshotMarker},
    value::Value,
};

use crate::harness::Source;

const SERVERS: [&str; 2] = ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"];

#[tokio::test]
async fn snapshot_and_then_every_operation() {
    for server in SERVERS {
        let mut source = Source::new(server, "ops", &[]).await;
        source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
        source.database.execute("INSERT INTO t VALUES (1, 'a'), (2, E'b\\t\\\\')").await;
        let mut task = source.open().await;
        let seen = source.read(&mut task, |seen| seen.len() == 2).await;
        assert!(seen.iter().all(|event| event.op == Op::Read && event.table == "public.t"));
        assert_eq!(seen[0].snapshot, SnapshotMarker::First);
        assert_eq!(seen[1].snapshot, SnapshotMarker::Last);
        assert_eq!(seen[1].column("v"), Value::text("b\t\\"));
        let below = seen[0].lsn;

        source.database.execute("INSERT INTO t VALUES (3, NULL)").await;
        source.database.execute("UPDATE t SET v = 'z' WHERE id = 1").await;
        source.database.execute("UPDATE t SET id = 9 WHERE id = 2").await;
        source.database.execute("DELETE FROM t WHERE id = 3").await;
        source.database.execute("TRUNCATE t").await;
        let seen = source.read(&mut task, |seen| seen.len() == 5).await;
        let ops: Vec<Op> = seen.iter().map(|event| event.op).collect();
        assert_eq!(ops, [Op::Create, Op::Update, Op::Update, Op::Delete, Op::Truncate]);
        assert!(seen.iter().all(|event| event.lsn > below));
        assert_eq!(seen[0].key, ["id"]);
        assert_eq!(seen[1].before, None);
        assert_eq!(seen[2].before, Some(vec![Value::Int(2), Value::Missing]));
        assert_eq!(seen[2].id(), 9);
        assert_eq!(seen[3].before, Some(vec![Value::Int(3), Value::Missing]));
    }
}

#[tokio::test]
async fn restart_in_the_middle_of_a_transaction_goes_on_with_the_next_row() {
    let mut source = Source::new("LATTICE_TEST_PG15", "resume", &[("max.batch.size", "7")]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
    let mut task = source.open().await;
    drain_snapshot(&mut source, &mut task).await;
    source.database.execute("INSERT INTO t SELECT g, 'x' FROM generate_series(1, 1000) g").await;
    let mut ids = Vec::new();
    for part in [5, 300, 400] {
        let seen = source.read(&mut task, |seen| seen.len() >= part).await;
        ids.extend(seen.iter().map(crate::harness::Seen::id));
        task.close().await;
        task = source.open().await;
    }
    let rest = 1000 - ids.len();
    let seen = source.read(&mut task, |seen| seen.len() >= rest).await;
    ids.extend(seen.iter().map(crate::harness::Seen::id));
    assert_eq!(ids, (1..=1000).collect::<Vec<i64>>());
}

/// Reads until the position says that the snapshot is finished.
async fn drain_snapshot(
    source: &mut Source,
    task: &mut Box<dyn lattice_core::connector::SourceTask>,
) {
    let mut rounds = 0;
    while source.position.as_ref().is_none_or(|p| p.offset.contains_key("lattice_snapshot")) {
        let batch = task.next_batch().await.expect("a batch").expect("goes on");
        source.position = Some(batch.position);
        rounds += 1;
        assert!(rounds < 100, "the snapshot does not end");
    }
}

#[tokio::test]
async fn an_interrupted_snapshot_goes_on_where_it_was_and_ends_equal() {
    let more = [
        ("lattice.snapshot.chunk.bytes", "8192"),
        ("max.batch.size", "50"),
        ("snapshot.max.threads", "1"),
    ];
    let mut source = Source::new("LATTICE_TEST_PG15", "chunks", &more).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
    source
        .database
        .execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 2000) g")
        .await;
    let mut task = source.open().await;
    let first = source.read(&mut task, |seen| seen.len() > 1000).await.len();
    task.close().await;
    source
        .database
        .execute("UPDATE t SET v = 'new' WHERE id % 7 = 0; DELETE FROM t WHERE id % 11 = 0")
        .await;

    let mut task = source.open().await;
    let ended = |seen: &[crate::harness::Seen]| {
        seen.iter().filter(|event| event.op == Op::Delete).count() == 2000 / 11
    };
    let rest = source.read(&mut task, ended).await;
    let read = rest.iter().filter(|event| event.op == Op::Read).count();
    assert!(first + read < 3000, "{first} and {read} rows were read: it began anew");
    let mut alive: BTreeSet<i64> = (1..=2000).filter(|id| id % 11 != 0).collect();
    for event in &rest {
        if event.op == Op::Delete {
            alive.remove(&event.id());
        }
    }
    assert_eq!(alive.len(), 2000 - 2000 / 11);
}

#[tokio::test]
async fn a_slot_made_anew_behind_the_position_stops_the_task() {
    let mut source = Source::new("LATTICE_TEST_PG18", "lost", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (1)").await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    task.close().await;
    let name = source.database.name().to_owned();
    lattice_testkit::wait_until(std::time::Duration::from_secs(30), "the slot drops", async || {
        source
            .database
            .try_execute(&format!("SELECT pg_drop_replication_slot('{name}')"))
            .await
            .is_ok()
    })
    .await;
    source.database.execute("INSERT INTO t VALUES (2)").await;
    let error = source.try_open().await.err().expect("must not go on");
    assert_eq!(error.kind(), ErrorKind::Fatal);
    source
        .database
        .execute(&format!("SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"))
        .await;
    let error = source.try_open().await.err().expect("must not go on");
    assert!(error.to_string().contains("beyond the stored position"), "{error}");
    source.config.set("snapshot.mode", "when_needed");
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.len() == 2).await;
    assert!(seen.iter().all(|event| event.op == Op::Read));
}

#[tokio::test]
async fn another_server_or_timeline_under_the_same_name_stops_the_task_until_a_gap_is_accepted() {
    let mut source = Source::new("LATTICE_TEST_PG15", "identity", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (1)").await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    task.close().await;
    let position = source.position.clone().expect("has one");
    for (field, value, named) in [
        ("lattice_system_id", serde_json::json!("1"), "system identifier"),
        ("lattice_timeline", serde_json::json!(77), "timeline"),
    ] {
        // As if the position had been stored for the server that stood here before.
        let mut other = position.clone();
        assert!(other.offset.insert(field.to_owned(), value).is_some(), "{field} is stored");
        source.position = Some(other);
        let error = source.try_open().await.err().expect("must not go on");
        assert_eq!(error.kind(), ErrorKind::Fatal, "{}", error.chain());
        assert!(error.to_string().contains(named), "{}", error.chain());
        let remedy = error.remedy().unwrap_or_default();
        assert!(remedy.contains("when_needed"), "{remedy}");
        assert!(remedy.contains("lattice.accept.gap"), "{remedy}");
    }
    source.config.set("lattice.accept.gap", "true");
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (2)").await;
    // From where the slot stands: what was not confirmed yet comes again, and no snapshot.
    let seen = source.read(&mut task, |seen| seen.iter().any(|event| event.id() == 2)).await;
    assert!(seen.iter().all(|event| event.op == Op::Create), "{seen:?}");
}

#[tokio::test]
async fn snapshot_and_stream_give_the_same_values() {
    for server in SERVERS {
        let mut source = Source::new(server, "types", &[]).await;
        source
            .database
            .execute(
                "CREATE TYPE mood AS ENUM('a', 'b'); CREATE DOMAIN amount AS numeric(10,2); \
                 CREATE TABLE t(id serial PRIMARY KEY, b bool, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, \
                 n2 numeric(10,2), m money, x bytea, d date, ts timestamp, ts3 timestamp(3), tz timestamptz, \
                 ti time, tt timetz, iv interval, u uuid, j jsonb, bi bit(1), bs bit(12), vb varbit, e mood, \
                 am amount, ip inet, r int4range, p point, ia int[], ta text[], na numeric[], tza timestamptz[], \
                 ea mood[], nm name, mr int4multirange, l pg_lsn)",
            )
            .await;
        let insert = "INSERT INTO t VALUES (DEFAULT, true, -5, 9223372036854775807, 1.5, 'NaN', 1.500, \
             -3.10, 1234.5, '\\x00ff', '0044-03-15 BC', 'infinity', '2024-01-02 03:04:05.678', \
             '12345-01-01 00:00+00', '24:00', '00:00:00-15:59:59', '1 year -2 days 03:04:05.6', \
             'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": 1}', B'1', B'100000000001', B'101', 'b', 2.5, \
             '10.0.0.1', '[1,5)', '(1,2)', '{{1,2},{3,4}}', array['a,b','NULL',null,'',E'q\"\\\\'], \
             '{1.5,NULL}', '{2024-01-01 00:00+00}', '{a,b}', 'abc', '{[1,3)}', '16/B374D848')";
        source.database.execute(insert).await;
        let mut task = source.open().await;
        let read = source.read(&mut task, |seen| seen.len() == 1).await;
        source.database.execute(insert).await;
        let streamed = source.read(&mut task, |seen| seen.len() == 1).await;
        assert_eq!(read[0].columns, streamed[0].columns);
        // As text: NaN is not equal to itself.
        let row = |seen: &crate::harness::Seen| format!("{:?}", &seen.after.as_ref().unwrap()[1..]);
        assert_eq!(row(&read[0]), row(&streamed[0]));
        assert_eq!(read[0].column("d"), Value::Int(-735_160));
        assert_eq!(read[0].column("n2"), Value::bytes(&[0xfe, 0xca]));
        assert_eq!(read[0].column("tz"), Value::text("+12345-01-01T00:00:00.000000Z"));
    }
}

#[tokio::test]
async fn what_is_wrong_is_reported_with_the_sql_that_mends_it() {
    use lattice_core::connector::SourceConnector;
    let mut source = Source::new("LATTICE_TEST_PG15", "valid", &[]).await;
    source.database.execute("CREATE TABLE nokey(a int)").await;
    let issues = source.connector.validate(&source.config).await;
    assert!(issues.iter().any(|issue| issue.message.contains("no primary key")), "{issues:?}");
    source.config.set("database.password", "wrong");
    let issues = source.connector.validate(&source.config).await;
    assert_eq!(issues[0].key, "database.password", "{issues:?}");
    source.config.set("database.dbname", "nowhere");
    source.config.set("database.password", source.database.password());
    let issues = source.connector.validate(&source.config).await;
    assert_eq!(issues[0].key, "database.dbname", "{issues:?}");
}
