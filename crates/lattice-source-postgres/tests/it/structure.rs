//! Tables of every shape, and tables whose shape changes while they are captured.

use lattice_core::{event::Op, value::Value};

use crate::harness::{Seen, Source};

#[tokio::test]
async fn an_unchanged_out_of_line_value_is_marked_and_never_null() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = Source::new(server, "toast", &[]).await;
        let columns = "a numeric[], b numeric, c bit varying, d timestamptz[], e bool[], f float8[], \
                       g smallint[], h inet[], i text, j bytea, k uuid[], l int[]";
        let external: Vec<String> = ('a'..='l')
            .map(|name| format!("ALTER TABLE t2 ALTER {name} SET STORAGE EXTERNAL"))
            .collect();
        source
            .database
            .execute(&format!(
                "CREATE TABLE t2(id int PRIMARY KEY, n int, {columns}); {}",
                external.join("; ")
            ))
            .await;
        source
            .database
            .execute(
                "INSERT INTO t2 SELECT 1, 0, array_fill(1.5::numeric, array[3000]), \
                 ('1' || repeat('7', 9000))::numeric, repeat('10', 40000)::bit varying, \
                 array_fill('2024-01-01 00:00+00'::timestamptz, array[3000]), array_fill(true, array[9000]), \
                 array_fill(2.5::float8, array[3000]), array_fill(3::smallint, array[9000]), \
                 array_fill('10.0.0.1'::inet, array[3000]), repeat('x', 9000), \
                 decode(repeat('00ff', 9000), 'hex'), \
                 array_fill('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, array[3000]), \
                 array_fill(7, array[9000])",
            )
            .await;
        let mut task = source.open().await;
        let read = source.read(&mut task, |seen| seen.len() == 1).await;
        let stored = read[0].after.clone().expect("a row")[2..].to_vec();
        assert!(stored.iter().all(|value| !value.is_absent()), "the snapshot has all values");

        source.database.execute("UPDATE t2 SET n = 1").await;
        let seen = source.read(&mut task, |seen| seen.len() == 1).await;
        let after = seen[0].after.clone().expect("a row");
        assert_eq!(after[1], Value::Int(1));
        assert!(after[2..].iter().all(|value| *value == Value::Unchanged), "{after:?}");

        source.database.execute("ALTER TABLE t2 REPLICA IDENTITY FULL").await;
        source.database.execute("UPDATE t2 SET n = 2").await;
        let seen = source.read(&mut task, |seen| seen.len() == 1).await;
        let (before, after) = (seen[0].before.clone(), seen[0].after.clone().expect("a row"));
        assert_eq!(before.expect("a row before")[2..], stored);
        for (value, stored) in after[2..].iter().zip(&stored) {
            assert!(*value == Value::Unchanged || value == stored, "a value that never was");
        }
    }
}

fn names(seen: &Seen) -> Vec<&str> {
    seen.columns.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn structure_changes_are_followed_and_old_rows_keep_their_structure() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let mut source = Source::new(server, "ddl", &[]).await;
        let database = &source.database;
        database
            .execute("CREATE TABLE d(id int PRIMARY KEY, a text, b int NOT NULL, c text)")
            .await;
        let mut task = source.open().await;
        for sql in [
            "INSERT INTO d VALUES (1, 'old', 1, 'c')",
            "ALTER TABLE d ADD e text DEFAULT 'x', DROP COLUMN c",
            "INSERT INTO d VALUES (2, 'mid', 2)",
            "UPDATE d SET a = 'again' WHERE id = 1",
            "ALTER TABLE d RENAME a TO a2",
            "ALTER TABLE d ALTER b TYPE bigint USING b * 1000000000000",
            "INSERT INTO d VALUES (3, 'new', 9000000000000, 'y')",
            "ALTER TABLE d RENAME TO d2",
            "INSERT INTO d2 VALUES (4, 'other', 4, 'z')",
            "ALTER TABLE d2 DROP CONSTRAINT d_pkey; ALTER TABLE d2 ADD PRIMARY KEY (b)",
            "DELETE FROM d2 WHERE id = 4",
        ] {
            source.database.execute(sql).await;
        }
        let seen = source.read(&mut task, |seen| seen.len() == 6).await;
        assert_eq!(names(&seen[0]), ["id", "a", "b", "c"]);
        assert_eq!(seen[0].column("c"), Value::text("c"));
        assert_eq!(names(&seen[1]), ["id", "a", "b", "e"]);
        assert_eq!(seen[1].column("e"), Value::text("x"));
        assert_eq!(seen[2].op, Op::Update);
        assert_eq!(seen[2].column("e"), Value::text("x"), "the default of a row written before");
        assert_eq!(names(&seen[3]), ["id", "a2", "b", "e"]);
        assert_eq!(seen[3].column("b"), Value::Int(9_000_000_000_000));
        assert_eq!((seen[3].table.as_str(), seen[4].table.as_str()), ("public.d", "public.d2"));
        assert_eq!((seen[4].key[0].as_str(), seen[5].key[0].as_str()), ("id", "b"));
        assert_eq!(seen[5].column("b"), Value::Int(4));
    }
}

