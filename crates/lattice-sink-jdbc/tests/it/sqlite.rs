//! SQLite as the target.

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};
use rusqlite::{Connection, types::ValueRef};

use crate::fixture::*;

/// A file in a folder of its own.
struct File(tempfile::TempDir);

impl File {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> String {
        self.0.path().join("target.db").display().to_string()
    }

    fn target(&self) -> Vec<(String, String)> {
        vec![("connection.url".to_owned(), format!("jdbc:sqlite:{}", self.path()))]
    }

    fn execute(&self, sql: &str) {
        let connection = Connection::open(self.path()).expect("open the file");
        connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// Rows as text, values parted by bars.
    fn lines(&self, sql: &str) -> Vec<String> {
        let connection = Connection::open(self.path()).expect("open the file");
        let mut statement =
            connection.prepare(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        let columns = statement.column_count();
        let line = |row: &rusqlite::Row<'_>| {
            let value = |at| match row.get_ref(at).expect("a column") {
                ValueRef::Null => "NULL".to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Blob(bytes) => format!("{bytes:?}"),
            };
            Ok((0..columns).map(value).collect::<Vec<_>>().join("|"))
        };
        let rows = statement.query_map([], line).expect("a query");
        rows.map(|row| row.expect("a row")).collect()
    }
}

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

#[tokio::test]
async fn inserts_updates_and_deletes_end_equal_to_the_source() {
    let file = File::new();
    let mut sink = Sink::debezium(file.target(), MIRROR);
    let t = source();
    let events = vec![
        create(vec![int(1), text("a")]),
        create(vec![int(2), text("b")]),
        update(vec![int(1), text("a'2")]),
        delete(vec![int(2)]),
        tombstone(vec![int(2)]),
        update(vec![int(1), Value::Unchanged]),
        create(vec![int(3), Value::Null]),
    ];
    sink.write(batch("p.s.t", &t, 0, events)).await;
    assert_eq!(file.lines("select id, v from p_s_t order by id"), ["1|a'2", "3|NULL"]);
    sink.reopen().await;
    let events = vec![
        create(vec![int(3), Value::Null]),
        truncate(),
        create(vec![int(4), text("d")]),
        update(vec![int(5), Value::Unchanged]),
    ];
    sink.write(batch("p.s.t", &t, 6, events)).await;
    assert_eq!(file.lines("select id, v from p_s_t order by id"), ["4|d", "5|NULL"]);
    assert_eq!(sink.position("p.s.t").await, Some(10));
}

#[tokio::test]
async fn another_unique_column_keeps_its_row_and_the_error_names_it() {
    let file = File::new();
    file.execute("create table t (id integer primary key, v text unique, own text default 'mine'); insert into t (id, v) values (1, 'a'), (2, 'b')");
    let keys = [&[("errors.tolerance", "all")], MIRROR].concat();
    let mut sink = Sink::debezium(file.target(), &keys);
    let t = source();
    let events = vec![
        create(vec![int(4), text("d")]),
        create(vec![int(3), text("a")]),
        update(vec![int(2), text("b2")]),
    ];
    let rejected = sink.try_write(batch("t", &t, 0, events)).await.expect("the rest is written");
    assert_eq!(file.lines("select * from t order by id"), ["1|a|mine", "2|b2|mine", "4|d|mine"]);
    let [one] = rejected.as_slice() else { panic!("{rejected:?}") };
    assert_eq!(one.offset, 1);
    let error = one.error.chain();
    assert!(error.contains("UNIQUE constraint failed: t.v") && error.contains("id=3"), "{error}");
}

#[tokio::test]
async fn values_that_sqlite_would_change_are_rejected() {
    let file = File::new();
    file.execute("create table t (id integer primary key, n numeric, f real)");
    let keys = [&[("errors.tolerance", "all")], MIRROR].concat();
    let mut sink = Sink::debezium(file.target(), &keys);
    let number = || {
        Schema::new(Type::Bytes)
            .named("org.apache.kafka.connect.data.Decimal", 1)
            .parameter("scale", "2")
    };
    let t = Source::new(
        vec![
            ("id", int32()),
            ("n", number().optional()),
            ("f", Schema::new(Type::Float64).optional()),
        ],
        1,
    );
    let decimal = |unscaled: i128| Value::bytes(Box::leak(Box::new(unscaled.to_be_bytes())));
    let events = vec![
        create(vec![int(1), decimal(12345), Value::Float64(0.5)]),
        create(vec![int(2), decimal(12_345_678_901_234_567), Value::Null]),
        create(vec![int(3), Value::Null, Value::Float64(f64::NAN)]),
    ];
    let rejected = sink.try_write(batch("t", &t, 0, events)).await.expect("the rest is written");
    assert_eq!(file.lines("select * from t"), ["1|123.45|0.5"]);
    assert_eq!(rejected.iter().map(|one| one.offset).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named() {
    let file = vec![("connection.url".to_owned(), "jdbc:sqlite:/nowhere/at/all.db".to_owned())];
    let issues = Sink::debezium(file, MIRROR).issues().await;
    assert_eq!(
        issues,
        [
            "connection.url: open /nowhere/at/all.db: unable to open database file: /nowhere/at/all.db"
        ]
    );
}
