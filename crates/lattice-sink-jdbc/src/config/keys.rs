//! The keys of both vendors' connectors, and what is ours in them.

use lattice_core::config::{Importance, Key, KeyType, Rule};

const fn connection(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Connection").importance(Importance::High)
}

const fn tables(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Tables")
}

const fn writes(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Writes")
}

/// The target, as a JDBC URL.
pub(crate) const URL: Key = connection(
    "connection.url",
    KeyType::String,
    "JDBC URL of the target: jdbc:postgresql://host/db or jdbc:sqlite:/path/file.db",
)
.required()
.rule(Rule::NonEmpty);
/// Debezium's name of the user.
pub(crate) const USERNAME: Key = connection(
    "connection.username",
    KeyType::String,
    "name of the user; wins over one in the URL",
)
.default("");
/// Confluent's name of the user.
pub(crate) const USER: Key =
    connection("connection.user", KeyType::String, "name of the user; wins over one in the URL")
        .default("");
/// The user's password.
pub(crate) const PASSWORD: Key = connection(
    "connection.password",
    KeyType::Password,
    "password of the user; wins over one in the URL",
)
.default("");

/// How rows are written.
pub(crate) const INSERT_MODE: Key = writes(
    "insert.mode",
    KeyType::String,
    "insert: every event that is no delete becomes an INSERT; upsert: the row of its key is made or \
     changed; update: only changed",
)
.default("insert")
.rule(Rule::OneOf(&["insert", "upsert", "update"]))
.importance(Importance::High);
/// Whether deletes are applied.
pub(crate) const DELETE: Key = writes(
    "delete.enabled",
    KeyType::Boolean,
    "whether delete events and tombstones delete the row of their key; needs a key mode other than none and kafka",
)
.default("false")
.importance(Importance::High);
/// Whether truncations are applied.
pub(crate) const TRUNCATE: Key = writes(
    "truncate.enabled",
    KeyType::Boolean,
    "whether a truncation of the source table empties the target table",
)
.default("false");
/// Rows of one transaction.
pub(crate) const BATCH_SIZE: Key =
    writes("batch.size", KeyType::Int, "how many events are written in one transaction at most")
        .default("20000")
        .rule(Rule::Range(1, 1_000_000));
/// Bytes of one transaction.
pub(crate) const BATCH_BYTES: Key = writes(
    "batch.max.bytes",
    KeyType::Long,
    "how many bytes of rows are gathered at most before they are written",
)
.default("16777216")
.rule(Rule::Range(1 << 10, 1 << 30));
/// How long rows wait for others.
pub(crate) const LATENCY: Key = writes(
    "batch.latency.ms",
    KeyType::Long,
    "how long a row waits for others at most, in milliseconds",
)
.default("100")
.rule(Rule::Range(1, 600_000));
/// Values that do not fit.
pub(crate) const OUT_OF_RANGE: Key = writes(
    "value.out.of.range",
    KeyType::String,
    "a number or time that its column cannot hold: reject (a dead letter, or the task fails), null (NULL where the \
     column allows it, else rejected) or clamp (the nearest value, NaN as NULL)",
)
.default("reject")
.rule(Rule::OneOf(&["reject", "null", "clamp"]));
/// Where offsets are kept.
pub(crate) const OFFSETS: Key = writes(
    "offsets.table",
    KeyType::String,
    "table of the target that keeps the offsets, written in the rows' own transaction, so that each event is \
     written exactly once; empty: offsets are kept by the worker alone, and events may be written again",
)
.default("_lattice_offsets")
.importance(Importance::Low);

