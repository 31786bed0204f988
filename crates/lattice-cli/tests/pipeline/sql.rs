//! PostgreSQL → topics → SQL databases: every operation, and kill -9 in the middle.

use lattice_testkit::wait_for;
use rusqlite::{Connection, types::ValueRef};

use super::*;

/// A target.
enum Target {
    Postgres(Box<PostgresDatabase>),
    Sqlite(tempfile::TempDir),
}

impl Target {
    fn config(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Postgres(database) => {
                let url = format!(
                    "jdbc:postgresql://{}:{}/{}",
                    database.host(),
                    database.port(),
                    database.name()
                );
                vec![
                    ("connection.url", url),
                    ("connection.username", database.user().to_owned()),
                    ("connection.password", database.password()),
                ]
            }
            Self::Sqlite(folder) => {
                vec![("connection.url", format!("jdbc:sqlite:{}", file(folder)))]
            }
        }
    }

    /// Rows of a query, values parted by bars; none while there is no such table.
    async fn lines(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Postgres(database) => match database.try_execute(&format!("explain {sql}")).await
            {
                Ok(()) => joined(database.query(sql).await),
                Err(_) => Vec::new(),
            },
            Self::Sqlite(folder) => sqlite_lines(folder, sql).unwrap_or_default(),
        }
    }
}

fn file(folder: &tempfile::TempDir) -> String {
    folder.path().join("target.db").display().to_string()
}

fn sqlite_lines(folder: &tempfile::TempDir, sql: &str) -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open(file(folder))?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let line = |row: &rusqlite::Row<'_>| {
        let mut values = Vec::new();
        for column in 0..columns {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => "NULL".to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
            });
        }
        Ok(values.join("|"))
    };
    statement.query_map([], line)?.collect()
}

fn joined(rows: Vec<Vec<Option<String>>>) -> Vec<String> {
    let line = |row: Vec<Option<String>>| {
        let values = row.into_iter().map(|value| value.unwrap_or_else(|| "NULL".to_owned()));
        values.collect::<Vec<_>>().join("|")
    };
    rows.into_iter().map(line).collect()
}

/// A source, a target, and a platform between them.
struct Pair {
    path: Path,
    target: Target,
}

impl Pair {
    async fn new(name: &str, target: Target) -> Self {
        Self { path: Path::usual(name).await, target }
    }

    async fn connect(&self, extra: &[(&str, &str)]) {
        let mut config: Vec<(String, String)> =
            self.target.config().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let own = [
            ("connector.class", "io.debezium.connector.jdbc.JdbcSinkConnector"),
            ("topics.regex", r"p\.public\..*"),
            ("insert.mode", "upsert"),
            ("primary.key.mode", "record_key"),
            ("delete.enabled", "true"),
            ("truncate.enabled", "true"),
            ("schema.evolution", "basic"),
            ("collection.name.format", "${source.table}"),
        ];
        set(&mut config, &own);
        set(&mut config, extra);
        self.path.lattice.create_connector("source", self.path.source_config(&[])).await;
        self.path.lattice.create_connector("sink", config).await;
    }