#[tokio::test]
async fn a_change_of_yesterday_has_the_key_of_yesterday() {
    let mut source = Source::new("LATTICE_TEST_PG18", "yesterday", &[]).await;
    source
        .database
        .execute(
            "CREATE TABLE rc(id int PRIMARY KEY, a text, b int); \
             CREATE TABLE ib(id int PRIMARY KEY, a text, b text)",
        )
        .await;
    source.database.execute("INSERT INTO ib VALUES (1, 'a', 'b')").await;
    let mut task = source.open().await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    task.close().await;
    for sql in [
        "INSERT INTO rc VALUES (2, 'b', 2)",
        "DROP TABLE rc",
        "CREATE TABLE rc(b text PRIMARY KEY, id bigint)",
        "INSERT INTO rc VALUES ('x', 3)",
        "UPDATE ib SET a = 'a3'",
        "ALTER TABLE ib DROP CONSTRAINT ib_pkey; ALTER TABLE ib REPLICA IDENTITY FULL",
        "UPDATE ib SET a = 'a4'",
        "ALTER TABLE ib ADD PRIMARY KEY (b); ALTER TABLE ib REPLICA IDENTITY DEFAULT",
        "UPDATE ib SET id = 7",
        "DELETE FROM ib",
    ] {
        source.database.execute(sql).await;
    }
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.len() == 6).await;
    let keys: Vec<String> = seen.iter().map(|event| event.key.join(",")).collect();
    assert_eq!((keys[0].as_str(), seen[0].id()), ("id", 2));
    assert_eq!((keys[1].as_str(), seen[1].id()), ("b", 3));
    assert_eq!(keys[2], "id");
    assert_eq!((keys[4].as_str(), keys[5].as_str()), ("b", "b"));
    assert!(seen[3].before.as_ref().is_some_and(|row| row[1] == Value::text("a3")));
}

#[tokio::test]
async fn partitions_appear_under_their_root_or_as_themselves() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        for root in [true, false] {
            let word = if root { "true" } else { "false" };
            let mut source =
                Source::new(server, "parts", &[("publish.via.partition.root", word)]).await;
            source
                .database
                .execute(
                    "CREATE TABLE p(id int, r int, v text, PRIMARY KEY (id, r)) PARTITION BY LIST (r); \
                     CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); \
                     CREATE TABLE p2(v text, r int NOT NULL, id int NOT NULL, PRIMARY KEY (id, r)); \
                     ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2); \
                     INSERT INTO p VALUES (1, 1, 'a'), (2, 2, 'b')",
                )
                .await;
            let mut task = source.open().await;
            let read = source.read(&mut task, |seen| seen.len() == 2).await;
            source.database.execute("INSERT INTO p VALUES (3, 1, 'c'), (4, 2, 'd')").await;
            source.database.execute("UPDATE p SET r = 2 WHERE id = 3").await;
            let seen = source.read(&mut task, |seen| seen.len() >= 4).await;
            let tables = |seen: &[Seen]| {
                let mut tables: Vec<String> =
                    seen.iter().map(|event| event.table.clone()).collect();
                tables.sort();
                tables.dedup();
                tables
            };
            let expected: &[&str] = if root { &["public.p"] } else { &["public.p1", "public.p2"] };
            assert_eq!(tables(&read), expected);
            assert_eq!(tables(&seen), expected);
            for event in read.iter().chain(&seen) {
                assert!(event.key == ["id", "r"], "{event:?}");
            }
            assert_eq!((seen[1].id(), seen[1].column("v")), (4, Value::text("d")));
            // A row that moves is deleted here and created there.
            assert_eq!((seen[2].op, seen[3].op), (Op::Delete, Op::Create));
        }
    }
}

#[tokio::test]
async fn every_replica_identity_gives_what_it_can() {
    let mut source = Source::new("LATTICE_TEST_PG15", "identity", &[]).await;
    source
        .database
        .execute(
            "CREATE TABLE nokey(id int, v text); ALTER TABLE nokey REPLICA IDENTITY FULL; \
             CREATE TABLE nothing(id int PRIMARY KEY, v text); ALTER TABLE nothing REPLICA IDENTITY NOTHING; \
             CREATE TABLE indexed(id int PRIMARY KEY, u text NOT NULL, v text); \
             CREATE UNIQUE INDEX indexed_u ON indexed(u); \
             ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_u; \
             CREATE TABLE plain(id int, v text)",
        )
        .await;
    let mut task = source.open().await;
    for sql in [
        "INSERT INTO nokey VALUES (1, 'x'), (1, 'x')",
        "UPDATE nokey SET v = 'y'",
        "DELETE FROM nokey",
    ] {
        source.database.execute(sql).await;
    }
    let seen = source.read(&mut task, |seen| seen.len() == 6).await;
    assert!(seen.iter().all(|event| event.key.is_empty()));
    let row = |v: &'static str| Some(vec![Value::Int(1), Value::text(v)]);
    assert_eq!((seen[2].before.clone(), seen[2].after.clone()), (row("x"), row("y")));
    assert_eq!(seen[5].before, row("y"));

    for sql in [
        "INSERT INTO nothing VALUES (1, 'x')",
        "INSERT INTO plain VALUES (1, 'x')",
        "INSERT INTO indexed VALUES (1, 'u', 'x')",
        "UPDATE indexed SET v = 'y'",
        "UPDATE indexed SET u = 'w'",
        "DELETE FROM indexed",
    ] {
        source.database.execute(sql).await;
    }
    assert!(source.database.try_execute("UPDATE nothing SET v = 'y'").await.is_err());
    let seen = source.read(&mut task, |seen| seen.len() == 6).await;
    assert_eq!(seen[0].key, ["id"]);
    assert!(seen[1].key.is_empty());
    // Deletes are sent with the index's columns alone, so these are the key.
    assert!(seen[2..].iter().all(|event| event.key == ["u"]), "{seen:?}");
    assert_eq!(seen[3].before, None);
    assert_eq!(seen[4].before, Some(vec![Value::Missing, Value::text("u"), Value::Missing]));
    assert_eq!(seen[5].before, Some(vec![Value::Missing, Value::text("w"), Value::Missing]));
}

