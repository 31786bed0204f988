//! Publications that a person made: their conditions, column lists and other tables hold.

use lattice_core::{event::Op, value::Value};

use crate::harness::{Seen, Source};

const OF_PUBLICATION: &str = "SELECT string_agg(format('%s:%s:%s', tablename, attnames, rowfilter), ';' ORDER BY tablename) \
                              FROM pg_publication_tables";

#[tokio::test]
async fn a_row_filter_holds_for_snapshot_and_stream() {
    for mode in ["disabled", "filtered"] {
        let more = [("publication.autocreate.mode", mode), ("table.include.list", "public\\.rf")];
        let mut source = Source::new("LATTICE_TEST_PG15", "filter", &more).await;
        source
            .database
            .execute(
                "CREATE TABLE rf(id int PRIMARY KEY, region text, amt int); ALTER TABLE rf REPLICA IDENTITY FULL; \
                 CREATE TABLE other(id int PRIMARY KEY); \
                 INSERT INTO rf VALUES (1, 'us', 1), (2, 'eu', 2); \
                 CREATE PUBLICATION dbz_publication FOR TABLE rf WHERE (region = 'us'), other",
            )
            .await;
        let before = source.database.value(OF_PUBLICATION).await;
        let mut task = source.open().await;
        for sql in [
            "INSERT INTO rf VALUES (3, 'us', 3), (4, 'eu', 4)",
            "UPDATE rf SET region = 'eu' WHERE id = 3",
            "UPDATE rf SET region = 'us' WHERE id = 4",
            "UPDATE rf SET amt = 9 WHERE id = 4",
            "DELETE FROM rf WHERE id = 2",
            "DELETE FROM rf WHERE id = 4",
        ] {
            source.database.execute(sql).await;
        }
        let seen = source.read(&mut task, |seen| seen.len() == 6).await;
        let story: Vec<(Op, i64)> = seen.iter().map(|event| (event.op, event.id())).collect();
        let expected = [
            (Op::Read, 1),
            (Op::Create, 3),
            (Op::Delete, 3),
            (Op::Create, 4),
            (Op::Update, 4),
            (Op::Delete, 4),
        ];
        assert_eq!(story, expected);
        assert_eq!(source.database.value(OF_PUBLICATION).await, before, "it is not ours to change");
    }
}

#[tokio::test]
async fn a_column_list_holds_for_snapshot_and_stream() {
    let more = [("publication.autocreate.mode", "disabled")];
    let mut source = Source::new("LATTICE_TEST_PG18", "columns", &more).await;
    source
        .database
        .execute(
            "CREATE TABLE t(id int PRIMARY KEY, secret text, amt int); \
             INSERT INTO t VALUES (1, 'hidden', 1); \
             CREATE PUBLICATION dbz_publication FOR TABLE t (id, amt)",
        )
        .await;
    let mut task = source.open().await;
    source.database.execute("INSERT INTO t VALUES (2, 'hidden', 2)").await;
    let seen = source.read(&mut task, |seen| seen.len() == 2).await;
    for event in &seen {
        assert_eq!(event.columns, ["id", "amt"]);
    }
    assert_eq!(seen[0].columns.len(), seen[1].columns.len());
}

#[tokio::test]
async fn tables_of_a_publication_that_are_made_later_are_followed() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = Source::new(server, "later", &[]).await;
        source.database.execute("CREATE TABLE t(id int PRIMARY KEY)").await;
        let mut task = source.open().await;
        source.database.execute("CREATE TABLE made_later(id int PRIMARY KEY, v text)").await;
        source.database.execute("INSERT INTO made_later VALUES (1, 'x')").await;
        source.database.execute("BEGIN; CREATE TABLE u(id int PRIMARY KEY); INSERT INTO u VALUES (2); ALTER TABLE u ADD v int DEFAULT 5; INSERT INTO u VALUES (3); COMMIT").await;
        let seen = source.read(&mut task, |seen| seen.len() == 3).await;
        assert_eq!(seen.iter().map(Seen::id).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(seen[0].table, "public.made_later");
        assert_eq!((seen[1].columns.len(), seen[2].column("v")), (1, Value::Int(5)));
    }
}

#[tokio::test]
async fn cut_connections_are_a_passing_error_and_nothing_is_lost() {
    let more = [("lattice.snapshot.chunk.bytes", "65536"), ("max.batch.size", "100")];
    let mut source = Source::new("LATTICE_TEST_PG18", "cut", &more).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY, v text)").await;
    source
        .database
        .execute("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g")
        .await;
    let mut ids = std::collections::BTreeSet::new();
    // Once within the snapshot, once within the stream.
    for round in 0..2 {
        let mut task = source.open().await;
        let until = if round == 0 { 500 } else { 20_050 - ids.len() };
        let seen = source.read(&mut task, |seen| seen.len() >= until).await;
        ids.extend(seen.iter().map(Seen::id));
        source.database.cut_connections().await;
        let insert =
            "INSERT INTO t SELECT g, 'y' FROM generate_series(20001 + 100 * %, 20100 + 100 * %) g";
        source.database.execute(&insert.replace('%', &round.to_string())).await;
        let cut = async {
            loop {
                match task.next_batch().await {
                    Ok(Some(batch)) => {
                        ids.extend(crate::harness::decode(&batch).iter().map(Seen::id));
                        source.position = Some(batch.position);
                    }
                    Ok(None) => panic!("must not end"),
                    Err(error) => break error,
                }
            }
        };
        let error = tokio::time::timeout(std::time::Duration::from_secs(30), cut).await;
        let error = error.expect("the cut is seen");
        assert_eq!(error.kind(), lattice_core::ErrorKind::Transient, "{}", error.chain());
        task.close().await;
    }
    let mut task = source.open().await;
    let last = |seen: &[Seen]| seen.iter().any(|event| event.id() == 20_200);
    let rest = if ids.contains(&20_200) { Vec::new() } else { source.read(&mut task, last).await };
    ids.extend(rest.iter().map(Seen::id));
    let missing: Vec<i64> = (1..=20_200).filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "{} rows are missing, from {:?}", missing.len(), missing.first());
}