    /// Waits until the same rows are on both sides; the two queries say the same in each one's SQL.
    async fn equal(&self, of_source: &str, of_target: &str) {
        let wanted = joined(self.path.source.query(of_source).await);
        let mut last = Vec::new();
        let start = std::time::Instant::now();
        while start.elapsed() < PATIENCE {
            last = self.target.lines(of_target).await;
            if last == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let differ = |(wanted, found): (&String, &String)| {
            (wanted != found).then(|| format!("{wanted}\n{found}"))
        };
        let first = wanted.iter().zip(&last).find_map(differ).unwrap_or_default();
        panic!(
            "{} rows at the source, {} in the target; the first that differ:\n{first}",
            wanted.len(),
            last.len()
        );
    }
}

const PRODUCTS: [&str; 3] = [
    "select id, name, price, tags::text, made, seen, body::text, big, ok::int from products order by id",
    "select id, name, price, tags::text, made, seen, body::text, big, ok::int from products order by id",
    "select id, name, price, tags, made, seen, body, big, ok from products order by id",
];
const AS_SQLITE: &str = "select id, name, price, to_json(tags), made, seen, body::text, big, ok::int from products order by id";

/// Insert → update → delete → key change → DDL → truncate, each followed by a comparison.
async fn every_operation(name: &str, target: Target) {
    let sqlite = matches!(target, Target::Sqlite(_));
    let pair = Pair::new(name, target).await;
    let source = &pair.path.source;
    source
        .execute(
            "create table products (id int primary key, name text not null, price numeric(10,2), tags text[],
                 made date, seen timestamp, body jsonb, big text, ok boolean default true);
             create table pair (a int, b text, v int, primary key (a, b));
             insert into products select i, 'p' || i, i / 3.0, array['a', 'b' || i], date '2024-01-01' + i,
                 timestamp '2024-01-01 10:00:00.123456' + i * interval '1 hour', jsonb_build_object('n', i),
                 (select string_agg(md5(i::text || j), '') from generate_series(1, 100) j), i % 2 = 0
                 from generate_series(1, 300) i;
             insert into pair values (1, 'x', 1), (1, 'y', 2)",
        )
        .await;
    pair.connect(&[]).await;
    let (of_source, of_target) =
        if sqlite { (AS_SQLITE, PRODUCTS[2]) } else { (PRODUCTS[0], PRODUCTS[1]) };
    let pairs = "select a, b, v from pair order by a, b";
    pair.equal(of_source, of_target).await;
    let steps = [
        "insert into products (id, name) values (1000, 'only what must be'), (1001, 'ünïcode ''quotes'' \\ tab\t')",
        "update products set price = price + 1 where id % 3 = 0",
        "update products set tags = null, made = null, body = null where id = 7",
        "delete from products where id % 10 = 0",
        "begin; delete from products where id = 11; insert into products (id, name) values (11, 'again'); commit",
        "update products set id = 5000 where id = 12",
        "begin; update pair set b = 't' where b = 'x'; update pair set b = 'x' where b = 'y'; commit",
        "alter table products add column note text; update products set note = 'n' where id = 13",
        "alter table products alter column id type bigint; insert into products (id, name) values (9000000000, 'wide key')",
        "alter table pair alter column v type bigint; insert into pair values (3, 'wide', 9000000000)",
        "begin; insert into products (id, name) values (6001, 'kept'); savepoint s; insert into products (id, name) values (6002, 'undone'); rollback to s; commit",
    ];
    for step in steps {
        source.execute(step).await;
        pair.equal(of_source, of_target).await;
        pair.equal(pairs, pairs).await;
    }
    let notes = "select id, note from products where note is not null";
    pair.equal(notes, notes).await;
    source.execute("truncate products").await;
    pair.equal(of_source, of_target).await;
    source.execute("insert into products (id, name) values (1, 'after')").await;
    pair.equal(of_source, of_target).await;
}

async fn postgres(variable: &str, name: &str) -> Target {
    Target::Postgres(Box::new(PostgresDatabase::create(&service(variable), name).await))
}

fn sqlite() -> Target {
    Target::Sqlite(tempfile::tempdir().expect("a temporary folder"))
}

/// Kills the worker again and again while events without a key are inserted one by one: none is
/// lost, and none is there twice.
async fn kills_between_inserts(name: &str, target: Target) {
    let mut pair = Pair::new(name, target).await;
    let table = "create table log (n bigint, line text)";
    pair.path.source.execute(table).await;
    let append = [
        ("insert.mode", "insert"),
        ("primary.key.mode", "none"),
        ("delete.enabled", "false"),
        ("batch.size", "500"),
    ];
    pair.path.source.execute("insert into log values (0, 'first')").await;
    pair.connect(&append).await;
    let count = "select count(*), count(distinct n), max(n) from log";
    pair.equal(count, count).await;
    for round in 1..=4 {
        let before: u64 = lines_count(&pair, "select count(*) from log").await;
        let fill = format!(
            "insert into log select {round} * 100000 + i, 'line ' || i from generate_series(1, 20000) i"
        );
        pair.path.source.execute(&fill).await;
        wait_for(PATIENCE, "some of the rows", async || {
            (lines_count(&pair, "select count(*) from log").await > before).then_some(())
        })
        .await;
        pair.path.lattice.kill();
        pair.path.lattice.start_again().await;
    }
    pair.equal(count, count).await;
}

async fn lines_count(pair: &Pair, sql: &str) -> u64 {
    pair.target.lines(sql).await.first().and_then(|line| line.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn postgres_15_into_postgres_18() {
    let target = postgres("LATTICE_TEST_PG18", "sql_pair_target").await;
    every_operation("sql_pair_pg", target).await;
}

#[tokio::test]
async fn postgres_15_into_sqlite() {
    every_operation("sql_pair_lite", sqlite()).await;
}

#[tokio::test]
async fn a_worker_killed_again_and_again_inserts_each_event_once_into_postgres() {
    let target = postgres("LATTICE_TEST_PG15", "sql_kill_target").await;
    kills_between_inserts("sql_kill_pg", target).await;
}

#[tokio::test]
async fn a_worker_killed_again_and_again_inserts_each_event_once_into_sqlite() {
    kills_between_inserts("sql_kill_lite", sqlite()).await;
}
