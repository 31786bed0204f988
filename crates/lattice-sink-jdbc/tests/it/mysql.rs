//! MySQL and MariaDB as the target.

use std::sync::atomic::{AtomicU32, Ordering};

use lattice_core::{
    error::ErrorKind,
    schema::{Schema, Type},
    value::Value,
};
use lattice_testkit::{TcpProxy, service};
use mysql_async::{Conn, Opts, Row, prelude::Queryable};

use crate::fixture::*;

const BOTH: [&str; 2] = ["LATTICE_TEST_MYSQL", "LATTICE_TEST_MARIADB"];

/// A database of its own; it is dropped at the next run of a test of its name.
struct Database {
    url: String,
    name: String,
}

impl Database {
    async fn new(variable: &str, hint: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("jdbc_{hint}_{}_{number}", std::process::id());
        let database = Self { url: service(variable), name };
        let mut admin = database.connection("mysql").await;
        let sql = format!("CREATE DATABASE {}", database.name);
        admin.query_drop(sql).await.expect("make the database");
        database
    }

    async fn connection(&self, database: &str) -> Conn {
        let base = self.url.rsplit_once('/').map_or(&*self.url, |(base, _)| base);
        let url = format!("{base}/{database}?prefer_socket=false");
        Conn::new(Opts::from_url(&url).expect("a URL")).await.expect("connect")
    }

