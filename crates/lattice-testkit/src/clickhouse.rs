//! One ClickHouse database per test, over HTTP.

use std::time::Duration;

use crate::postgres::unique_name;

/// A database of its own on a real server; dropped with the value (unless `LATTICE_TEST_KEEP` is set).
///
/// Every method but [`try_query`](Self::try_query) panics on an error, with the statement.
pub struct ClickHouseDatabase {
    url: String,
    name: String,
    http: reqwest::Client,
}

impl ClickHouseDatabase {
    /// Makes an empty database on the server at `url`. `hint` becomes part of its name.
    pub async fn create(url: &str, hint: &str) -> Self {
        let database = Self {
            url: url.trim_end_matches('/').to_owned(),
            name: unique_name(hint),
            http: http_client(),
        };
        let created = post(
            &database.http,
            &database.url,
            "default",
            &format!("CREATE DATABASE {}", database.name),
        )
        .await;
        created.unwrap_or_else(|error| {
            panic!("create a ClickHouse database at {}: {error}", database.url)
        });
        database
    }

    /// The database's name: lower case, no quoting needed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's host.
    pub fn host(&self) -> &str {
        let address = crate::services::address_of(&self.url);
        address.rsplit_once(':').map_or(address, |(host, _)| host)
    }

    /// The server's HTTP port.
    pub fn port(&self) -> u16 {
        let address = crate::services::address_of(&self.url);
        address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(8123)
    }

    /// The connection keys of a sink that writes into this database.
    pub fn connector_config(&self) -> Vec<(String, String)> {
        [
            ("hostname", self.host().to_owned()),
            ("port", self.port().to_string()),
            ("database", self.name.clone()),
            ("username", "default".to_owned()),
            ("password", String::new()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
    }

    /// Runs one statement in this database and gives the answer's text (TabSeparated unless it says otherwise).
    pub async fn query(&self, sql: &str) -> String {
        self.try_query(sql).await.unwrap_or_else(|error| panic!("{error}: {sql}"))
    }

    /// As [`query`](Self::query), with the server's message as the error.
    pub async fn try_query(&self, sql: &str) -> Result<String, String> {
        post(&self.http, &self.url, &self.name, sql).await
    }

    /// The rows of a query, each a line of TabSeparated text.
    pub async fn lines(&self, sql: &str) -> Vec<String> {
        self.query(sql).await.lines().map(str::to_owned).collect()
    }

    /// A query's single value, without the line's end.
    pub async fn value(&self, sql: &str) -> String {
        self.query(sql).await.trim_end_matches('\n').to_owned()
    }

    /// The rows that readers see of `table`: superseded versions and deleted rows left out. 0 without the table.
    pub async fn live_rows(&self, table: &str) -> u64 {
        let Some(shape) = crate::compare::target_shape(self, table).await else { return 0 };
        let sql = crate::content::target_count(&self.name, table, &shape);
        self.try_query(&sql).await.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for ClickHouseDatabase {
    fn drop(&mut self) {
        if std::env::var_os("LATTICE_TEST_KEEP").is_some() {
            return;
        }
        let (url, name) = (self.url.clone(), self.name.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                let sql = format!("DROP DATABASE IF EXISTS {name}");
                let http = http_client();
                let dropping = post(&http, &url, "default", &sql);
                let _ = runtime.block_on(async {
                    tokio::time::timeout(Duration::from_secs(10), dropping).await
                });
            }
        });
        let _ = cleaning.join();
    }
}

async fn post(
    http: &reqwest::Client,
    url: &str,
    database: &str,
    sql: &str,
) -> Result<String, String> {
    let answer = http.post(format!("{url}/?database={database}")).body(sql.to_owned()).send().await;
    let answer = answer.map_err(|error| format!("{error:?}"))?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| format!("{error:?}"))?;
    if status.is_success() { Ok(text) } else { Err(text.trim().to_owned()) }
}

/// An HTTP client that works without a TLS provider having been chosen by the process.
pub(crate) fn http_client() -> reqwest::Client {
    // Fails only when another test of this process has already done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(300));
    builder.build().unwrap_or_else(|error| panic!("make an HTTP client: {error:?}"))
}
