//! The sink's keys, and the settings that come out of them.

use std::time::Duration;

use lattice_core::{
    config::{Config, Importance, Key, KeyType, Rule},
    error::Result,
    secret::Secret,
};

/// The server's host.
pub(crate) const HOSTNAME: Key =
    Key::new("hostname", KeyType::String, "host name of the ClickHouse server")
        .required()
        .rule(Rule::NonEmpty)
        .group("Connection");
/// The server's HTTP port.
pub(crate) const PORT: Key = Key::new(
    "port",
    KeyType::Int,
    "HTTP or HTTPS port of the server: 8123 without TLS, 8443 with it, unless it was changed",
)
.default("8443")
.rule(Rule::Range(1, 65_535))
.importance(Importance::High)
.group("Connection");
/// HTTPS or HTTP.
pub(crate) const SSL: Key =
    Key::new("ssl", KeyType::Boolean, "whether to connect by HTTPS; certificates are verified")
        .default("false")
        .importance(Importance::High)
        .group("Connection");
/// The target database.
pub(crate) const DATABASE: Key =
    Key::new("database", KeyType::String, "database that holds the target tables; it must exist")
        .default("default")
        .rule(Rule::NonEmpty)
        .importance(Importance::High)
        .group("Connection");
/// The user.
pub(crate) const USERNAME: Key = Key::new("username", KeyType::String, "name of the user")
    .default("default")
    .importance(Importance::High)
    .group("Connection");
/// The user's password.
pub(crate) const PASSWORD: Key = Key::new("password", KeyType::Password, "password of the user")
    .default("")
    .importance(Importance::High)
    .group("Connection");
/// How long one request may take.
pub(crate) const TIMEOUT: Key = Key::new(
    "timeoutSeconds",
    KeyType::Int,
    "how long connecting and one statement other than an insert may take, in seconds",
)
.default("30")
.rule(Rule::Range(1, 600))
.group("Connection");
/// How long one insert may take.
pub(crate) const INSERT_TIMEOUT: Key = Key::new(
    "clickhouseClientInsertTimeoutMs",
    KeyType::Long,
    "how long one insert may take, in milliseconds",
)
.default("240000")
.rule(Rule::Range(1_000, 86_400_000))
.importance(Importance::Low)
.group("Connection");
/// A certificate authority's file.
pub(crate) const SSL_CA: Key = Key::new(
    "ssl.ca.location",
    KeyType::String,
    "PEM file of the certificate authority that signed the server's certificate; empty: the system's",
)
.default("")
.importance(Importance::Low)
.group("Connection");
/// Body compression.
pub(crate) const COMPRESSION: Key = Key::new(
    "compression",
    KeyType::String,
    "compression of inserts: none (same machine or fast network) or lz4 (not for servers of 2018)",
)
.default("none")
.rule(Rule::OneOf(&["none", "lz4"]))
.group("Connection");
/// Settings sent with each insert.
pub(crate) const SETTINGS: Key = Key::new(
    "clickhouseSettings",
    KeyType::List,
    "ClickHouse settings sent with each insert, as name=value, comma-separated",
)
.default("")
.importance(Importance::Low)
.group("Connection");

/// Topic to table.
pub(crate) const TABLE_MAP: Key = Key::new(
    "topic2TableMap",
    KeyType::List,
    "tables of topics whose name differs, as topic=table, comma-separated",
)
.default("")
.group("Tables");
/// A table's name by its topic's.
pub(crate) const TABLE_FORMAT: Key = Key::new(
    "table.name.format",
    KeyType::String,
    "name of a topic's table; ${topic} stands for the topic's name",
)
.default("${topic}")
.rule(Rule::Check(check_format))
.group("Tables");
/// Whether tables are made.
pub(crate) const AUTO_CREATE: Key = Key::new(
    "auto.create",
    KeyType::Boolean,
    "whether a missing table is created, with its view <table>_live",
)
.default("true")
.group("Tables");
/// What happens when fields come or widen.
pub(crate) const EVOLUTION: Key = Key::new(
    "schema.evolution",
    KeyType::String,
    "basic: columns are added and widened as the source's are; none: the table is left alone",
)
.default("basic")
.rule(Rule::OneOf(&["none", "basic"]))
.group("Tables");
/// A field that has no column.
pub(crate) const UNMAPPED: Key = Key::new(
    "unmapped.fields",
    KeyType::String,
    "a field without a column, when columns are not added: warn (it is left out, with a remark) or fail",
)
.default("warn")
.rule(Rule::OneOf(&["warn", "fail"]))
.group("Tables");
/// Deletes.
pub(crate) const DELETE_MODE: Key = Key::new(
    "delete.mode",
    KeyType::String,
    "tombstone: a deleted row is marked, and gone for readers of FINAL or the view; soft: its last \
     values are kept, marked; ignore: it stays",
)
.default("tombstone")
.rule(Rule::OneOf(&["tombstone", "soft", "ignore"]))
.group("Tables");
/// Values outside their column's range.
pub(crate) const OUT_OF_RANGE: Key = Key::new(
    "value.out.of.range",
    KeyType::String,
    "a date or number that its column cannot hold: clamp (dates to the nearest, numbers to NULL \
     where the column allows it, else rejected), null (NULL, else rejected) or reject (a dead letter)",
)
.default("clamp")
.rule(Rule::OneOf(&["clamp", "null", "reject"]))
.group("Tables");

