//! PostgreSQL as the target.

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};
use lattice_testkit::{PostgresDatabase, service};

use crate::fixture::*;

pub(crate) const PG15: &str = "LATTICE_TEST_PG15";
const BOTH: [&str; 2] = [PG15, "LATTICE_TEST_PG18"];

pub(crate) async fn database(variable: &str, hint: &str) -> PostgresDatabase {
    PostgresDatabase::create(&service(variable), hint).await
}

/// The target's keys of a database.
pub(crate) fn target(database: &PostgresDatabase) -> Vec<(String, String)> {
    let url =
        format!("jdbc:postgresql://{}:{}/{}", database.host(), database.port(), database.name());
    [
        ("connection.url", url),
        ("connection.username", database.user().to_owned()),
        ("connection.password", database.password()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

/// Rows as text, values parted by bars.
pub(crate) async fn lines(database: &PostgresDatabase, sql: &str) -> Vec<String> {
    let rows = database.query(sql).await;
    let line = |row: Vec<Option<String>>| {
        row.into_iter()
            .map(|value| value.unwrap_or("NULL".to_owned()))
            .collect::<Vec<_>>()
            .join("|")
    };
    rows.into_iter().map(line).collect()
}

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

#[tokio::test]
async fn inserts_updates_and_deletes_end_equal_to_the_source() {
    for server in BOTH {
        let database = database(server, "jdbc_upserts").await;
        let mut sink = Sink::debezium(target(&database), MIRROR);
        let t = source();
        let events = vec![
            create(vec![int(1), text("a")]),
            create(vec![int(2), text("b")]),
            create(vec![int(3), Value::Null]),
            update(vec![int(1), text("a2")]),
            delete(vec![int(2)]),
            tombstone(vec![int(2)]),
        ];
        sink.write(batch("p.s.t", &t, 0, events)).await;
        let all = "select id, v from p_s_t order by id";
        assert_eq!(lines(&database, all).await, ["1|a2", "3|NULL"], "{server}");
        let events = vec![
            delete(vec![int(1)]),
            tombstone(vec![int(1)]),
            create(vec![int(2), text("b2")]),
            delete_row(vec![int(3), Value::Null]),
        ];
        sink.write(batch("p.s.t", &t, 6, events)).await;
        assert_eq!(lines(&database, all).await, ["2|b2"], "{server}");
        assert_eq!(sink.position("p.s.t").await, Some(10), "{server}");
    }
}

#[tokio::test]
async fn what_was_written_is_written_once_even_by_plain_inserts() {
    let database = database(PG15, "jdbc_once").await;
    let keys = [("insert.mode", "insert"), ("schema.evolution", "basic")];
    let mut sink = Sink::debezium(target(&database), &keys);
    let t = source();
    let row = |id| create(vec![int(id), text("x")]);
    sink.write(batch("t", &t, 0, vec![row(1), row(2)])).await;
    for from in [0, 1] {
        sink.reopen().await;
        let events = (from..3).map(|offset| row(offset + 1)).collect();
        sink.write(batch("t", &t, from, events)).await;
        assert_eq!(lines(&database, "select id from t order by id").await, ["1", "2", "3"]);
    }
}

#[tokio::test]
async fn truncation_empties_the_table_and_what_follows_is_kept() {
    let database = database(PG15, "jdbc_truncate").await;
    let mut sink = Sink::debezium(target(&database), MIRROR);
    let t = source();
    sink.write(batch("t", &t, 0, vec![create(vec![int(1), text("a")])])).await;
    let events = vec![create(vec![int(2), text("b")]), truncate(), create(vec![int(3), text("c")])];
    sink.write(batch("t", &t, 1, events)).await;
    assert_eq!(lines(&database, "select * from t").await, ["3|c"]);
}

#[tokio::test]
async fn plain_inserts_keep_every_event_and_confluents_keys_mean_what_they_say() {
    let database = database(PG15, "jdbc_confluent").await;
    let keys =
        [("pk.mode", "kafka"), ("auto.create", "true"), ("table.name.format", "Log_${topic}")];
    let mut sink = Sink::confluent(target(&database), &keys);
    let t = source();
    let row = || create(vec![int(1), text("x")]);
    sink.write(batch(
        "a",
        &t,
        0,
        vec![row(), update(vec![int(1), text("y")]), delete(vec![int(1)])],
    ))
    .await;
    let sql = "select __connect_topic, __connect_partition, __connect_offset, id, v from \"Log_a\" order by 3";
    assert_eq!(lines(&database, sql).await, ["a|0|0|1|x", "a|0|1|1|y"]);
    // Nothing is made or changed unless it is asked for.
    let mut sink =
        Sink::confluent(target(&database), &[("pk.mode", "record_key"), ("insert.mode", "upsert")]);
    let error = sink.try_write(batch("b", &t, 0, vec![row()])).await.unwrap_err().chain();
    assert!(error.contains("table b of topic b does not exist"), "{error}");
    database.execute("create table b (\"ID\" int primary key)").await;
    let rejected = sink.try_write(batch("b", &t, 0, vec![row()])).await.unwrap();
    let error = rejected[0].error.chain();
    assert!(error.contains("has no column v"), "{error}");
    sink.config.set("fields.whitelist", "id");
    sink.reopen().await;
    sink.write(batch("b", &t, 0, vec![row()])).await;
    assert_eq!(lines(&database, "select \"ID\" from b").await, ["1"]);
}

#[tokio::test]
async fn columns_are_added_and_widened_as_the_source_changes() {
    let database = database(PG15, "jdbc_evolve").await;
    let mut sink = Sink::debezium(target(&database), MIRROR);
    let small = Source::new(vec![("id", int32()), ("n", Schema::new(Type::Int16))], 1);
    let large = Source::new(
        vec![
            ("id", Schema::new(Type::Int64)),
            ("n", Schema::new(Type::Int64)),
            ("new \"col\"", string().optional()),
        ],
        1,
    );
    sink.write(batch("t", &small, 0, vec![create(vec![int(1), int(2)])])).await;
    let far = 1 << 40;
    let events = vec![create(vec![int(far), int(far), text("x")]), delete(vec![int(1)])];
    sink.write(batch("t", &large, 1, events)).await;
    assert_eq!(lines(&database, "select * from t").await, [format!("{far}|{far}|x")]);
}

#[tokio::test]
async fn untouched_values_are_kept_and_foreign_keys_and_swaps_hold() {
    let database = database(PG15, "jdbc_keep").await;
    database
        .execute(
            "create table parent (id int primary key, u text unique deferrable, big text not null, g int generated always as (id + 1) stored);
             create table child (id int generated always as identity primary key, v text, parent int references parent)",
        )
        .await;
    let mut sink = Sink::debezium(target(&database), MIRROR);
    let parent =
        Source::new(vec![("id", int32()), ("u", string()), ("big", string()), ("g", int32())], 1);
    let child = Source::new(vec![("id", int32()), ("v", string()), ("parent", int32())], 1);
    let row = |id, u, big| vec![int(id), text(u), big, int(0)];
    // The child comes first, as topics do.
    let both = |children: Vec<Event>, parents: Vec<Event>, from: i64| {
        let mut first = batch("child", &child, from, children);
        let second = batch("parent", &parent, from, parents);
        join(&mut first, second);
        first
    };
    let events = vec![create(row(1, "a", text("one"))), create(row(2, "b", text("two")))];
    sink.write(both(vec![create(vec![int(7), text("c"), int(2)])], events, 0)).await;
    let events = vec![update(row(1, "b", Value::Unchanged)), update(row(2, "a", Value::Unchanged))];
    sink.write(both(vec![], events, 10)).await;
    let sql = "select id, u, big, g from parent order by id";
    assert_eq!(lines(&database, sql).await, ["1|b|one|2", "2|a|two|3"]);
    assert_eq!(lines(&database, "select * from child").await, ["7|c|2"]);
    sink.write(both(vec![delete(vec![int(7)])], vec![delete(vec![int(2)])], 20)).await;
    assert_eq!(lines(&database, "select id from parent").await, ["1"]);
    assert_eq!(lines(&database, "select count(*) from child").await, ["0"]);
}
