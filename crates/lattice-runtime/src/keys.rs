//! The keys that Kafka Connect itself gives every connector.
//!
//! Source: Kafka's `ConnectorConfig`, `SourceConnectorConfig`, `SinkConnectorConfig`.

use lattice_core::config::{Importance, Key, KeyType, Rule};

const fn common(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Common")
}

const fn converter(name: &'static str, doc: &'static str) -> Key {
    common(name, KeyType::Class, doc).importance(Importance::Low).width("SHORT")
}

const fn converter_version(name: &'static str) -> Key {
    common(name, KeyType::String, "The version of the converter.")
        .importance(Importance::Low)
        .width("SHORT")
        .ignored("this worker has one version of each converter")
}

const fn errors(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Error Handling")
}

/// `errors.tolerance`
pub(crate) const TOLERANCE: Key = errors(
    "errors.tolerance",
    KeyType::String,
    "What happens to a record that cannot be processed: \"none\" fails the task, \"all\" sends it \
     to the dead letters and goes on.",
)
.default("none")
.label("Error Tolerance")
.width("SHORT")
.rule(Rule::OneOf(&["none", "all"]));

/// `errors.log.enable`
pub(crate) const LOG_ENABLE: Key = errors(
    "errors.log.enable",
    KeyType::Boolean,
    "Whether every tolerated error is written to the worker's log.",
)
.default("false")
.label("Log Errors");

/// `errors.log.include.messages`
pub(crate) const LOG_MESSAGES: Key = errors(
    "errors.log.include.messages",
    KeyType::Boolean,
    "Whether the log of tolerated errors says which record it was: topic, partition and offset, or table and \
     operation. Rows never stand in the log; see the dead letters.",
)
.default("false")
.label("Log Error Details");

/// `errors.deadletterqueue.topic.name`
pub(crate) const DEAD_LETTER_TOPIC: Key = errors(
    "errors.deadletterqueue.topic.name",
    KeyType::String,
    "The topic that takes records a sink could not process. Empty: they are dropped and counted.",
)
.default("")
.label("Dead Letter Queue Topic Name");

/// `errors.deadletterqueue.context.headers.enable`
pub(crate) const DEAD_LETTER_HEADERS: Key = errors(
    "errors.deadletterqueue.context.headers.enable",
    KeyType::Boolean,
    "Whether dead letters get headers that say where they come from and what went wrong.",
)
.default("false")
.label("Enable Error Context Headers")
.width("MEDIUM");

/// `errors.max.retries` (Debezium's)
pub(crate) const MAX_RETRIES: Key = errors(
    "errors.max.retries",
    KeyType::Int,
    "How often a task is opened again after transient errors in a row before it fails; -1: \
     without end.",
)
.default("-1")
.label("Maximum Retries")
.rule(Rule::Range(-1, i32::MAX as i64));

/// `errors.retry.delay.max.ms`
pub(crate) const RETRY_DELAY: Key = errors(
    "errors.retry.delay.max.ms",
    KeyType::Long,
    "The longest wait between two tries. Units: ms.",
)
.default("30000")
.label("Maximum Delay Between Retries for Errors")
.width("MEDIUM")
.rule(Rule::Range(1, i64::MAX));

/// `errors.retry.timeout`
pub(crate) const RETRY_TIMEOUT: Key = errors(
    "errors.retry.timeout",
    KeyType::Long,
    "How long transient errors in a row are retried before the task fails. Units: ms; 0 and -1: as \
     errors.max.retries says.",
)
.default("0")
.label("Retry Timeout for Errors")
.width("MEDIUM")
.rule(Rule::Range(-1, i64::MAX));

/// `tasks.max`
pub(crate) const TASKS_MAX: Key =
    common("tasks.max", KeyType::Int, "The most tasks the connector may have.")
        .default("1")
        .importance(Importance::High)
        .label("Tasks max")
        .rule(Rule::Range(1, i32::MAX as i64));

