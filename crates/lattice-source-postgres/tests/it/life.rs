//! Starts, ends, idle times, messages, and rights.

use std::time::Duration;

use lattice_core::{
    ErrorKind,
    connector::{SourceConnector, SourceTask},
    event::Op,
};

use crate::harness::{Seen, Source};

fn ids(seen: &[Seen]) -> Vec<i64> {
    seen.iter().map(Seen::id).collect()
}

async fn read_to_the_end(source: &mut Source, task: &mut Box<dyn SourceTask>) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(batch) = task.next_batch().await.expect("a batch") {
        seen.extend(crate::harness::decode(&batch));
        source.position = Some(batch.position);
    }
    seen
}

#[tokio::test]
async fn initial_only_ends_and_ends_again_at_the_next_start() {
    let mut source =
        Source::new("LATTICE_TEST_PG18", "only", &[("snapshot.mode", "initial_only")]).await;
    source
        .database
        .execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
        .await;
    let mut task = source.open().await;
    assert_eq!(ids(&read_to_the_end(&mut source, &mut task).await), [1, 2]);
    assert!(task.next_batch().await.expect("stays ended").is_none());
    task.close().await;
    let mut task = source.open().await;
    assert!(read_to_the_end(&mut source, &mut task).await.is_empty());
    let slots = source
        .database
        .value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()")
        .await;
    assert_eq!(slots, "0", "nothing is streamed, so no log is held back");
}

#[tokio::test]
async fn no_data_streams_from_the_start_on() {
    let mut source =
        Source::new("LATTICE_TEST_PG15", "nodata", &[("snapshot.mode", "no_data")]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t VALUES (1)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (2)").await;
    let seen = source.read(&mut task, |seen| !seen.is_empty()).await;
    assert_eq!((ids(&seen), seen[0].op), (vec![2], Op::Create));
}

#[tokio::test]
async fn always_reads_again_at_every_start_and_loses_no_change_between() {
    let mut source =
        Source::new("LATTICE_TEST_PG15", "always", &[("snapshot.mode", "always")]).await;
    source
        .database
        .execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
        .await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (3)").await;
    assert_eq!(ids(&source.read(&mut task, |seen| seen.len() == 3).await), [1, 2, 3]);
    task.close().await;
    source.database.execute("DELETE FROM t WHERE id = 1").await;
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.iter().any(|event| event.op == Op::Delete)).await;
    let read: Vec<i64> = seen.iter().filter(|event| event.op == Op::Read).map(Seen::id).collect();
    assert_eq!(read, [2, 3]);
    let deleted = seen.last().expect("an event");
    assert!(deleted.id() == 1 && deleted.lsn > seen[0].lsn);
}

#[tokio::test]
async fn an_idle_slot_moves_on_while_other_tables_are_written() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let more =
            [("publication.autocreate.mode", "filtered"), ("table.include.list", "public\\.t")];
        let mut source = Source::new(server, "idle", &more).await;
        source
            .database
            .execute("CREATE TABLE t(id int PRIMARY KEY); CREATE TABLE noise(v text)")
            .await;
        source.database.execute("INSERT INTO t VALUES (1)").await;
        let mut task = source.open().await;
        source.read(&mut task, |seen| seen.len() == 1).await;
        source
            .database
            .execute("INSERT INTO noise SELECT repeat('x', 1000) FROM generate_series(1, 2000)")
            .await;
        let target = source.database.value("SELECT pg_current_wal_lsn()").await;
        let moved = format!(
            "SELECT confirmed_flush_lsn >= '{target}' AND restart_lsn IS NOT NULL FROM pg_replication_slots \
             WHERE slot_name = '{}'",
            source.database.name()
        );
        let moving = async {
            while source.database.value(&moved).await != "t" {
                let batch = task.next_batch().await.expect("a batch").expect("goes on");
                assert!(batch.events.is_empty(), "nothing of the captured table changed");
                task.committed(&batch.position).await.expect("commits");
            }
        };
        tokio::time::timeout(Duration::from_secs(30), moving).await.expect("the slot moves");
    }
}

