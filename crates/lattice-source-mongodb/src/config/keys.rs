//! The keys, in the tables of forms and reference pages.

use lattice_core::config::{
    Importance, Key,
    KeyType::{self, Boolean, Class, Double, Int, List, Long, Password, String as Text},
    Rule,
};

/// Prefixes of keys that are refused: to pass over them would capture otherwise than asked for.
pub const REFUSED: &[(&str, &str)] = &[
    (
        "mongodb.ssl.keystore",
        "a Java keystore cannot be read here; put the client's certificate and key as PEM into the connection string: tls=true&tlsCertificateKeyFile=/path/client.pem",
    ),
    (
        "signal.data.collection",
        "incremental snapshots by signal are not there yet; remove it, and have a collection read again by snapshot.mode=always or by resetting the connector's offsets",
    ),
    (
        "provide.transaction.metadata",
        "transaction metadata of MongoDB are not written yet; remove it: source.lsid and source.txnNumber name the transaction",
    ),
    ("converters", "it names Java code, which does not run here; remove it"),
    ("post.processors", "it names Java code, which does not run here; remove it"),
    (
        "mongodb.connection.mode",
        "it was removed from Debezium; give the cluster in mongodb.connection.string",
    ),
    (
        "mongodb.connection.string.shard.params",
        "it was removed from Debezium; give the cluster in mongodb.connection.string",
    ),
    (
        "snapshot.mode.configuration.based.",
        "snapshot.mode=configuration_based is not supported; use initial, initial_only, always, no_data or when_needed",
    ),
];

/// Prefixes of keys whose rest is free.
pub const PREFIXES: &[&str] = &[
    "driver.",
    "internal.",
    "mongodb.ssl.keystore",
    "snapshot.collection.filter.overrides.",
    "snapshot.mode.configuration.based.",
    "signal.consumer.",
    "openlineage.",
    "transforms",
    "predicates",
    "producer.override.",
    "topic.creation.",
];

const NOT_JAVA: &str = "it names Java code, which does not run here";
const OWN_BUFFERS: &str = "buffers are bounded in bytes by the worker";
const RUNTIME_RETRIES: &str = "the worker retries transient errors with backoff";
const NO_SIGNALS: &str = "signals are not there yet";