#[tokio::test]
async fn names_that_need_quoting_are_captured_as_they_are() {
    for server in ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"] {
        let more = [
            ("publication.autocreate.mode", "filtered"),
            ("table.include.list", r#"we\.ird S\.Tab\.le "q" é,public\.Order"#),
        ];
        let mut source = Source::new(server, "names", &more).await;
        source
            .database
            .execute(
                r#"CREATE SCHEMA "we.ird S"; CREATE TABLE "we.ird S"."Tab.le ""q"" é"("Id" int PRIMARY KEY, "a.b-c" int, "1st" int, "sel ect" text, "ü$" text, "semi;colon" int); CREATE TABLE public."Order"("User" int PRIMARY KEY, "DESC" text); CREATE TABLE public.other(id int PRIMARY KEY)"#,
            )
            .await;
        let insert = |id: i32| {
            format!(
                r#"INSERT INTO "we.ird S"."Tab.le ""q"" é" VALUES ({id}, 2, 3, 's', 'ü', 4); INSERT INTO "Order" VALUES ({id}, 'd')"#
            )
        };
        source.database.execute(&insert(1)).await;
        let mut task = source.open().await;
        let mut read = source.read(&mut task, |seen| seen.len() == 2).await;
        source.database.execute("INSERT INTO other VALUES (1)").await;
        source.database.execute(&insert(2)).await;
        let mut seen = source.read(&mut task, |seen| seen.len() == 2).await;
        for events in [&mut read, &mut seen] {
            events.sort_by_key(|event| event.table.clone());
            assert_eq!(events[0].table, "public.Order");
            assert_eq!(events[0].key, ["User"]);
            assert_eq!(events[1].table, "we.ird S.Tab.le \"q\" é");
            assert_eq!(names(&events[1]), ["Id", "a.b-c", "1st", "sel ect", "ü$", "semi;colon"]);
            assert_eq!(events[1].column("ü$"), Value::text("ü"));
        }
    }
}

#[tokio::test]
async fn rows_written_while_the_connector_was_down_keep_columns_that_are_gone_by_now() {
    let mut source = Source::new("LATTICE_TEST_PG15", "down", &[]).await;
    source
        .database
        .execute(
            "CREATE TYPE d1e AS ENUM ('x', 'y'); \
             CREATE TABLE d1(id int PRIMARY KEY, a text, b int NOT NULL DEFAULT 5, c text)",
        )
        .await;
    source.database.execute("INSERT INTO d1 VALUES (1, 'a', 1, 'c')").await;
    let mut task = source.open().await;
    source.read(&mut task, |seen| seen.len() == 1).await;
    task.close().await;
    for sql in [
        "INSERT INTO d1 VALUES (2, 'old', 2, 'c2')",
        "ALTER TABLE d1 ADD e d1e DEFAULT 'x', DROP COLUMN c",
        "INSERT INTO d1 VALUES (3, 'mid', 3, 'y')",
        "ALTER TABLE d1 RENAME a TO a2",
        "ALTER TABLE d1 ALTER b TYPE bigint",
        "ALTER TABLE d1 DROP COLUMN e; DROP TYPE d1e; ALTER TABLE d1 ADD c int DEFAULT 9",
        "INSERT INTO d1(id, a2, b) VALUES (4, 'new', 4)",
    ] {
        source.database.execute(sql).await;
    }
    let mut task = source.open().await;
    let seen = source.read(&mut task, |seen| seen.len() == 3).await;
    assert_eq!(names(&seen[0]), ["id", "a", "b", "c"]);
    assert_eq!(seen[0].column("c"), Value::text("c2"));
    assert_eq!(names(&seen[1]), ["id", "a", "b", "e"]);
    assert_eq!(seen[1].column("e"), Value::text("y"), "the type is gone, its text is not");
    assert_eq!(names(&seen[2]), ["id", "a2", "b", "c"]);
    assert_eq!(seen[2].column("c"), Value::Int(9));
}