/// `topics`
pub(crate) const TOPICS: Key = common(
    "topics",
    KeyType::List,
    "The topics to read, separated by commas. Exactly one of \"topics\" and \"topics.regex\".",
)
.default("")
.importance(Importance::High)
.label("Topics");

/// `topics.regex`
pub(crate) const TOPICS_REGEX: Key = common(
    "topics.regex",
    KeyType::String,
    "The topics to read, as a regular expression that matches the whole name. New topics that \
     match are taken up while the connector runs.",
)
.default("")
.importance(Importance::High)
.label("Topics regex")
.width("LONG");

/// `transforms`
pub(crate) const TRANSFORMS: Key = Key::new(
    "transforms",
    KeyType::List,
    "Aliases of the transformations, in order; docs/transforms.md lists the classes. Sinks read envelopes \
     themselves and need no io.debezium.transforms.ExtractNewRecordState.",
)
.default("")
.group("Transforms")
.importance(Importance::Low)
.label("Transforms");

/// `predicates`
pub(crate) const PREDICATES: Key =
    Key::new("predicates", KeyType::List, "Aliases of the predicates of transformations.")
        .default("")
        .group("Predicates")
        .importance(Importance::Low)
        .label("Predicates");

/// `topic.creation.default.partitions`
pub(crate) const CREATION_PARTITIONS: Key = Key::new(
    "topic.creation.default.partitions",
    KeyType::Int,
    "Partitions of topics that the connector creates; -1: the log's default.",
)
.default("-1")
.group("Topic Creation")
.label("Partitions")
.rule(Rule::Range(-1, 10_000));

const fn creation(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key::new(name, kind, doc).group("Topic Creation")
}

/// `topic.creation.default.retention.ms`
pub(crate) const CREATION_RETENTION_MS: Key = creation(
    "topic.creation.default.retention.ms",
    KeyType::Long,
    "How long records of topics that the connector creates are kept. Units: ms; -1: for ever.",
)
.label("Retention time")
.rule(Rule::Range(-1, i64::MAX));

/// `topic.creation.default.retention.bytes`
pub(crate) const CREATION_RETENTION_BYTES: Key = creation(
    "topic.creation.default.retention.bytes",
    KeyType::Long,
    "How large a partition of topics that the connector creates grows. Units: bytes; -1: without \
     limit.",
)
.label("Retention size")
.rule(Rule::Range(-1, i64::MAX));

/// `topic.creation.default.cleanup.policy`
pub(crate) const CREATION_CLEANUP: Key = creation(
    "topic.creation.default.cleanup.policy",
    KeyType::String,
    "Whether old records of topics that the connector creates are deleted or compacted by key.",
)
.label("Cleanup policy")
.rule(Rule::OneOf(&["delete", "compact", "compact,delete", "delete,compact"]));

/// Keys of every connector.
pub(crate) static COMMON: &[Key] = &[
    common("name", KeyType::String, "The connector's name, unique on this worker.")
        .required()
        .label("Connector name")
        .rule(Rule::Check(check_name)),
    common("connector.class", KeyType::String, "The connector's class or its alias.")
        .required()
        .label("Connector class")
        .width("LONG"),
    common("connector.plugin.version", KeyType::String, "The version of the connector.")
        .label("Connector version")
        .ignored("this worker has one version of each connector"),
    TASKS_MAX,
    common(
        "tasks.max.enforce",
        KeyType::Boolean,
        "Whether a connector that makes more tasks than \"tasks.max\" fails.",
    )
    .default("true")
    .importance(Importance::Low)
    .label("Enforce tasks max")
    .ignored("no connector here makes more tasks than it may"),
    converter(
        "key.converter",
        "How keys become bytes: a converter's class. Avro with Lattice's own registry when not given.",
    )
    .label("Key converter class"),
    converter_version("key.converter.plugin.version").label("Key converter version"),
    converter(
        "value.converter",
        "How values become bytes: a converter's class. Avro with Lattice's own registry when not given.",
    )
    .label("Value converter class"),
    converter_version("value.converter.plugin.version").label("Value converter version"),
    converter("header.converter", "How headers become bytes: a converter's class.")
        .default("org.apache.kafka.connect.storage.SimpleHeaderConverter")
        .label("Header converter class"),
    converter_version("header.converter.plugin.version").label("Header converter version"),
    TRANSFORMS,
    PREDICATES,
    common(
        "config.action.reload",
        KeyType::String,
        "What happens when a config provider with a time to live gives other values: restart, or none.",
    )
    .default("restart")
    .importance(Importance::Low)
    .label("Reload Action")
    .width("MEDIUM")
    .rule(Rule::OneOf(&["none", "restart"])),
    RETRY_TIMEOUT,
    RETRY_DELAY,
    MAX_RETRIES,
    TOLERANCE,
    LOG_ENABLE,
    LOG_MESSAGES,
];

