//! One PostgreSQL database per test.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use futures_util::StreamExt;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// A database of its own on a real server; dropped, with its replication slots, when the value is
/// (unless `LATTICE_TEST_KEEP` is set, to look at it after a failure).
///
/// Every method panics on an SQL error, with the statement: a test that cannot prepare its data has failed.
pub struct PostgresDatabase {
    admin: Config,
    config: Config,
    client: Client,
    name: String,
}

impl PostgresDatabase {
    /// Makes an empty UTF-8 database on the server at `url`, which names a superuser.
    /// `hint` becomes part of its name.
    pub async fn create(url: &str, hint: &str) -> Self {
        Self::create_with(url, hint, "ENCODING 'UTF8'").await
    }

    /// As [`create`](Self::create), with `options` after `CREATE DATABASE … TEMPLATE template0`,
    /// for instance `ENCODING 'SQL_ASCII' LOCALE 'C'`.
    pub async fn create_with(url: &str, hint: &str, options: &str) -> Self {
        let admin: Config =
            url.parse().unwrap_or_else(|error| panic!("not a PostgreSQL URL ({error})"));
        let name = unique_name(hint);
        let server = connect(&admin).await;
        run(&server, &format!("CREATE DATABASE {name} TEMPLATE template0 {options}")).await;
        let mut config = admin.clone();
        config.dbname(&name);
        let client = connect(&config).await;
        Self { admin, config, client, name }
    }

    /// The database's name: lower case, no quoting needed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's host.
    pub fn host(&self) -> String {
        match self.config.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            _ => "127.0.0.1".to_owned(),
        }
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.config.get_ports().first().copied().unwrap_or(5432)
    }

    /// The superuser's name.
    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or("postgres")
    }

    /// The superuser's password.
    pub fn password(&self) -> String {
        self.config
            .get_password()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    }

    /// A URL of this database.
    pub fn url(&self) -> String {
        format!(
            "postgres://{}:{}@{}:{}/{}",
            self.user(),
            self.password(),
            self.host(),
            self.port(),
            self.name
        )
    }

    /// The `database.*` keys of a connector that captures this database.
    pub fn connector_config(&self) -> Vec<(String, String)> {
        [
            ("database.hostname", self.host()),
            ("database.port", self.port().to_string()),
            ("database.user", self.user().to_owned()),
            ("database.password", self.password()),
            ("database.dbname", self.name.clone()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
    }

    /// Runs one or more statements; several of them form one transaction, as in any simple query.
    pub async fn execute(&self, sql: &str) {
        run(&self.client, sql).await;
    }

    /// Runs statements and gives the server's message if it refuses.
    pub async fn try_execute(&self, sql: &str) -> Result<(), String> {
        self.client.batch_execute(sql).await.map_err(|error| describe(&error))
    }

    /// Runs a query and gives its rows as text; NULL is `None`.
    pub async fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let messages = self.client.simple_query(sql).await;
        let messages = messages.unwrap_or_else(|error| panic!("{}: {sql}", describe(&error)));
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        rows.collect()
    }

    /// The first column of the first row, as text. Panics if there is no row or it is NULL.
    pub async fn value(&self, sql: &str) -> String {
        let first = self.query(sql).await.into_iter().next().and_then(|row| row.into_iter().next());
        first.flatten().unwrap_or_else(|| panic!("no value: {sql}"))
    }

    /// The rows of a query as `COPY … TO STDOUT` writes them, one line each, without the line's end.
    pub async fn copy_out(&self, query: &str) -> Vec<String> {
        let sql = format!("COPY ({query}) TO STDOUT");
        let stream = self.client.copy_out(&sql).await;
        let stream = stream.unwrap_or_else(|error| panic!("{}: {sql}", describe(&error)));
        let mut stream = std::pin::pin!(stream);
        let mut lines = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.unwrap_or_else(|error| panic!("{}: {sql}", describe(&error)));
            let text = String::from_utf8_lossy(&chunk);
            lines.extend(text.lines().map(str::to_owned));
        }
        lines
    }

    /// A second connection to the same database, for what must happen beside an open transaction.
    pub async fn connect(&self) -> Client {
        connect(&self.config).await
    }

    /// Ends every other connection to this database, replication connections included.
    pub async fn cut_connections(&self) {
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    }
}

/// How long a test waits for its database to be dropped.
const CLEANING: std::time::Duration = std::time::Duration::from_secs(3);

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        if std::env::var_os("LATTICE_TEST_KEEP").is_some() {
            return;
        }
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let (done, cleaned) = std::sync::mpsc::channel();
        // The test's runtime may be single-threaded and is inside this very call.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(drop_database(&admin, &name));
            }
            let _ = done.send(());
        });
        // A connection of the test that is just being made stands still as long as this waits, and the
        // server drops nothing (and makes no slot) before it went on or its minute for that is over.
        // It ends with the test's process, and the server then ends what it was told to do.
        let _ = cleaned.recv_timeout(CLEANING);
    }
}

/// Takes the database away from whoever still uses it. Best effort: the server may be gone by now.
async fn drop_database(admin: &Config, name: &str) {
    let Ok((client, connection)) = admin.connect(NoTls).await else { return };
    let driver = tokio::spawn(connection);
    let of_slots = format!("FROM pg_replication_slots WHERE database = '{name}'");
    for _ in 0..50 {
        let ended = format!(
            "SELECT pg_terminate_backend(active_pid) {of_slots} AND active_pid IS NOT NULL"
        );
        let _ = client.simple_query(&ended).await;
        let dropped = client
            .simple_query(&format!("SELECT pg_drop_replication_slot(slot_name) {of_slots}"))
            .await;
        let forced =
            client.simple_query(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        if dropped.is_ok() && forced.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    drop(client);
    let _ = driver.await;
}

async fn connect(config: &Config) -> Client {
    let connected = config.connect(NoTls).await;
    let (client, connection) =
        connected.unwrap_or_else(|error| panic!("connect to PostgreSQL: {}", describe(&error)));
    // Ends by itself when the client is dropped.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    client
}

async fn run(client: &Client, sql: &str) {
    if let Err(error) = client.batch_execute(sql).await {
        panic!("{}: {sql}", describe(&error));
    }
}

fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => error.to_string(),
    }
}

/// `t_<hint>_<time><counter>`: unlike any other test's, in this run and in earlier ones.
pub(crate) fn unique_name(hint: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let clean: String = hint
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let nanos =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    // 63 bytes is PostgreSQL's limit for a name; slot names made from it must fit as well.
    let clean = &clean[..clean.len().min(24)];
    format!("t_{clean}_{:x}_{:x}_{counter}", nanos & 0xff_ffff_ffff, std::process::id())
}
