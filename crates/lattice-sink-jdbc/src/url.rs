//! JDBC URLs, taken as they are.

use std::path::PathBuf;

use lattice_core::{
    error::{Error, Result},
    secret::Secret,
};

/// Which SQL is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    /// MySQL and MariaDB; which of them it is, the server says.
    Mysql,
    Sqlite,
}

/// Where the target is.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    Server(Server),
    /// A file of SQLite with the parameters of its URL.
    File {
        path: PathBuf,
        parameters: Vec<(String, String)>,
    },
}

/// A database of a server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) dialect: Dialect,
    pub(crate) hosts: Vec<(String, u16)>,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: Secret,
    parameters: Vec<(String, String)>,
}

impl Server {
    /// The last value of a parameter, whatever the case of its name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.parameters, name)
    }

    /// The parameters' names.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, _)| name.as_str())
    }

    /// For messages: without user and password.
    pub(crate) fn shown(&self) -> String {
        let hosts: Vec<String> =
            self.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
        format!("{}/{}", hosts.join(","), self.database)
    }
}

/// The last value of a parameter, whatever the case of its name.
pub(crate) fn find<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = parameters.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Databases that the vendors' connectors reach and this sink does not.
const OTHERS: [&str; 16] = [
    "sqlserver",
    "oracle",
    "db2",
    "as400",
    "sap",
    "vertica",
    "snowflake",
    "redshift",
    "bigquery",
    "h2",
    "derby",
    "firebirdsql",
    "duckdb",
    "sybase",
    "odbc",
    "adbc",
];

impl Address {
    /// Reads a URL. `user` and `password` win over those in it.
    ///
    /// Errors: `Config`; never with the URL itself, which may hold a password.
    pub(crate) fn parse(url: &str, user: &str, password: Secret) -> Result<Self> {
        let url = url.trim();
        let rest = url.strip_prefix("jdbc:").unwrap_or(url);
        let (scheme, rest) = rest.split_once(':').unwrap_or((rest, ""));
        match scheme {
            "postgresql" | "postgres" => server(Dialect::Postgres, rest, user, password),
            "mysql" | "mariadb" => {
                let words = ["loadbalance:", "replication:", "sequential:", "failover:"];
                let rest = words.iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
                server(Dialect::Mysql, rest, user, password)
            }
            "sqlite" => file(rest),
            "clickhouse" | "ch" => Err(wrong("ClickHouse is written by its own sink".to_owned())
                .with_remedy("use connector.class clickhouse")),
            other if OTHERS.contains(&other) => {
                Err(wrong(format!("databases of kind {other} are not supported")))
            }
            other => Err(wrong(format!("\"{other}\" is no kind of database that is known"))),
        }
    }

    /// Which SQL is spoken there.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Server(server) => server.dialect,
            Self::File { .. } => Dialect::Sqlite,
        }
    }
}

fn wrong(reason: String) -> Error {
    Error::config(format!("invalid value for configuration \"connection.url\": {reason}"))
        .with_remedy(
            "expected jdbc:postgresql://…, jdbc:mysql://…, jdbc:mariadb://… or jdbc:sqlite:…",
        )
}

fn file(rest: &str) -> Result<Address> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = path.strip_prefix("file:").unwrap_or(path);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path == ":memory:" {
        return Err(wrong(
            "a database in memory would be gone with the task; name a file".to_owned(),
        ));
    }
    Ok(Address::File { path: PathBuf::from(path), parameters: parameters(query)? })
}