/// Keys of every source.
pub(crate) static SOURCE: &[Key] = &[
    Key::new(
        "topic.creation.groups",
        KeyType::List,
        "Groups of rules for topics that the connector creates.",
    )
    .default("")
    .group("Topic Creation")
    .importance(Importance::Low)
    .label("Topic Creation Groups"),
    CREATION_PARTITIONS,
    CREATION_RETENTION_MS,
    CREATION_RETENTION_BYTES,
    CREATION_CLEANUP,
    Key::new(
        "topic.creation.default.replication.factor",
        KeyType::Short,
        "Replicas of topics that the connector creates.",
    )
    .default("-1")
    .group("Topic Creation")
    .label("Replication Factor"),
    EXACTLY_ONCE,
    BOUNDARY,
    BOUNDARY_INTERVAL,
    Key::new(
        "offsets.storage.topic",
        KeyType::String,
        "The topic that keeps this connector's offsets.",
    )
    .importance(Importance::Low)
    .width("LONG")
    .group("offsets.topic")
    .label("Offsets topic")
    .ignored("offsets are kept in the log's own file"),
];

/// Keys of every sink.
pub(crate) static SINK: &[Key] = &[
    TOPICS,
    TOPICS_REGEX,
    DEAD_LETTER_TOPIC,
    errors(
        "errors.deadletterqueue.topic.replication.factor",
        KeyType::Short,
        "Replicas of the dead letter topic.",
    )
    .default("3")
    .label("Dead Letter Queue Topic Replication Factor")
    .width("MEDIUM")
    .ignored("the embedded log is one file"),
    DEAD_LETTER_HEADERS,
];

/// `exactly.once.support`
pub(crate) const EXACTLY_ONCE: Key = Key::new(
    "exactly.once.support",
    KeyType::String,
    "Whether the connector must be able to deliver exactly once.",
)
.default("requested")
.group("Exactly Once Support")
.label("Exactly once support")
.width("SHORT")
.rule(Rule::OneOf(&["requested", "required"]));

/// `transaction.boundary`
pub(crate) const BOUNDARY: Key = Key::new(
    "transaction.boundary",
    KeyType::String,
    "Where transactions begin and end: \"poll\" with every append, \"interval\" by the clock.",
)
.default("poll")
.group("Exactly Once Support")
.label("Transaction Boundary")
.width("SHORT")
.rule(Rule::OneOf(&["poll", "interval", "connector"]));

/// `transaction.boundary.interval.ms`
pub(crate) const BOUNDARY_INTERVAL: Key = Key::new(
    "transaction.boundary.interval.ms",
    KeyType::Long,
    "How often a transaction ends, with \"transaction.boundary\": \"interval\".",
)
.importance(Importance::Low)
.group("Exactly Once Support")
.label("Transaction boundary interval")
.rule(Rule::Range(1, i64::MAX));

/// Prefixes whose rest is free.
pub(crate) static PREFIXES: &[&str] = &[
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "transforms.",
    "predicates.",
    "topic.creation.",
    "producer.override.",
    "consumer.override.",
    "admin.override.",
];

fn check_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("a name must not be empty".to_owned());
    }
    name.chars()
        .any(char::is_control)
        .then(|| "a name must not contain control characters".to_owned())
}