/// Debezium's mode of the key.
pub(crate) const DBZ_KEY_MODE: Key = tables(
    "primary.key.mode",
    KeyType::String,
    "where the key's columns come from: none, kafka (topic, partition and offset), record_key or record_value",
)
.default("none")
.rule(Rule::OneOf(&["none", "kafka", "record_key", "record_value", "record_header"]))
.importance(Importance::High);
/// Debezium's fields of the key.
pub(crate) const DBZ_KEY_FIELDS: Key = tables(
    "primary.key.fields",
    KeyType::List,
    "fields of the key, or the name of a key that is one value; empty: all of record_key",
)
.default("");
/// Debezium's evolution.
pub(crate) const EVOLUTION: Key = tables(
    "schema.evolution",
    KeyType::String,
    "none: tables are left alone; validate-only: all must exist at the start; basic: tables are made, columns added \
     and widened",
)
.default("none")
.rule(Rule::OneOf(&["none", "validate-only", "basic"]))
.importance(Importance::High);
/// Debezium's table name.
pub(crate) const DBZ_NAME: Key = tables(
    "collection.name.format",
    KeyType::String,
    "name of a topic's table, [schema.]table; ${topic} is the topic with dots as underscores, \
     ${source.schema} and ${source.table} are its last two words",
)
.default("${topic}")
.rule(Rule::NonEmpty);
/// Debezium's older word for it.
pub(crate) const DBZ_OLD_NAME: Key =
    tables("table.name.format", KeyType::String, "the older name of collection.name.format")
        .importance(Importance::Low);
/// Debezium's naming of tables.
pub(crate) const DBZ_STRATEGY: Key = tables(
    "collection.naming.strategy",
    KeyType::String,
    "class by which ${topic} becomes a name: DefaultCollectionNamingStrategy (dots as underscores) or \
     PassthroughCollectionNamingStrategy (dots part schema and table)",
)
.default("io.debezium.sink.naming.DefaultCollectionNamingStrategy")
.rule(Rule::Check(check_strategy))
.importance(Importance::Low);
/// Debezium's quoting.
pub(crate) const DBZ_QUOTE: Key = tables(
    "quote.identifiers",
    KeyType::Boolean,
    "whether names of new tables and columns keep their case; else they are folded as the database folds unquoted \
     names. Existing names are found in either case",
)
.default("false");
/// Fields that are written.
pub(crate) const INCLUDE: Key = tables(
    "field.include.list",
    KeyType::List,
    "regular expressions of the fields that are written, as field or topic:field",
)
.default("")
.rule(Rule::RegexList);
/// Fields that are left out.
pub(crate) const EXCLUDE: Key = tables(
    "field.exclude.list",
    KeyType::List,
    "regular expressions of fields that are not written, as field or topic:field",
)
.default("")
.rule(Rule::RegexList);
/// Debezium's time zone.
pub(crate) const DBZ_ZONE: Key = writes(
    "use.time.zone",
    KeyType::String,
    "the time zone of moments in columns without one; only UTC",
)
.default("UTC")
.rule(Rule::Check(check_zone));
/// Debezium's tries.
pub(crate) const DBZ_RETRIES: Key = writes(
    "flush.max.retries",
    KeyType::Int,
    "how often a transaction is tried again that the database ended for a deadlock or a conflict",
)
.default("5")
.rule(Rule::Range(0, 1000));
/// Debezium's pause.
pub(crate) const DBZ_BACKOFF: Key =
    writes("flush.retry.delay.ms", KeyType::Long, "how long to wait between such tries")
        .default("1000")
        .rule(Rule::Range(0, 600_000));

/// Confluent's mode of the key.
pub(crate) const CFL_KEY_MODE: Key = tables(
    "pk.mode",
    KeyType::String,
    "where the key's columns come from: none, kafka (topic, partition and offset), record_key or record_value",
)
.default("none")
.rule(Rule::OneOf(&["none", "kafka", "record_key", "record_value"]))
.importance(Importance::High);
/// Confluent's fields of the key.
pub(crate) const CFL_KEY_FIELDS: Key = tables(
    "pk.fields",
    KeyType::List,
    "fields of the key, or the name of a key that is one value; empty: all",
)
.default("");
/// Confluent's making of tables.
pub(crate) const AUTO_CREATE: Key =
    tables("auto.create", KeyType::Boolean, "whether a missing table is made")
        .default("false")
        .importance(Importance::High);