macro_rules! keys {
    ($($(#[$meta:meta])* $name:ident = $key:expr;)*) => {
        $($(#[$meta])* pub const $name: Key = $key;)*
        /// All keys.
        pub const KEYS: &[Key] = &[$($name),*];
    };
}

const fn connection(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Connection")
}

const fn filters(name: &'static str, doc: &'static str) -> Key {
    Key::new(name, List, doc).group("Filters")
}

const fn capture(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Capture")
}

const fn snapshot(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Snapshot")
}

fn check_prefix(prefix: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = !prefix.is_empty() && prefix.bytes().all(legal);
    (!fits).then(|| "only letters, digits, '.', '_' and '-'".to_owned())
}

fn check_uri(uri: &str) -> Option<String> {
    let fits =
        uri.starts_with("mongodb://") || uri.starts_with("mongodb+srv://") || uri.starts_with("${");
    (!fits).then(|| "it must begin with mongodb:// or mongodb+srv://".to_owned())
}

keys! {
    /// `mongodb.connection.string`
    CONNECTION_STRING = connection("mongodb.connection.string", Password, "The deployment: mongodb://host1,host2/?replicaSet=rs0 or mongodb+srv://…; what it says outranks the other keys").required().rule(Rule::Check(check_uri)).label("Connection string");
    /// `mongodb.user`
    USER = connection("mongodb.user", Text, "User with the roles read on the captured databases (readAnyDatabase for all) and clusterMonitor").importance(Importance::High).label("User");
    /// `mongodb.password`
    PASSWORD = connection("mongodb.password", Password, "The user's password").importance(Importance::High).label("Password");
    /// `mongodb.authsource`
    AUTH_SOURCE = connection("mongodb.authsource", Text, "The database that the user is defined in").default("admin");
    /// `topic.prefix`
    TOPIC_PREFIX = connection("topic.prefix", Text, "Begins the name of every topic, and names the deployment in positions").required().rule(Rule::Check(check_prefix)).label("Topic prefix");
    /// `mongodb.connect.timeout.ms`
    CONNECT_TIMEOUT = connection("mongodb.connect.timeout.ms", Int, "How long connecting to a server may take, in ms").default("10000").rule(Rule::Range(1, i64::MAX)).importance(Importance::Low);
    /// `mongodb.server.selection.timeout.ms`
    SELECTION_TIMEOUT = connection("mongodb.server.selection.timeout.ms", Int, "How long a usable server is looked for, in ms").default("30000").rule(Rule::Range(1, i64::MAX)).importance(Importance::Low);
    /// `mongodb.heartbeat.frequency.ms`
    HEARTBEAT_FREQUENCY = connection("mongodb.heartbeat.frequency.ms", Int, "How often servers are looked after, in ms").default("10000").rule(Rule::Range(500, i64::MAX)).importance(Importance::Low);
    /// `connection.validation.timeout.ms`
    VALIDATION_TIMEOUT = connection("connection.validation.timeout.ms", Long, "How long a check of the configuration may take, in ms").default("60000").rule(Rule::Range(1, i64::MAX)).importance(Importance::Low);
    /// `mongodb.ssl.enabled`
    SSL_ENABLED = connection("mongodb.ssl.enabled", Boolean, "Encrypts connections and verifies the server's certificate; mongodb+srv:// has it on").default("false").label("TLS");
    /// `mongodb.ssl.truststore`
    SSL_TRUSTSTORE = connection("mongodb.ssl.truststore", Text, "PEM file with the authorities to trust (mongodb.ssl.truststore.type=PEM); else the public ones").importance(Importance::Low);
    /// `mongodb.ssl.truststore.type`
    SSL_TRUSTSTORE_TYPE = connection("mongodb.ssl.truststore.type", Text, "PEM; a Java keystore is converted by: openssl pkcs12 -in truststore.p12 -nokeys -out authorities.pem").default("PKCS12").importance(Importance::Low);
    /// `capture.mode`
    CAPTURE_MODE = capture("capture.mode", Text, "What updates have: change_streams (the changed fields), change_streams_update_full (the document, too), and the same two with the document before (with_pre_image)").default("change_streams_update_full").rule(Rule::OneOf(&["change_streams", "change_streams_update_full", "change_streams_with_pre_image", "change_streams_update_full_with_pre_image"])).importance(Importance::High).label("Capture mode");
    /// `capture.mode.full.update.type`
    FULL_UPDATE = capture("capture.mode.full.update.type", Text, "lookup: the document as it is when the change is read; post_image: as it was after the change (MongoDB 6.0 and changeStreamPreAndPostImages)").default("lookup").rule(Rule::OneOf(&["lookup", "post_image"]));
    /// `capture.scope`
    CAPTURE_SCOPE = capture("capture.scope", Text, "What one change stream covers: deployment, database or collection").default("deployment").rule(Rule::OneOf(&["deployment", "database", "collection"]));
    /// `capture.target`
    CAPTURE_TARGET = capture("capture.target", Text, "The database, or database.collection, of a narrower capture.scope");
    /// `capture.start.op.time`
    START_OP_TIME = capture("capture.start.op.time", Long, "Where streaming begins when there is no position: a timestamp as seconds << 32 | increment; -1: now").default("-1").importance(Importance::Low);
    /// `skipped.operations`
    SKIPPED_OPERATIONS = capture("skipped.operations", Text, "Operations to leave out, by letter: c, u, d; none").default("t");
    /// `json.serialization.mode`
    SERIALIZATION_MODE = capture("json.serialization.mode", Text, "Which Extended JSON documents are written in: legacy, strict, extended (canonical) or relaxed").default("legacy").rule(Rule::OneOf(&["legacy", "strict", "extended", "relaxed"]));
    /// `lattice.accept.gap`
    ACCEPT_GAP = capture("lattice.accept.gap", Boolean, "Goes on from where the server is when the stored position is lost, accepting that the changes between are missing; remove it after that start").default("false");
    /// `cursor.max.await.time.ms`
    MAX_AWAIT = capture("cursor.max.await.time.ms", Int, "How long the server waits for changes before it answers with none, in ms; 0: its default of a second").default("0").rule(Rule::Range(0, i64::MAX)).importance(Importance::Low);
    /// `cursor.pipeline`
    PIPELINE = capture("cursor.pipeline", Text, "More stages for the change stream, as a JSON array; they must keep _id, operationType, ns and documentKey");
    /// `cursor.pipeline.order`
    PIPELINE_ORDER = capture("cursor.pipeline.order", Text, "Whether our own stages come before cursor.pipeline (internal_first), after it (user_first), or not at all (user_only)").default("internal_first").rule(Rule::OneOf(&["internal_first", "user_first", "user_only"]));
    /// `cursor.oversize.handling.mode`
    OVERSIZE_MODE = capture("cursor.oversize.handling.mode", Text, "Changes above 16 MB: fail, skip (documents above the threshold), or split (MongoDB 6.0.9 and 7.0)").default("fail").rule(Rule::OneOf(&["fail", "skip", "split"]));
    /// `cursor.oversize.skip.threshold`
    OVERSIZE_THRESHOLD = capture("cursor.oversize.skip.threshold", Int, "With skip: the largest document that is captured, in bytes").default("0").rule(Rule::Range(0, i64::MAX));
    /// `database.include.list`
    DATABASE_INCLUDE_LIST = filters("database.include.list", "Databases to capture, as regular expressions").rule(Rule::RegexList);
    /// `database.exclude.list`
    DATABASE_EXCLUDE_LIST = filters("database.exclude.list", "Databases not to capture, as regular expressions").rule(Rule::RegexList);
    /// `collection.include.list`
    COLLECTION_INCLUDE_LIST = filters("collection.include.list", "Collections to capture, as regular expressions on database.collection").rule(Rule::RegexList).label("Collections").importance(Importance::High);
    /// `collection.exclude.list`
    COLLECTION_EXCLUDE_LIST = filters("collection.exclude.list", "Collections not to capture, as regular expressions on database.collection").rule(Rule::RegexList);
    /// `filters.match.mode`
    FILTERS_MATCH_MODE = Key::new("filters.match.mode", Text, "Whether the four lists hold regular expressions (regex) or names (literal), which costs the server less").group("Filters").default("regex").rule(Rule::OneOf(&["regex", "literal"]));
    /// `field.exclude.list`
    FIELD_EXCLUDE_LIST = filters("field.exclude.list", "Fields to leave out: database.collection.field[.field]; * stands for anything in database and collection");
    /// `field.renames`
    FIELD_RENAMES = filters("field.renames", "Fields to rename: database.collection.field[.field]:newName");
    /// `snapshot.mode`
    SNAPSHOT_MODE = snapshot("snapshot.mode", Text, "initial, initial_only, always, no_data or when_needed (as initial, and again when the position is lost)").default("initial").rule(Rule::OneOf(&["always", "initial", "initial_only", "no_data", "never", "when_needed"])).importance(Importance::High).label("Snapshot");
    /// `snapshot.include.collection.list`
    SNAPSHOT_INCLUDE_COLLECTION_LIST = snapshot("snapshot.include.collection.list", List, "Collections to snapshot, as regular expressions; else all captured ones").rule(Rule::RegexList);
    /// `snapshot.collection.filter.overrides`
    SNAPSHOT_FILTERS = snapshot("snapshot.collection.filter.overrides", List, "Collections of which only a part is read by the snapshot; the part is given as a query in snapshot.collection.filter.overrides.<database>.<collection>");
    /// `snapshot.max.threads`
    SNAPSHOT_MAX_THREADS = snapshot("snapshot.max.threads", Int, "Cursors that read the snapshot at once, of one collection too; not given: two to four, by the machine's processors").rule(Rule::Range(1, 64));
    /// `snapshot.fetch.size`
    SNAPSHOT_FETCH_SIZE = snapshot("snapshot.fetch.size", Int, "Documents in an answer of the server; 0: as many as fit").default("0").rule(Rule::Range(0, i64::MAX));
    /// `heartbeat.interval.ms`
    HEARTBEAT_INTERVAL_MS = Key::new("heartbeat.interval.ms", Int, "How often a record is written to the heartbeat topic, in ms; 0: never. The position moves without them").group("Heartbeat").default("0").rule(Rule::Range(0, i64::MAX));
}

const fn quiet(name: &'static str, kind: KeyType, why: &'static str) -> Key {
    Key::new(name, kind, "Accepted so that existing configurations load")
        .group("Compatibility")
        .importance(Importance::Low)
        .ignored(why)
}

/// Debezium's other keys: accepted, without effect.
pub const IGNORED: &[Key] = &[
    quiet("mongodb.authentication.class", Class, NOT_JAVA),
    quiet("mongodb.socket.timeout.ms", Int, "a lost server is found out by the driver's monitor"),
    quiet("mongodb.poll.interval.ms", Long, "the driver watches the topology"),
    quiet("mongodb.ssl.invalid.hostname.allowed", Boolean, "host names are always verified"),
    quiet("mongodb.ssl.truststore.password", Password, "PEM files have none"),
    quiet("mongodb.task.id", Int, "there is one task"),
    quiet("snapshot.mode.custom.name", Text, NOT_JAVA),
    quiet("snapshot.delay.ms", Long, "snapshots start at once"),
    quiet("streaming.delay.ms", Long, "streaming starts at once"),
    quiet("incremental.snapshot.chunk.size", Int, NO_SIGNALS),
    quiet("incremental.snapshot.watermarking.strategy", Text, NO_SIGNALS),
    quiet("signal.enabled.channels", List, NO_SIGNALS),
    quiet("signal.poll.interval.ms", Long, NO_SIGNALS),
    quiet("signal.kafka.topic", Text, NO_SIGNALS),
    quiet("signal.kafka.bootstrap.servers", Text, NO_SIGNALS),
    quiet("signal.kafka.groupId", Text, NO_SIGNALS),
    quiet("signal.kafka.poll.timeout.ms", Int, NO_SIGNALS),
    quiet("signal.file", Text, NO_SIGNALS),
    quiet("notification.enabled.channels", List, "see the connector's status instead"),
    quiet("notification.sink.topic.name", Text, "see the connector's status instead"),
    quiet("transaction.metadata.factory", Class, NOT_JAVA),
    quiet("sourceinfo.struct.maker", Class, NOT_JAVA),
    quiet("skip.messages.without.change", Boolean, "this connector never had it"),
    quiet("topic.cache.size", Int, "topic names are kept per collection"),
    quiet("log.position.check.enable", Boolean, "the position is always checked"),
    quiet("max.batch.size", Int, OWN_BUFFERS),
    quiet("max.queue.size", Int, OWN_BUFFERS),
    quiet("max.queue.size.in.bytes", Long, OWN_BUFFERS),
    quiet("queue.provider.type", Text, OWN_BUFFERS),
    quiet("poll.interval.ms", Long, "changes are taken as they come"),
    quiet("poll.dispatch.interval.ms", Long, "changes are taken as they come"),
    quiet("event.processing.failure.handling.mode", Text, "errors.tolerance decides"),
    quiet("errors.max.retries", Int, RUNTIME_RETRIES),
    quiet("retriable.restart.connector.wait.ms", Long, RUNTIME_RETRIES),
    quiet("executor.shutdown.timeout.ms", Long, "the worker has its own grace"),
    quiet("guardrail.collections.max", Int, "collections are not limited"),
    quiet("guardrail.collections.limit.action", Text, "collections are not limited"),
    quiet("custom.metric.tags", List, "metrics have the connector's labels"),
    quiet("custom.sanitize.pattern", Text, "secrets are always masked"),
    quiet("advanced.metrics.enable", Boolean, "metrics are always on"),
    quiet("statistics.metrics.enabled", Boolean, "metrics are always on"),
    quiet("statistics.metrics.quantile", Double, "metrics are always on"),
];