    fn authority(&self) -> String {
        let rest = self.url.rsplit_once('@').map_or(&*self.url, |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default().to_owned()
    }

    fn target(&self) -> Vec<(String, String)> {
        let url = format!("jdbc:mysql://{}/{}", self.authority(), self.name);
        self.target_at(&url)
    }

    fn target_at(&self, url: &str) -> Vec<(String, String)> {
        let pairs = [
            ("connection.url", url),
            ("connection.username", "lattice"),
            ("connection.password", "lattice"),
        ];
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
    }

    async fn execute(&self, sql: &str) {
        let mut connection = self.connection(&self.name).await;
        for statement in sql.split(';').filter(|text| !text.trim().is_empty()) {
            connection
                .query_drop(statement)
                .await
                .unwrap_or_else(|error| panic!("{error}: {statement}"));
        }
    }

    /// Rows as text, values parted by bars.
    async fn lines(&self, sql: &str) -> Vec<String> {
        let mut connection = self.connection(&self.name).await;
        let rows: Vec<Row> =
            connection.query(sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
        let text = |value: mysql_async::Value| match value {
            mysql_async::Value::NULL => "NULL".to_owned(),
            mysql_async::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => other.as_sql(true),
        };
        rows.into_iter()
            .map(|row| row.unwrap().into_iter().map(text).collect::<Vec<_>>().join("|"))
            .collect()
    }

    async fn drop(self) {
        let mut admin = self.connection("mysql").await;
        admin.query_drop(format!("DROP DATABASE {}", self.name)).await.expect("drop the database");
    }
}

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

#[tokio::test]
async fn inserts_updates_and_deletes_end_equal_to_the_source() {
    for server in BOTH {
        let database = Database::new(server, "upserts").await;
        let mut sink = Sink::debezium(database.target(), MIRROR);
        let t = source();
        let events = vec![
            create(vec![int(1), text("a")]),
            create(vec![int(2), text("b")]),
            update(vec![int(1), text("it's \\ 2 😀")]),
            delete(vec![int(2)]),
            tombstone(vec![int(2)]),
            update(vec![int(1), Value::Unchanged]),
            create(vec![int(0), Value::Null]),
        ];
        sink.write(batch("p.s.t", &t, 0, events)).await;
        let all = "select id, v from p_s_t order by id";
        assert_eq!(database.lines(all).await, ["0|NULL", "1|it's \\ 2 😀"]);
        sink.reopen().await;
        let events = vec![
            truncate(),
            create(vec![int(4), text("d")]),
            update(vec![int(5), Value::Unchanged]),
        ];
        sink.write(batch("p.s.t", &t, 7, events)).await;
        assert_eq!(database.lines(all).await, ["4|d", "5|NULL"]);
        assert_eq!(sink.position("p.s.t").await, Some(10));
        database.drop().await;
    }
}

#[tokio::test]
async fn texts_of_keys_are_one_only_if_they_are_the_same() {
    for server in BOTH {
        let database = Database::new(server, "keys").await;
        let mut sink = Sink::debezium(database.target(), MIRROR);
        let t = Source::new(vec![("k", string()), ("n", int32())], 1);
        let row = |key, number| create(vec![text(key), int(number)]);
        sink.write(batch(
            "t",
            &t,
            0,
            vec![row("a", 1), row("A", 2), row("a ", 3), row("ä", 4), row("", 5)],
        ))
        .await;
        sink.write(batch("t", &t, 5, vec![delete(vec![text("a")])])).await;
        assert_eq!(database.lines("select n from t order by n").await, ["2", "3", "4", "5"]);
        database.drop().await;
    }
}

#[tokio::test]
async fn columns_are_added_and_widened() {
    for server in BOTH {
        let database = Database::new(server, "evolve").await;
        let mut sink = Sink::debezium(database.target(), MIRROR);
        sink.write(batch("t", &source(), 0, vec![create(vec![int(1), text("a")])])).await;
        let wide = Source::new(
            vec![
                ("id", Schema::new(Type::Int64)),
                ("v", string().optional()),
                ("more", Schema::new(Type::Float64).optional()),
            ],
            1,
        );
        let row = vec![int(9_000_000_000), text("b"), Value::Float64(0.1)];
        sink.write(batch("t", &wide, 1, vec![create(row)])).await;
        assert_eq!(
            database.lines("select * from t order by id").await,
            ["1|a|NULL", "9000000000|b|0.1"]
        );
        database.drop().await;
    }
}

#[tokio::test]
async fn another_unique_column_keeps_its_row_and_the_error_names_it() {
    for server in BOTH {
        let database = Database::new(server, "unique").await;
        let sql = "create table t (id int primary key, v varchar(5) unique, own varchar(9) default 'mine');
                   insert into t (id, v) values (1, 'a'), (2, 'b')";
        database.execute(sql).await;
        let keys = [&[("errors.tolerance", "all")], MIRROR].concat();
        let mut sink = Sink::debezium(database.target(), &keys);
        let events = vec![
            create(vec![int(4), text("d")]),
            create(vec![int(3), text("a")]),
            update(vec![int(2), text("b2")]),
            create(vec![int(5), text("toolong")]),
        ];
        let mut rejected =
            sink.try_write(batch("t", &source(), 0, events)).await.expect("the rest is written");
        assert_eq!(
            database.lines("select * from t order by id").await,
            ["1|a|mine", "2|b2|mine", "4|d|mine"]
        );
        rejected.sort_by_key(|one| one.offset);
        let [one, two] = rejected.as_slice() else { panic!("{rejected:?}") };
        let (one, two) = (one.error.chain(), two.error.chain());
        assert!(one.contains("Duplicate entry 'a'") && one.contains("id=3"), "{one}");
        assert!(two.contains("Data too long for column 'v'") && two.contains("id=5"), "{two}");
        database.drop().await;
    }
}

#[tokio::test]
async fn a_lost_answer_to_a_commit_writes_nothing_twice() {
    for server in BOTH {
        let database = Database::new(server, "unknown").await;
        let proxy = TcpProxy::start(&service(server));
        let url = format!(
            "jdbc:mariadb://{}/{}?socketTimeout=5000&sslMode=disable",
            proxy.address(),
            database.name
        );
        let keys = [("insert.mode", "insert"), ("schema.evolution", "basic")];
        let mut sink = Sink::debezium(database.target_at(&url), &keys);
        let t = source();
        let rows = |from: i64| {
            (from..from + 10).map(|id| create(vec![int(id), text("x")])).collect::<Vec<_>>()
        };
        sink.write(batch("t", &t, 0, rows(0))).await;
        let mut next = 10;
        for round in 0..4 {
            if round % 2 == 0 {
                proxy.lose_next_answer();
            } else {
                proxy.cut();
            }
            match sink.try_write(batch("t", &t, next, rows(next))).await {
                Ok(_) => next += 10,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
                    next = sink.position("t").await.unwrap();
                }
            }
            let written = database.lines("select count(*), count(distinct id) from t").await;
            assert_eq!(written, [format!("{next}|{next}")], "round {round}");
        }
        database.drop().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_server_is_said_before_it_runs() {
    let database = Database::new(BOTH[0], "wrong").await;
    let at = |url: &str| Sink::debezium(database.target_at(url), MIRROR);
    let place = database.authority();
    for (url, words) in [
        ("jdbc:mysql://127.0.0.1:1/x".to_owned(), "connection.url: connect to 127.0.0.1:1/x"),
        (format!("jdbc:mysql://{place}/no_such_database"), "connection.url: connect to"),
        (format!("jdbc:mysql://{place}/x?sslMode=maybe"), "connection.url: sslMode \"maybe\""),
        (format!("jdbc:mysql://{place}"), "connection.url: invalid value"),
    ] {
        let issues = at(&url).issues().await;
        assert!(issues.iter().any(|issue| issue.starts_with(words)), "{url}: {issues:?}");
    }
    let mut wrong = database.target();
    wrong[2].1 = "wrong".to_owned();
    let issues = Sink::debezium(wrong, MIRROR).issues().await;
    assert!(
        issues.iter().any(|issue| issue.starts_with("connection.password: connect to")),
        "{issues:?}"
    );
    database.drop().await;
}