/// Confluent's change of tables.
pub(crate) const AUTO_EVOLVE: Key = tables(
    "auto.evolve",
    KeyType::Boolean,
    "whether missing columns are added, and columns widened",
)
.default("false")
.importance(Importance::High);
/// Confluent's table name.
pub(crate) const CFL_NAME: Key = tables(
    "table.name.format",
    KeyType::String,
    "name of a topic's table, [schema.]table; ${topic} is the topic, whose dots part schema and table",
)
.default("${topic}")
.rule(Rule::NonEmpty);
/// Confluent's fields.
pub(crate) const WHITELIST: Key =
    tables("fields.whitelist", KeyType::List, "fields that are written; empty: all").default("");
/// Confluent's quoting.
pub(crate) const CFL_QUOTE: Key = tables(
    "quote.sql.identifiers",
    KeyType::String,
    "always: names of new tables and columns keep their case; never: they are folded as the database folds unquoted \
     names. Existing names are found in either case",
)
.default("always")
.rule(Rule::OneOf(&["always", "never"]));
/// Confluent's time zone.
pub(crate) const CFL_ZONE: Key = writes(
    "db.timezone",
    KeyType::String,
    "the time zone of moments in columns without one; only UTC",
)
.default("UTC")
.rule(Rule::Check(check_zone));
/// Confluent's tries.
pub(crate) const CFL_RETRIES: Key = writes(
    "max.retries",
    KeyType::Int,
    "how often a transaction is tried again that the database ended for a deadlock or a conflict",
)
.default("10")
.rule(Rule::Range(0, 1000));
/// Confluent's pause.
pub(crate) const CFL_BACKOFF: Key =
    writes("retry.backoff.ms", KeyType::Long, "how long to wait between such tries")
        .default("3000")
        .rule(Rule::Range(0, 600_000));
/// Confluent's NULLs.
pub(crate) const NULL_DEFAULT: Key = writes(
    "replace.null.with.default",
    KeyType::Boolean,
    "NULL stays NULL here; true is refused, since it writes what the source does not have",
)
.default("false")
.rule(Rule::Check(check_null_default))
.importance(Importance::Low);

/// Keys of Debezium's connector.
pub(crate) static DEBEZIUM: &[Key] = &[
    URL,
    USERNAME,
    PASSWORD,
    INSERT_MODE,
    DBZ_KEY_MODE,
    DBZ_KEY_FIELDS,
    DELETE,
    TRUNCATE,
    EVOLUTION,
    DBZ_NAME,
    DBZ_OLD_NAME,
    DBZ_STRATEGY,
    DBZ_QUOTE,
    INCLUDE,
    EXCLUDE,
    BATCH_SIZE,
    BATCH_BYTES,
    LATENCY,
    DBZ_ZONE,
    DBZ_RETRIES,
    DBZ_BACKOFF,
    OUT_OF_RANGE,
    OFFSETS,
];

/// Keys of Confluent's connector.
pub(crate) static CONFLUENT: &[Key] = &[
    URL,
    USER,
    PASSWORD,
    INSERT_MODE,
    CFL_KEY_MODE,
    CFL_KEY_FIELDS,
    DELETE,
    TRUNCATE,
    AUTO_CREATE,
    AUTO_EVOLVE,
    CFL_NAME,
    WHITELIST,
    CFL_QUOTE,
    BATCH_SIZE,
    BATCH_BYTES,
    LATENCY,
    CFL_ZONE,
    CFL_RETRIES,
    CFL_BACKOFF,
    NULL_DEFAULT,
    OUT_OF_RANGE,
    OFFSETS,
];

const POOL: &str = "each task has one connection";
const REDUCED: &str = "the last event of each key in a batch is always the one that is written";

