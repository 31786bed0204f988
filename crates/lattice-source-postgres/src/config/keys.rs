//! The keys, in the tables of forms and reference pages.

use lattice_core::config::{
    Importance, Key,
    KeyType::{Boolean, Class, Double, Int, List, Long, Password, Short, String as Text},
    Rule,
};

/// Prefixes of keys that are refused: to pass over them would write other values than asked for.
pub const REFUSED: &[&str] = &[
    "converters",
    "post.processors",
    "snapshot.select.statement.overrides",
    "replica.identity.autoset.values",
];

/// Prefixes of keys whose rest is free.
pub const PREFIXES: &[&str] = &[
    "driver.",
    "internal.",
    "column.mask.",
    "column.truncate.",
    "snapshot.select.statement.overrides.",
    "snapshot.max.threads.multiplier.",
    "signal.consumer.",
    "openlineage.",
    "snapshot.mode.configuration.based.",
    "transforms",
    "predicates",
    "producer.override.",
    "topic.creation.",
];

const NOT_JAVA: &str = "it names Java code, which does not run here";
const OWN_BUFFERS: &str = "buffers are bounded in bytes by the worker";
const RUNTIME_RETRIES: &str = "the worker retries transient errors with backoff";

macro_rules! keys {
    ($($(#[$meta:meta])* $name:ident = $key:expr;)*) => {
        $($(#[$meta])* pub const $name: Key = $key;)*
    };
}

const fn connection(
    name: &'static str,
    kind: lattice_core::config::KeyType,
    doc: &'static str,
) -> Key {
    Key::new(name, kind, doc).group("Connection").importance(Importance::High)
}

const fn replication(
    name: &'static str,
    kind: lattice_core::config::KeyType,
    doc: &'static str,
) -> Key {
    Key::new(name, kind, doc).group("Replication")
}

const fn filters(name: &'static str, doc: &'static str) -> Key {
    Key::new(name, List, doc).group("Filters").rule(Rule::RegexList)
}

const fn values(name: &'static str, doc: &'static str, words: &'static [&'static str]) -> Key {
    Key::new(name, Text, doc).group("Values").rule(Rule::OneOf(words))
}

fn check_slot(name: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let fits = (1..=63).contains(&name.len()) && name.bytes().all(legal);
    (!fits).then(|| "only a-z, 0-9 and _, at most 63 of them".to_owned())
}

fn check_prefix(prefix: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = !prefix.is_empty() && prefix.bytes().all(legal);
    (!fits).then(|| "only letters, digits, '.', '_' and '-'".to_owned())
}

fn check_signals(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.trim().split('.').collect();
    let named = parts.len() == 2 && parts.iter().all(|part| !part.is_empty());
    (!named).then(|| "expected schema.table".to_owned())
}

fn check_plugin(name: &str) -> Option<String> {
    (!name.trim().eq_ignore_ascii_case("pgoutput"))
        .then(|| format!("\"{name}\" is not supported: only pgoutput, which every server has, is"))
}

keys! {
    /// `database.hostname`
    DATABASE_HOSTNAME = connection("database.hostname", Text, "Host name or address of the server itself, not of a pooler").required().label("Host");
    /// `database.port`
    DATABASE_PORT = connection("database.port", Int, "Port of the server").default("5432").rule(Rule::Range(1, 65_535)).label("Port");
    /// `database.user`
    DATABASE_USER = connection("database.user", Text, "Role with LOGIN, REPLICATION (RDS: member of rds_replication) and SELECT on the tables").required().label("User");
    /// `database.password`
    DATABASE_PASSWORD = connection("database.password", Password, "The role's password").label("Password");
    /// `database.dbname`
    DATABASE_DBNAME = connection("database.dbname", Text, "Database to capture; one per connector").required().label("Database");
    /// `database.sslmode`
    DATABASE_SSLMODE = connection("database.sslmode", Text, "Encryption: disable, allow, prefer, require, verify-ca or verify-full").default("prefer").rule(Rule::OneOf(&["disable", "allow", "prefer", "require", "required", "verify-ca", "verify-full"])).label("TLS");
    /// `database.sslrootcert`
    DATABASE_SSLROOTCERT = connection("database.sslrootcert", Text, "PEM file with the authorities to trust; else the system's").importance(Importance::Low);
    /// `database.sslcert`
    DATABASE_SSLCERT = connection("database.sslcert", Text, "PEM file with the client's certificate").importance(Importance::Low);
    /// `database.sslkey`
    DATABASE_SSLKEY = connection("database.sslkey", Text, "PEM file with the client certificate's unencrypted key").importance(Importance::Low);
    /// `connection.validation.timeout.ms`
    CONNECTION_VALIDATION_TIMEOUT_MS = connection("connection.validation.timeout.ms", Long, "How long connecting may take, in ms").default("60000").rule(Rule::Range(1, i64::MAX)).importance(Importance::Low);
    /// `plugin.name`
    PLUGIN_NAME = replication("plugin.name", Text, "The output plugin: pgoutput").default("pgoutput").rule(Rule::Check(check_plugin));
    /// `slot.name`
    SLOT_NAME = replication("slot.name", Text, "The replication slot; one per connector; made if it is missing").default("debezium").rule(Rule::Check(check_slot)).label("Replication slot");
    /// `slot.drop.on.stop`
    SLOT_DROP_ON_STOP = replication("slot.drop.on.stop", Boolean, "Drops the slot when the task is closed: changes until the next start are then lost; for tests").default("false");
    /// `slot.failover`
    SLOT_FAILOVER = replication("slot.failover", Boolean, "Makes the slot with FAILOVER, so that standbys keep it (PostgreSQL 17 and later)").default("false");
    /// `publication.name`
    PUBLICATION_NAME = replication("publication.name", Text, "The publication").default("dbz_publication").rule(Rule::NonEmpty).label("Publication");
    /// `publication.autocreate.mode`
    PUBLICATION_AUTOCREATE_MODE = replication("publication.autocreate.mode", Text, "all_tables (needs a superuser), filtered (the captured tables; needs their ownership), disabled (it must exist) or no_tables").default("all_tables").rule(Rule::OneOf(&["all_tables", "disabled", "filtered", "no_tables"]));
    /// `publish.via.partition.root`
    PUBLISH_VIA_PARTITION_ROOT = replication("publish.via.partition.root", Boolean, "Changes of partitions appear under the partitioned table; used when the publication is made").default("false");
    /// `status.update.interval.ms`
    STATUS_UPDATE_INTERVAL_MS = replication("status.update.interval.ms", Int, "How often the server is told the position, in ms").default("10000").rule(Rule::Range(1, i64::MAX));
    /// `lsn.flush.mode`
    LSN_FLUSH_MODE = replication("lsn.flush.mode", Text, "connector: the slot is confirmed up to what is durable in the log; manual: never; connector_and_driver: as connector, which here moves idle slots too").default("connector").rule(Rule::OneOf(&["connector", "manual", "connector_and_driver"]));
    /// `flush.lsn.source`
    FLUSH_LSN_SOURCE = replication("flush.lsn.source", Boolean, "Deprecated: false is lsn.flush.mode=manual").default("true");
    /// `lattice.accept.gap`
    ACCEPT_GAP = replication("lattice.accept.gap", Boolean, "Goes on from where the server is when the stored position is lost, accepting that the changes between are missing; remove it after that start").default("false");
    /// `message.prefix.include.list`
    MESSAGE_PREFIX_INCLUDE_LIST = filters("message.prefix.include.list", "Prefixes of logical decoding messages to capture");
    /// `message.prefix.exclude.list`
    MESSAGE_PREFIX_EXCLUDE_LIST = filters("message.prefix.exclude.list", "Prefixes of logical decoding messages to leave out");
    /// `topic.prefix`
    TOPIC_PREFIX = connection("topic.prefix", Text, "Begins the name of every topic, and names the server in positions").required().rule(Rule::Check(check_prefix)).label("Topic prefix");
    /// `schema.include.list`
    SCHEMA_INCLUDE_LIST = filters("schema.include.list", "Schemas to capture, as regular expressions");
    /// `schema.exclude.list`
    SCHEMA_EXCLUDE_LIST = filters("schema.exclude.list", "Schemas not to capture, as regular expressions");
    /// `table.include.list`
    TABLE_INCLUDE_LIST = filters("table.include.list", "Tables to capture, as regular expressions on schema.table").label("Tables").importance(Importance::High);
    /// `table.exclude.list`
    TABLE_EXCLUDE_LIST = filters("table.exclude.list", "Tables not to capture, as regular expressions on schema.table");
    /// `column.include.list`
    COLUMN_INCLUDE_LIST = filters("column.include.list", "Columns to capture, as regular expressions on schema.table.column; key columns always are");
    /// `column.exclude.list`
    COLUMN_EXCLUDE_LIST = filters("column.exclude.list", "Columns not to capture, as regular expressions on schema.table.column; key columns always are");
    /// `table.ignore.builtin`
    TABLE_IGNORE_BUILTIN = Key::new("table.ignore.builtin", Boolean, "Leaves out the system's tables").group("Filters").default("true");
    /// `message.key.columns`
    MESSAGE_KEY_COLUMNS = Key::new("message.key.columns", Text, "Columns that take the primary key's place: <table regex>:<column>[,<column>];…").group("Filters");
    /// `column.propagate.source.type`
    COLUMN_PROPAGATE_SOURCE_TYPE = filters("column.propagate.source.type", "Columns whose schemas tell the database's type, as regular expressions on schema.table.column");
    /// `datatype.propagate.source.type`
    DATATYPE_PROPAGATE_SOURCE_TYPE = filters("datatype.propagate.source.type", "Types whose columns' schemas tell them, as regular expressions on schema.table.type");
    /// `decimal.handling.mode`
    DECIMAL_HANDLING_MODE = values("decimal.handling.mode", "numeric and money as precise decimals, double or string", &["precise", "double", "string"]).default("precise");
    /// `time.precision.mode`
    TIME_PRECISION_MODE = values("time.precision.mode", "Form of dates and times", &["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]).default("adaptive");
    /// `binary.handling.mode`
    BINARY_HANDLING_MODE = values("binary.handling.mode", "Form of bytea", &["bytes", "base64", "base64-url-safe", "hex"]).default("bytes");
    /// `interval.handling.mode`
    INTERVAL_HANDLING_MODE = values("interval.handling.mode", "interval as approximate microseconds (numeric) or text (string)", &["numeric", "string"]).default("numeric");
    /// `hstore.handling.mode`
    HSTORE_HANDLING_MODE = values("hstore.handling.mode", "hstore as JSON text or map", &["json", "map"]).default("json");
    /// `money.fraction.digits`
    MONEY_FRACTION_DIGITS = Key::new("money.fraction.digits", Short, "Decimal places of money").group("Values").default("2").rule(Rule::Range(0, 20));
    /// `include.unknown.datatypes`
    INCLUDE_UNKNOWN_DATATYPES = Key::new("include.unknown.datatypes", Boolean, "Types without mapping: not given, their text as a string; true, their text in the binary mode; false, left out").group("Values");
    /// `event.converting.failure.handling.mode`
    EVENT_CONVERTING_FAILURE_MODE = values("event.converting.failure.handling.mode", "NaN and infinity in precise decimals: fail, or NULL where the column allows it (warn, skip)", &["fail", "warn", "skip"]).default("warn");
    /// `snapshot.mode`
    SNAPSHOT_MODE = Key::new("snapshot.mode", Text, "initial, initial_only, always, no_data or when_needed (as initial, and again when the position is lost)").group("Snapshot").default("initial").rule(Rule::OneOf(&["always", "initial", "initial_only", "no_data", "never", "schema_only", "when_needed"])).importance(Importance::High);
    /// `snapshot.include.collection.list`
    SNAPSHOT_INCLUDE_COLLECTION_LIST = filters("snapshot.include.collection.list", "Tables to snapshot, as regular expressions; else all captured ones").group("Snapshot");
    /// `snapshot.max.threads`
    SNAPSHOT_MAX_THREADS = Key::new("snapshot.max.threads", Int, "Connections that read the snapshot; not given: two to four, by the machine's processors").group("Snapshot").rule(Rule::Range(1, 64));
    /// `lattice.snapshot.chunk.bytes`
    SNAPSHOT_CHUNK_BYTES = Key::new("lattice.snapshot.chunk.bytes", Long, "How much of a table is read at once, in bytes on the server's disk; after a crash at most this much a connection is read again").group("Snapshot").default("67108864").rule(Rule::Range(8192, i64::MAX)).importance(Importance::Low);
    /// `signal.data.collection`
    SIGNAL_DATA_COLLECTION = Key::new("signal.data.collection", Text, "Table (schema.table) with the columns id, type and data, whose inserted rows are signals; it is captured whatever the lists say").group("Snapshot").rule(Rule::Check(check_signals));
    /// `incremental.snapshot.chunk.size`
    INCREMENTAL_SNAPSHOT_CHUNK_SIZE = Key::new("incremental.snapshot.chunk.size", Int, "Rows that an incremental snapshot reads at once").default("1024").rule(Rule::Range(1, 1_000_000)).group("Snapshot");
    /// `heartbeat.interval.ms`
    HEARTBEAT_INTERVAL_MS = Key::new("heartbeat.interval.ms", Int, "How often a record is written to the heartbeat topic, in ms; 0: never").group("Heartbeat").default("0").rule(Rule::Range(0, i64::MAX));
    /// `heartbeat.action.query`
    HEARTBEAT_ACTION_QUERY = Key::new("heartbeat.action.query", Text, "SQL to run at every heartbeat").group("Heartbeat");
    /// `lattice.heartbeat.interval.ms`
    OWN_HEARTBEAT_INTERVAL_MS = Key::new("lattice.heartbeat.interval.ms", Int, "How often a logical message is written to the WAL, so that the slot moves on while the captured tables are idle (PostgreSQL 14 and later), in ms; 0: never").group("Heartbeat").default("10000").rule(Rule::Range(0, i64::MAX));
    /// `max.batch.size`
    MAX_BATCH_SIZE = Key::new("max.batch.size", Int, "Most events in a batch").group("Engine").default("16384").rule(Rule::Range(1, i64::MAX));
}

/// All keys.
pub const KEYS: &[Key] = &[
    DATABASE_HOSTNAME,
    DATABASE_PORT,
    DATABASE_USER,
    DATABASE_PASSWORD,
    DATABASE_DBNAME,
    TOPIC_PREFIX,
    DATABASE_SSLMODE,
    DATABASE_SSLROOTCERT,
    DATABASE_SSLCERT,
    DATABASE_SSLKEY,
    CONNECTION_VALIDATION_TIMEOUT_MS,
    PLUGIN_NAME,
    SLOT_NAME,
    SLOT_DROP_ON_STOP,
    SLOT_FAILOVER,
    PUBLICATION_NAME,
    PUBLICATION_AUTOCREATE_MODE,
    PUBLISH_VIA_PARTITION_ROOT,
    STATUS_UPDATE_INTERVAL_MS,
    LSN_FLUSH_MODE,
    FLUSH_LSN_SOURCE,
    ACCEPT_GAP,
    MESSAGE_PREFIX_INCLUDE_LIST,
    MESSAGE_PREFIX_EXCLUDE_LIST,
    SCHEMA_INCLUDE_LIST,
    SCHEMA_EXCLUDE_LIST,
    TABLE_INCLUDE_LIST,
    TABLE_EXCLUDE_LIST,
    COLUMN_INCLUDE_LIST,
    COLUMN_EXCLUDE_LIST,
    TABLE_IGNORE_BUILTIN,
    MESSAGE_KEY_COLUMNS,
    COLUMN_PROPAGATE_SOURCE_TYPE,
    DATATYPE_PROPAGATE_SOURCE_TYPE,
    DECIMAL_HANDLING_MODE,
    TIME_PRECISION_MODE,
    BINARY_HANDLING_MODE,
    INTERVAL_HANDLING_MODE,
    HSTORE_HANDLING_MODE,
    MONEY_FRACTION_DIGITS,
    INCLUDE_UNKNOWN_DATATYPES,
    EVENT_CONVERTING_FAILURE_MODE,
    SNAPSHOT_MODE,
    SNAPSHOT_INCLUDE_COLLECTION_LIST,
    SNAPSHOT_MAX_THREADS,
    SNAPSHOT_CHUNK_BYTES,
    SIGNAL_DATA_COLLECTION,
    INCREMENTAL_SNAPSHOT_CHUNK_SIZE,
    HEARTBEAT_INTERVAL_MS,
    HEARTBEAT_ACTION_QUERY,
    OWN_HEARTBEAT_INTERVAL_MS,
    MAX_BATCH_SIZE,
];

const fn quiet(name: &'static str, kind: lattice_core::config::KeyType, why: &'static str) -> Key {
    Key::new(name, kind, "Accepted so that existing configurations load")
        .group("Compatibility")
        .importance(Importance::Low)
        .ignored(why)
}

/// Debezium's other keys: accepted, without effect.
pub const IGNORED: &[Key] = &[
    quiet("database.connection.factory.class", Class, NOT_JAVA),
    quiet("database.query.timeout.ms", Int, "queries are not limited in time"),
    quiet("database.initial.statements", Text, "session settings are the connector's own"),
    quiet("database.sslpassword", Password, "keys must be unencrypted PEM files"),
    quiet("database.sslfactory", Text, NOT_JAVA),
    quiet("database.tcpKeepAlive", Boolean, "the replication stream has its own keep-alives"),
    quiet("read.only", Boolean, "nothing but slot, publication and logical messages is written"),
    quiet("slot.stream.params", Text, "options of the stream are the connector's own"),
    quiet("slot.max.retries", Int, RUNTIME_RETRIES),
    quiet("slot.retry.delay.ms", Long, RUNTIME_RETRIES),
    quiet(
        "offset.mismatch.strategy",
        Text,
        "a mismatch always stops the connector; see snapshot.mode=when_needed and lattice.accept.gap",
    ),
    quiet("lsn.flush.timeout.ms", Long, "confirming never blocks"),
    quiet("lsn.flush.timeout.action", Text, "confirming never blocks"),
    quiet("xmin.fetch.interval.ms", Long, "source.xmin is not filled"),
    quiet("skip.messages.without.change", Boolean, "all updates are written"),
    quiet("topic.cache.size", Int, "topic names are kept per table"),
    quiet("include.schema.comments", Boolean, "comments are not read, as in Debezium"),
    quiet("sourceinfo.struct.maker", Class, NOT_JAVA),
    quiet("transaction.metadata.factory", Class, NOT_JAVA),
    quiet("provide.transaction.metadata", Boolean, "transaction metadata are not written yet"),
    quiet("schema.refresh.mode", Text, "pgoutput sends every change of structure"),
    quiet("snapshot.mode.custom.name", Text, NOT_JAVA),
    quiet("snapshot.locking.mode", Text, "snapshots take no locks"),
    quiet("snapshot.locking.mode.custom.name", Text, NOT_JAVA),
    quiet("snapshot.isolation.mode", Text, "snapshots read one exported snapshot, repeatable read"),
    quiet("snapshot.lock.timeout.ms", Long, "snapshots take no locks"),
    quiet("snapshot.query.mode", Text, "tables are read by COPY"),
    quiet("snapshot.query.mode.custom.name", Text, NOT_JAVA),
    quiet("snapshot.fetch.size", Int, "tables are read by COPY"),
    quiet("snapshot.delay.ms", Long, "snapshots start at once"),
    quiet("streaming.delay.ms", Long, "streaming starts at once"),
    quiet("snapshot.max.threads.multiplier", Int, "chunks are cut by lattice.snapshot.chunk.bytes"),
    quiet("legacy.snapshot.max.threads", Boolean, "chunks are cut by lattice.snapshot.chunk.bytes"),
    quiet("snapshot.tables.order.by.row.count", Text, "tables are read in parallel"),
    quiet(
        "incremental.snapshot.watermarking.strategy",
        Text,
        "watermarks are logical messages, nothing is written to a table",
    ),
    quiet(
        "incremental.snapshot.allow.schema.changes",
        Boolean,
        "a chunk beside which the table's structure changed is read again",
    ),
    quiet("signal.enabled.channels", List, "signals are rows of signal.data.collection"),
    quiet("signal.poll.interval.ms", Long, "signals come with the stream"),
    quiet("signal.emit.failure.max.retries", Int, "signals are rows of signal.data.collection"),
    quiet("signal.emit.failure.backoff.ms", Long, "signals are rows of signal.data.collection"),
    quiet("signal.kafka.topic", Text, "signals are rows of signal.data.collection"),
    quiet("signal.kafka.bootstrap.servers", Text, "signals are rows of signal.data.collection"),
    quiet("signal.kafka.groupId", Text, "signals are rows of signal.data.collection"),
    quiet("signal.kafka.poll.timeout.ms", Int, "signals are rows of signal.data.collection"),
    quiet("signal.file", Text, "signals are rows of signal.data.collection"),
    quiet("notification.enabled.channels", List, "see the connector's status instead"),
    quiet("notification.sink.topic.name", Text, "see the connector's status instead"),
    quiet("max.queue.size", Int, OWN_BUFFERS),
    quiet("max.queue.size.in.bytes", Long, OWN_BUFFERS),
    quiet("queue.provider.type", Text, OWN_BUFFERS),
    quiet("poll.interval.ms", Long, "changes are taken as they come"),
    quiet("poll.dispatch.interval.ms", Long, "changes are taken as they come"),
    quiet("query.fetch.size", Int, "tables are read by COPY"),
    quiet("event.processing.failure.handling.mode", Text, "errors.tolerance decides"),
    quiet("errors.max.retries", Int, RUNTIME_RETRIES),
    quiet("retriable.restart.connector.wait.ms", Long, RUNTIME_RETRIES),
    quiet("executor.shutdown.timeout.ms", Long, "the worker has its own grace"),
    quiet("guardrail.collections.max", Int, "tables are not limited"),
    quiet("guardrail.collections.limit.action", Text, "tables are not limited"),
    quiet("custom.metric.tags", List, "metrics have the connector's labels"),
    quiet("custom.sanitize.pattern", Text, "secrets are always masked"),
    quiet("statistics.metrics.enabled", Boolean, "metrics are always on"),
    quiet("statistics.metrics.quantile", Double, "metrics are always on"),
];