#[tokio::test]
async fn logical_messages_come_in_their_order_and_a_stop_between_loses_no_row() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let more = [("message.prefix.exclude.list", "skip.*")];
        let mut source = Source::new(server, "messages", &more).await;
        source.database.execute("CREATE TABLE lm(id int PRIMARY KEY)").await;
        let mut task = source.open().await;
        source.database.execute("INSERT INTO lm VALUES (0)").await;
        source.read(&mut task, |seen| seen.len() == 1).await;
        for sql in [
            "BEGIN",
            "INSERT INTO lm VALUES (1)",
            "SELECT pg_logical_emit_message(true, 'tx', 'in-tx')",
            "SELECT pg_logical_emit_message(false, 'nontx', '\\x00ff'::bytea)",
            // What is not of a transaction reaches the disk with the next one that commits.
            "INSERT INTO lm VALUES (2)",
        ] {
            source.database.execute(sql).await;
        }
        let other = source.database.connect().await;
        other
            .batch_execute("SELECT pg_logical_emit_message(true, 'other', '')")
            .await
            .expect("emits");
        let first = source.read(&mut task, |seen| seen.len() >= 2).await;
        assert_eq!(first[0].message, Some((b"nontx".to_vec(), vec![0, 0xff])));
        assert_eq!(first[1].message, Some((b"other".to_vec(), Vec::new())));
        task.close().await;
        let mut task = source.open().await;
        for sql in [
            "COMMIT",
            "BEGIN",
            "SELECT pg_logical_emit_message(true, 'tx', 'rolled')",
            "SELECT pg_logical_emit_message(false, 'nontx', 'survives')",
            "INSERT INTO lm VALUES (3)",
            "ROLLBACK",
            "SELECT pg_logical_emit_message(true, 'skipme', 'x')",
            "SELECT pg_logical_emit_message(true, '', '')",
        ] {
            source.database.execute(sql).await;
        }
        let empty = |event: &Seen| event.message == Some((Vec::new(), Vec::new()));
        let seen = source.read(&mut task, |seen| seen.iter().any(empty)).await;
        let story: Vec<String> = seen
            .iter()
            .map(|event| match &event.message {
                Some((prefix, content)) => {
                    format!(
                        "{}:{}",
                        String::from_utf8_lossy(prefix),
                        String::from_utf8_lossy(content)
                    )
                }
                None => event.id().to_string(),
            })
            .collect();
        assert_eq!(story, ["1", "tx:in-tx", "2", "nontx:survives", ":"]);
    }
}

#[tokio::test]
async fn missing_rights_and_publications_are_named_with_the_sql_that_mends_them() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let more = [("publication.autocreate.mode", "disabled")];
        let mut source = Source::new(server, "rights", &more).await;
        let role = source.database.name().to_owned();
        let database = &source.database;
        database.execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t VALUES (1)").await;
        database.execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'secret-word'")).await;
        source.config.set("database.user", role.as_str());
        source.config.set("database.password", "secret-word");
        let outcome = stories(&mut source, &role).await;
        source.database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
        let [missing, issues, replication, select] = outcome;
        assert!(missing.contains("publication \"dbz_publication\" does not exist"), "{missing}");
        assert!(missing.contains("CREATE PUBLICATION"), "{missing}");
        let expected = format!("ALTER ROLE \"{role}\" WITH REPLICATION");
        assert!(issues.contains(&expected.replace('"', "\\\"")), "{issues}");
        assert!(issues.contains("GRANT SELECT ON \\\"public\\\".\\\"t\\\""), "{issues}");
        assert!(replication.contains(&expected), "{replication}");
        let expected = format!("GRANT SELECT ON \"public\".\"t\" TO \"{role}\"");
        assert!(select.contains(&expected), "{select}");
        for text in [missing, issues, replication, select] {
            assert!(!text.contains("secret-word"));
        }
    }
}

/// What is said without the publication, by validation, without REPLICATION, without SELECT.
async fn stories(source: &mut Source, role: &str) -> [String; 4] {
    let refused = async |source: &Source| {
        let error = source.try_open().await.err().expect("must be refused");
        assert!(matches!(error.kind(), ErrorKind::Config | ErrorKind::Auth), "{}", error.chain());
        format!("{}; remedy: {}", error.chain(), error.remedy().unwrap_or("none"))
    };
    let missing = refused(source).await;
    let issues = format!("{:?}", source.connector.validate(&source.config).await);
    source.database.execute("CREATE PUBLICATION dbz_publication FOR TABLE t").await;
    let replication = refused(source).await;
    source.database.execute(&format!("ALTER ROLE {role} REPLICATION")).await;
    let select = match source.try_open().await {
        Err(error) => format!("{}; {}", error.chain(), error.remedy().unwrap_or("none")),
        Ok(mut task) => {
            let refusal = async {
                loop {
                    match task.next_batch().await {
                        Ok(Some(batch)) => assert!(batch.events.is_empty()),
                        Ok(None) => panic!("must be refused"),
                        Err(error) => break error,
                    }
                }
            };
            let error = tokio::time::timeout(Duration::from_secs(20), refusal).await;
            let error = error.expect("must be refused");
            assert_eq!(error.kind(), ErrorKind::Auth, "{}", error.chain());
            format!("{}; {}", error.chain(), error.remedy().unwrap_or("none"))
        }
    };
    [missing, issues, replication, select]
}

#[tokio::test]
async fn the_slot_is_never_confirmed_beyond_what_was_committed() {
    let mut source = Source::new("LATTICE_TEST_PG18", "confirm", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY)").await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (0)").await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    source.database.execute("INSERT INTO t SELECT generate_series(1, 500)").await;
    let written = source.database.value("SELECT pg_current_wal_lsn()").await;
    let confirmed = format!(
        "SELECT confirmed_flush_lsn >= '{written}' FROM pg_replication_slots WHERE slot_name = '{}'",
        source.database.name()
    );
    // Read, with heartbeats and several status updates after them, but not made durable.
    let reading = async {
        let (mut events, mut rounds) = (0, 0);
        while events < 500 || rounds < 10 {
            let batch = task.next_batch().await.expect("a batch").expect("goes on");
            events += batch.events.len();
            rounds += 1;
            assert_eq!(source.database.value(&confirmed).await, "f");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("batches come");
    task.close().await;
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.len() >= 500).await;
    assert_eq!(ids(&seen), (1..=500).collect::<Vec<i64>>());
}