fn server(dialect: Dialect, rest: &str, user: &str, password: Secret) -> Result<Address> {
    let Some(rest) = rest.strip_prefix("//") else {
        // PostgreSQL's short form: jdbc:postgresql:database
        if dialect == Dialect::Postgres && !rest.is_empty() {
            return server(
                dialect,
                &format!("//localhost/{}", rest.trim_start_matches('/')),
                user,
                password,
            );
        }
        return Err(wrong("expected // and a host after the kind of database".to_owned()));
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let parameters = parameters(query)?;
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (login, authority) = match authority.rsplit_once('@') {
        Some((login, authority)) => (Some(login), authority),
        None => (None, authority),
    };
    let default = if dialect == Dialect::Postgres { 5432 } else { 3306 };
    let hosts = authority.split(',').map(|one| host(one, default)).collect::<Result<Vec<_>>>()?;
    let (url_user, url_password) = match login {
        Some(login) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            (decode(user)?, decode(password)?)
        }
        None => (String::new(), String::new()),
    };
    let first = |given: &str, of_url: String, name: &str| match () {
        () if !given.is_empty() => given.to_owned(),
        () if !of_url.is_empty() => of_url,
        () => find(&parameters, name).unwrap_or_default().to_owned(),
    };
    let user = first(user, url_user, "user");
    let password = Secret::new(first(password.expose(), url_password, "password"));
    let mut database = decode(database)?;
    if database.is_empty() {
        if dialect != Dialect::Postgres {
            return Err(wrong("it names no database after the host".to_owned()));
        }
        database.clone_from(&user);
    }
    Ok(Address::Server(Server { dialect, hosts, database, user, password, parameters }))
}

fn host(text: &str, default: u16) -> Result<(String, u16)> {
    let bad = || wrong(format!("\"{text}\" is no host and port"));
    let text = text.trim();
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or_else(bad)?;
            (name, port.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let name = if name.is_empty() { "localhost" } else { name };
    if name.contains(['(', '=', ' ']) {
        return Err(bad());
    }
    let port = match port {
        Some(port) => port.parse().map_err(|_| bad())?,
        None => default,
    };
    Ok((name.to_owned(), port))
}

fn parameters(query: &str) -> Result<Vec<(String, String)>> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok((decode(name)?, decode(value)?))
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

/// Takes percent escapes away.
fn decode(text: &str) -> Result<String> {
    let bad = || wrong("a % in it is followed by no two hexadecimal digits".to_owned());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits =
            tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok()).ok_or_else(bad)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = tail.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Server {
        match Address::parse(url, "", Secret::new("")) {
            Ok(Address::Server(server)) => server,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn urls_of_all_kinds_are_read() {
        let server = parsed(
            "jdbc:postgresql://u%40x:p%3A@h1:5,[::1]/d%C3%BC?sslmode=require&ApplicationName=a",
        );
        assert_eq!(server.hosts, [("h1".to_owned(), 5), ("::1".to_owned(), 5432)]);
        assert_eq!((server.user.as_str(), server.password.expose()), ("u@x", "p:"));
        assert_eq!(server.database, "dü");
        assert_eq!(server.parameter("SSLMODE"), Some("require"));
        assert_eq!(parsed("jdbc:postgresql:shop?user=me").hosts, [("localhost".to_owned(), 5432)]);
        assert_eq!(parsed("jdbc:mysql:loadbalance://a,b:1/d").hosts.len(), 2);
        assert_eq!(parsed("jdbc:mariadb://a/d?user=u&password=p").password.expose(), "p");
        let file = Address::parse("jdbc:sqlite:/tmp/a.db?busy_timeout=1", "", Secret::new(""));
        let Ok(Address::File { path, parameters }) = file else { panic!("no file") };
        assert_eq!(
            (path.to_str(), find(&parameters, "busy_timeout")),
            (Some("/tmp/a.db"), Some("1"))
        );
    }

    #[test]
    fn what_cannot_be_reached_is_named_without_the_password() {
        for (url, word) in [
            ("jdbc:oracle:thin:@h:1:S", "oracle"),
            ("jdbc:sqlserver://h;user=a", "sqlserver"),
            ("jdbc:sqlite::memory:", "memory"),
            ("jdbc:mysql://u:hunter2@h", "no database"),
            ("jdbc:postgresql://u:hunter2@h:x/d", "no host and port"),
            ("hunter2", "no kind of database"),
        ] {
            let error = Address::parse(url, "", Secret::new("")).unwrap_err().chain();
            assert!(error.contains(word), "{error}");
            assert!(url == "hunter2" || !error.contains("hunter2"), "{error}");
        }
    }
}