/// Rows of one insert.
pub(crate) const MAX_ROWS: Key =
    Key::new("batch.max.rows", KeyType::Int, "how many rows are written at once at most")
        .default("200000")
        .rule(Rule::Range(1, 1_000_000))
        .group("Batching");
/// Bytes held before an insert.
pub(crate) const MAX_BYTES: Key = Key::new(
    "batch.max.bytes",
    KeyType::Long,
    "how many bytes of records are gathered at most before they are written",
)
.default("33554432")
.rule(Rule::Range(1 << 10, 1 << 30))
.group("Batching");
/// How long rows wait for others.
pub(crate) const LATENCY: Key = Key::new(
    "batch.latency.ms",
    KeyType::Long,
    "how long a row waits for others at most, in milliseconds; larger makes fewer parts",
)
.default("100")
.rule(Rule::Range(1, 600_000))
.group("Batching");
/// Attempts of one insert.
pub(crate) const RETRIES: Key = Key::new(
    "retryCount",
    KeyType::Int,
    "how often an insert is tried again before the task is opened anew",
)
.default("3")
.rule(Rule::Range(0, 10))
.importance(Importance::Low)
.group("Batching");

const NO_STATE: &str =
    "no state outside the table is needed: a redelivered row has the version it had";

/// All keys.
pub(crate) static KEYS: &[Key] = &[
    HOSTNAME,
    PORT,
    SSL,
    DATABASE,
    USERNAME,
    PASSWORD,
    TIMEOUT,
    INSERT_TIMEOUT,
    SSL_CA,
    COMPRESSION,
    SETTINGS,
    TABLE_MAP,
    TABLE_FORMAT,
    AUTO_CREATE,
    EVOLUTION,
    UNMAPPED,
    DELETE_MODE,
    OUT_OF_RANGE,
    MAX_ROWS,
    MAX_BYTES,
    LATENCY,
    RETRIES,
];

/// The vendor's keys that have no effect here.
pub(crate) static IGNORED: &[Key] = &[
    ignored("exactlyOnce", KeyType::Boolean, NO_STATE),
    ignored("zkPath", KeyType::String, NO_STATE),
    ignored("zkDatabase", KeyType::String, NO_STATE),
    ignored("keeperOnCluster", KeyType::String, NO_STATE),
    ignored("tolerateStateMismatch", KeyType::Boolean, NO_STATE),
    ignored(
        "suppressTableExistenceException",
        KeyType::Boolean,
        "rows are never skipped silently; a missing table is created or reported",
    ),
    ignored("jdbcConnectionProperties", KeyType::String, "there is no JDBC driver here"),
    ignored(
        "tableRefreshInterval",
        KeyType::Long,
        "columns are read again when the server says so",
    ),
    ignored("customInsertFormat", KeyType::Boolean, "rows are always sent as Native blocks"),
    ignored("insertFormat", KeyType::String, "rows are always sent as Native blocks"),
    ignored("bypassRowBinary", KeyType::Boolean, "rows are always sent as Native blocks"),
    ignored("clientVersion", KeyType::String, "there is one client"),
    ignored("bypassSchemaValidation", KeyType::Boolean, "columns are always checked first"),
    ignored("bypassFieldCleanup", KeyType::Boolean, "fields are mapped by name"),
    ignored("ignorePartitionsWhenBatching", KeyType::Boolean, "partitions are always combined"),
    ignored("bufferCount", KeyType::Int, "use batch.max.rows"),
    ignored("bufferFlushTime", KeyType::Long, "use batch.latency.ms"),
    ignored("reportInsertedOffsets", KeyType::Boolean, "only written offsets are ever committed"),
    ignored("debeziumCDCEnabled", KeyType::Boolean, "change events are always understood"),
    ignored("auto.evolve", KeyType::Boolean, "use schema.evolution"),
    ignored("auto.evolve.ddl.refresh.retries", KeyType::Int, "columns are read after each change"),
    ignored("auto.evolve.struct.to.json", KeyType::Boolean, "structs become JSON text"),
    ignored("dateTimeFormats", KeyType::String, "times are converted by their schemas"),
    ignored("enableDbTopicSplit", KeyType::Boolean, "use topic2TableMap or table.name.format"),
    ignored("dbTopicSplitChar", KeyType::String, "use topic2TableMap or table.name.format"),
    ignored("clusterName", KeyType::String, "statements run on the one server that is named"),
    ignored("proxyType", KeyType::String, "connections are direct"),
    ignored("proxyHost", KeyType::String, "connections are direct"),
    ignored("proxyPort", KeyType::Int, "connections are direct"),
    ignored("ssl_socket_sni", KeyType::String, "certificates are verified for hostname"),
];