/// Debezium's keys that have no effect here.
pub(crate) static DEBEZIUM_IGNORED: &[Key] = &[
    ignored("connection.provider", KeyType::String, POOL),
    ignored("connection.pool.min_size", KeyType::Int, POOL),
    ignored("connection.pool.max_size", KeyType::Int, POOL),
    ignored("connection.pool.acquire_increment", KeyType::Int, POOL),
    ignored("connection.pool.timeout", KeyType::Long, POOL),
    ignored(
        "connection.restart.on.errors",
        KeyType::Boolean,
        "a lost connection is always made anew, and goes on where the target stands",
    ),
    ignored("use.reduction.buffer", KeyType::Boolean, REDUCED),
    ignored("keyed.message.batch.mode", KeyType::String, REDUCED),
    ignored("column.naming.strategy", KeyType::String, "columns have their fields' names"),
    ignored("collection.table.format", KeyType::String, "use collection.name.format"),
    ignored("table.naming.strategy", KeyType::String, "use collection.naming.strategy"),
    ignored("database.time_zone", KeyType::String, "use use.time.zone"),
    ignored(
        "dialect.postgres.postgis.schema",
        KeyType::String,
        "geometries are written by the column's own type",
    ),
    ignored(
        "dialect.postgres.unnest.insert.enabled",
        KeyType::Boolean,
        "rows are always written in bulk",
    ),
    ignored(
        "dialect.sqlserver.identity.insert",
        KeyType::Boolean,
        "SQL Server is not among the targets",
    ),
    ignored(
        "dialect.starrocks.catalog.name",
        KeyType::String,
        "StarRocks is not among the targets",
    ),
    ignored(
        "cloud.events.schema.name.pattern",
        KeyType::String,
        "change events are read in Debezium's envelope or flat",
    ),
    ignored("internal.enable.sces", KeyType::Boolean, "there is one way of writing"),
];

/// Confluent's keys that have no effect here.
pub(crate) static CONFLUENT_IGNORED: &[Key] = &[
    ignored("dialect.name", KeyType::String, "the URL says which database it is"),
    ignored("connection.attempts", KeyType::Int, "the worker tries again with growing pauses"),
    ignored("connection.backoff.ms", KeyType::Long, "the worker tries again with growing pauses"),
    ignored("table.types", KeyType::List, "tables, partitioned tables and views are all found"),
    ignored("date.timezone", KeyType::String, "a date has no time zone"),
    ignored("date.calendar.system", KeyType::String, "dates are proleptic Gregorian"),
    ignored("timestamp.precision.mode", KeyType::String, "timestamps keep their microseconds"),
    ignored("timestamp.fields.list", KeyType::List, "times are known by their schemas"),
    ignored("mssql.use.merge.holdlock", KeyType::Boolean, "SQL Server is not among the targets"),
    ignored("trim.sensitive.log", KeyType::Boolean, "rows never stand in the log"),
];

const fn ignored(name: &'static str, kind: KeyType, why: &'static str) -> Key {
    Key::new(name, kind, "a key of the vendor's connector, accepted without effect")
        .importance(Importance::Low)
        .group("Compatibility")
        .ignored(why)
}

fn check_zone(value: &str) -> Option<String> {
    let utc = ["UTC", "Z", "GMT", "ETC/UTC", "+00:00", "UTC+0"];
    let value = value.trim().to_ascii_uppercase();
    (!utc.contains(&value.as_str()))
        .then(|| format!("moments are written in UTC, not in {value}; only UTC is supported"))
}

fn check_strategy(value: &str) -> Option<String> {
    let name = value.trim().rsplit('.').next().unwrap_or_default();
    let known = [
        "DefaultCollectionNamingStrategy",
        "PassthroughCollectionNamingStrategy",
        "DefaultTableNamingStrategy",
        "",
    ];
    (!known.contains(&name)).then(|| {
        format!("class {name} is not known; expected DefaultCollectionNamingStrategy or PassthroughCollectionNamingStrategy")
    })
}

fn check_null_default(value: &str) -> Option<String> {
    value.trim().eq_ignore_ascii_case("true").then(|| {
        "NULL is never replaced by a field's default here; leave the key out or set it to false"
            .to_owned()
    })
}