const fn ignored(name: &'static str, kind: KeyType, why: &'static str) -> Key {
    Key::new(name, kind, "a key of the vendor's connector, accepted without effect")
        .importance(Importance::Low)
        .group("Compatibility")
        .ignored(why)
}

fn check_format(value: &str) -> Option<String> {
    (!value.contains("${topic}")).then(|| "expected ${topic} in it".to_owned())
}

/// What becomes of deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteMode {
    /// A marked row with the key.
    Tombstone,
    /// A marked row with its last values.
    Soft,
    /// Nothing.
    Ignore,
}

/// What becomes of values that their column cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutOfRange {
    /// The nearest.
    Clamp,
    /// NULL where possible.
    Null,
    /// The row is rejected.
    Reject,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) ssl: bool,
    pub(crate) ca: Option<String>,
    pub(crate) database: String,
    pub(crate) username: String,
    pub(crate) password: Secret,
    pub(crate) timeout: Duration,
    pub(crate) insert_timeout: Duration,
    pub(crate) lz4: bool,
    pub(crate) insert_settings: Vec<(String, String)>,
    pub(crate) table_map: Vec<(String, String)>,
    pub(crate) table_format: String,
    pub(crate) auto_create: bool,
    pub(crate) evolve: bool,
    pub(crate) unmapped_fails: bool,
    pub(crate) delete_mode: DeleteMode,
    pub(crate) out_of_range: OutOfRange,
    pub(crate) max_rows: usize,
    pub(crate) max_bytes: usize,
    pub(crate) latency: Duration,
    pub(crate) retries: u32,
}

impl Settings {
    /// Reads a configuration.
    ///
    /// Errors: `Config`.
    pub(crate) fn from_config(config: &Config) -> Result<Self> {
        let ssl = config.boolean(&SSL)?;
        let host = config.required(&HOSTNAME)?.trim();
        let host = if host.contains(':') && !host.starts_with('[') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let scheme = if ssl { "https" } else { "http" };
        let word = |key: &Key| config.text(key).unwrap_or_default().trim().to_ascii_lowercase();
        Ok(Self {
            url: format!("{scheme}://{host}:{}", config.number(&PORT)?),
            ssl,
            ca: config.text(&SSL_CA).filter(|path| !path.is_empty()).map(str::to_owned),
            database: config.required(&DATABASE)?.trim().to_owned(),
            username: config.text(&USERNAME).unwrap_or("default").to_owned(),
            password: config.secret(&PASSWORD),
            timeout: Duration::from_secs(count(config.number(&TIMEOUT)?) as u64),
            insert_timeout: config.millis(&INSERT_TIMEOUT)?,
            lz4: word(&COMPRESSION) == "lz4",
            insert_settings: pairs(config, &SETTINGS)?,
            table_map: pairs(config, &TABLE_MAP)?,
            table_format: config.required(&TABLE_FORMAT)?.to_owned(),
            auto_create: config.boolean(&AUTO_CREATE)?,
            evolve: word(&EVOLUTION) != "none",
            unmapped_fails: word(&UNMAPPED) == "fail",
            delete_mode: match word(&DELETE_MODE).as_str() {
                "soft" => DeleteMode::Soft,
                "ignore" => DeleteMode::Ignore,
                _ => DeleteMode::Tombstone,
            },
            out_of_range: match word(&OUT_OF_RANGE).as_str() {
                "null" => OutOfRange::Null,
                "reject" => OutOfRange::Reject,
                _ => OutOfRange::Clamp,
            },
            max_rows: count(config.number(&MAX_ROWS)?),
            max_bytes: count(config.number(&MAX_BYTES)?),
            latency: config.millis(&LATENCY)?,
            retries: u32::try_from(config.number(&RETRIES)?).unwrap_or(0),
        })
    }

    /// The table of a topic: dots are part of its name.
    pub(crate) fn table_of(&self, topic: &str) -> String {
        let mapped = self.table_map.iter().find(|(from, _)| from == topic);
        match mapped {
            Some((_, table)) => table.trim_matches('`').to_owned(),
            None => self.table_format.replace("${topic}", topic),
        }
    }
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn pairs(config: &Config, key: &Key) -> Result<Vec<(String, String)>> {
    let split = |item: String| match item.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(config.invalid(key, &format!("\"{item}\" has no \"=\""))),
    };
    config.list(key).into_iter().map(split).collect()
}
