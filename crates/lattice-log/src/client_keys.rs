//! The settings of Kafka's clients that people give, and what each of them does here: a table, read by whoever checks
//! a connector's overrides, a worker's file and the properties of the connection, and printed as a page.

use lattice_core::config::did_you_mean;

/// One of Kafka's clients, as Kafka Connect's prefixes name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// `producer.`
    Producer,
    /// `consumer.`
    Consumer,
    /// `admin.`
    Admin,
}

/// What a setting's value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Text,
    /// A whole number from this one on.
    Number(i64),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What a setting does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// What it does in Kafka Connect, within what the text says.
    Used(&'static str),
    /// It is always so; these values ask for just that.
    Always(&'static [&'static str], &'static str),
    /// None, for this reason.
    Idle(&'static str),
    /// It says how the cluster is reached and as whom: the worker's own connection.
    Connection,
}

/// A setting of a client.
#[derive(Debug, Clone, Copy)]
pub struct ClientKey {
    /// Its name without a prefix.
    pub name: &'static str,
    /// The clients that have it.
    pub clients: &'static [Client],
    /// What its value has to be.
    pub form: Form,
    /// What it does.
    pub effect: Effect,
}

const fn key(
    name: &'static str,
    clients: &'static [Client],
    form: Form,
    effect: Effect,
) -> ClientKey {
    ClientKey { name, clients, form, effect }
}

use Client::{Admin, Consumer, Producer};
use Effect::{Always, Connection, Idle, Used};
use Form::{Number, Text, Word};

const P: &[Client] = &[Producer];
const C: &[Client] = &[Consumer];
const PC: &[Client] = &[Producer, Consumer];
const ALL: &[Client] = &[Producer, Consumer, Admin];

const ONE_CONNECTION: &str =
    "a worker has one client for all its connectors: give it to the worker, without a prefix";
const OWN_PACE: &str =
    "the worker's client tries again by itself, at a pace of its own, until what failed has passed";
const NO_MEMBER: &str = "a sink's partitions are shared by the worker, not by a consumer group's members: give it to the \
     worker, without a prefix";
const BUFFERS: &str = "queues are bounded in bytes by the worker";
const AT_ONCE: &str = "a fetch is answered as soon as there is a record";
const SERIAL: &str = "converters make and read the bytes";
const NO_JAVA: &str = "classes of Java cannot run here";

/// All of them, by name.
pub static KEYS: &[ClientKey] = &[
    key(
        "acks",
        P,
        Word(&["all", "-1", "0", "1"]),
        Always(&["all", "-1"], "every record is acknowledged by all in-sync replicas"),
    ),
    key(
        "allow.auto.create.topics",
        C,
        Word(&["true", "false"]),
        Always(&["false"], "reading a topic does not make it"),
    ),
    key(
        "auto.offset.reset",
        C,
        Word(&["earliest", "latest"]),
        Used("where a sink begins without an offset: earliest or latest"),
    ),
    key(
        "batch.size",
        P,
        Number(0),
        Used(
            "a batch is closed before it passes so many bytes, before compression; 1 MiB at most, which is the default",
        ),
    ),
    key("bootstrap.servers", ALL, Text, Connection),
    key("buffer.memory", P, Number(0), Idle(BUFFERS)),
    key(
        "check.crcs",
        C,
        Word(&["true", "false"]),
        Always(&["true"], "checksums are always looked at"),
    ),
    key("client.dns.lookup", ALL, Text, Idle("every address of a name is tried in turn")),
    key("client.id", ALL, Text, Idle(ONE_CONNECTION)),
    key("client.rack", C, Text, Idle("partitions are read from their leaders")),
    key(
        "compression.gzip.level",
        P,
        Number(-1),
        Idle("gzip packs at level 6, as Kafka's own producer does by default"),
    ),
    key("compression.lz4.level", P, Number(1), Idle("LZ4 packs at its quickest level")),
    key(
        "compression.type",
        P,
        Word(&["none", "gzip", "snappy", "lz4", "zstd"]),
        Used("how batches are packed: none, gzip, snappy, lz4 (the default) or zstd"),
    ),
    key("compression.zstd.level", P, Number(-131_072), Idle("Zstandard packs at level 1")),
    key(
        "connections.max.idle.ms",
        ALL,
        Number(-1),
        Idle("connections stay until a broker ends them, and are made anew then"),
    ),
    key("default.api.timeout.ms", &[Consumer, Admin], Number(0), Idle(OWN_PACE)),
    key(
        "delivery.timeout.ms",
        P,
        Number(0),
        Idle(
            "an append that cannot be delivered is tried again until it is, as under Kafka Connect, whose default has no end",
        ),
    ),
    key(
        "enable.auto.commit",
        C,
        Word(&["true", "false"]),
        Always(&["false"], "offsets move only after the sink has what they cover"),
    ),
    key(
        "enable.idempotence",
        P,
        Word(&["true", "false"]),
        Always(&["true"], "producers are always idempotent"),
    ),
    key(
        "enable.metrics.push",
        ALL,
        Word(&["true", "false"]),
        Always(&["false"], "clients push no measures to brokers"),
    ),
    key(
        "exclude.internal.topics",
        C,
        Word(&["true", "false"]),
        Always(&["true"], "topics.regex never matches internal topics"),
    ),
    key(
        "fetch.max.bytes",
        C,
        Number(0),
        Used(
            "a fetch brings so many bytes, and a whole batch at least; 512 KiB at most, which is the default",
        ),
    ),
    key("fetch.max.wait.ms", C, Number(0), Idle(AT_ONCE)),
    key("fetch.min.bytes", C, Number(0), Idle(AT_ONCE)),
    key(
        "group.id",
        C,
        Text,
        Used("the group whose offsets a sink moves, in place of connect-NAME"),
    ),
    key("group.instance.id", C, Text, Idle(NO_MEMBER)),
    key("group.protocol", C, Text, Idle(NO_MEMBER)),
    key("heartbeat.interval.ms", C, Number(1), Idle(NO_MEMBER)),
    key("interceptor.classes", PC, Text, Idle(NO_JAVA)),
    key(
        "isolation.level",
        C,
        Word(&["read_committed", "read_uncommitted"]),
        Always(&["read_committed"], "sinks read only what is committed"),
    ),
    key("key.deserializer", C, Text, Idle(SERIAL)),
    key("key.serializer", P, Text, Idle(SERIAL)),
    key(
        "linger.ms",
        P,
        Number(0),
        Idle("a batch goes as soon as the one before it is acknowledged, and grows until then"),
    ),
    key(
        "max.block.ms",
        P,
        Number(0),
        Idle("a source is not read on while the cluster takes nothing"),
    ),
    key(
        "max.in.flight.requests.per.connection",
        P,
        Number(1),
        Always(&["1"], "a partition has one request under way"),
    ),
    key(
        "max.partition.fetch.bytes",
        C,
        Number(0),
        Used("as fetch.max.bytes; the smaller of the two holds"),
    ),
    key(
        "max.poll.interval.ms",
        C,
        Number(1),
        Idle("a sink keeps its partitions however long it takes over a batch"),
    ),
    key(
        "max.poll.records",
        C,
        Number(1),
        Idle("a sink collects its batches by its own keys, such as batch.size"),
    ),
    key(
        "max.request.size",
        P,
        Number(1),
        Used(
            "a larger record, before compression, is an error; without it the topic's max.message.bytes decides alone",
        ),
    ),
    key(
        "metadata.max.age.ms",
        ALL,
        Number(0),
        Idle("leaders are asked for as soon as one has moved, and topics every few seconds"),
    ),
    key(
        "metadata.max.idle.ms",
        P,
        Number(5000),
        Idle("topics that are not written cost nothing to remember"),
    ),
    key(
        "metadata.recovery.strategy",
        ALL,
        Text,
        Idle("the bootstrap servers are asked again where no broker answers"),
    ),
    key("metric.reporters", ALL, Text, Idle(NO_JAVA)),
    key("metrics.num.samples", ALL, Number(1), Idle("measures are at /metrics")),
    key("metrics.recording.level", ALL, Text, Idle("measures are at /metrics")),
    key("metrics.sample.window.ms", ALL, Number(0), Idle("measures are at /metrics")),
    key("partition.assignment.strategy", C, Text, Idle(NO_MEMBER)),
    key(
        "partitioner.adaptive.partitioning.enable",
        P,
        Word(&["true", "false"]),
        Idle("records without a key go round the partitions batch by batch"),
    ),
    key(
        "partitioner.class",
        P,
        Text,
        Idle("records go where Kafka's default partitioner sends them"),
    ),
    key(
        "partitioner.ignore.keys",
        P,
        Word(&["true", "false"]),
        Always(&["false"], "the key decides the partition, which keeps a row's changes in order"),
    ),
    key("receive.buffer.bytes", ALL, Number(-1), Idle("the system sizes the buffers of sockets")),
    key("reconnect.backoff.max.ms", ALL, Number(0), Idle(OWN_PACE)),
    key("reconnect.backoff.ms", ALL, Number(0), Idle(OWN_PACE)),
    key("request.timeout.ms", ALL, Number(0), Idle(ONE_CONNECTION)),
    key(
        "retries",
        &[Producer, Admin],
        Number(0),
        Idle("an append that cannot be delivered is tried again until it is"),
    ),
    key("retry.backoff.max.ms", ALL, Number(0), Idle(OWN_PACE)),
    key("retry.backoff.ms", ALL, Number(0), Idle(OWN_PACE)),
    key("security.protocol", ALL, Text, Connection),
    key("send.buffer.bytes", ALL, Number(-1), Idle("the system sizes the buffers of sockets")),
    key("session.timeout.ms", C, Number(1), Idle(NO_MEMBER)),
    key("socket.connection.setup.timeout.max.ms", ALL, Number(0), Idle(ONE_CONNECTION)),
    key("socket.connection.setup.timeout.ms", ALL, Number(0), Idle(ONE_CONNECTION)),
    key(
        "transaction.timeout.ms",
        P,
        Number(1),
        Used("how long a broker keeps an open transaction of a source with exactly once"),
    ),
    key(
        "transactional.id",
        P,
        Text,
        Idle("a task's transactional id is its own: GROUP-CONNECTOR-TASK, as in Kafka Connect"),
    ),
    key("value.deserializer", C, Text, Idle(SERIAL)),
    key("value.serializer", P, Text, Idle(SERIAL)),
];

/// Settings of a connection by how their names begin.
const CONNECTION: [&str; 3] = ["security.", "sasl.", "ssl."];

/// Settings that the worker's own connection takes, without a prefix, besides those of `CONNECTION`.
pub const OF_THE_WORKER: [&str; 7] = [
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "rebalance.timeout.ms",
];

/// A setting of a client by its name; `None`: it has none of that name.
#[must_use]
pub fn of_client(client: Client, name: &str) -> Option<&'static ClientKey> {
    KEYS.iter().find(|key| key.name == name && key.clients.contains(&client))
}

/// A setting of any client by its name.
#[must_use]
pub fn of_any(name: &str) -> Option<&'static ClientKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether a setting says how the cluster is reached, and as whom.
#[must_use]
pub fn is_of_connection(name: &str) -> bool {
    name == "bootstrap.servers" || CONNECTION.iter().any(|start| name.starts_with(start))
}

/// The setting of a client that was probably meant.
#[must_use]
pub fn meant(client: Client, name: &str) -> Option<&'static str> {
    let of_client = KEYS.iter().filter(|key| key.clients.contains(&client));
    did_you_mean(name, of_client.map(|key| key.name))
}

impl Form {
    /// What is wrong with a value; `None`: nothing.
    #[must_use]
    pub fn wrong(self, value: &str) -> Option<String> {
        match self {
            Self::Text => None,
            Self::Number(least) => match value.parse::<i64>() {
                Ok(number) if number >= least => None,
                Ok(_) => Some(format!("must be at least {least}")),
                Err(_) => Some(format!("\"{value}\" is not a number")),
            },
            Self::Word(words) => (!words.contains(&value))
                .then(|| format!("\"{value}\" is none of {}", words.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_there_once() {
        assert!(KEYS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn what_is_always_so_is_a_value_that_may_be_given() {
        for key in KEYS {
            if let Always(fits, _) = key.effect {
                assert!(fits.iter().all(|value| key.form.wrong(value).is_none()), "{}", key.name);
            }
        }
    }

    #[test]
    fn a_mistyped_name_finds_the_right_one_of_its_client() {
        assert_eq!(meant(Producer, "compresion.type"), Some("compression.type"));
        assert_eq!(meant(Consumer, "max.pol.records"), Some("max.poll.records"));
        assert_eq!(meant(Admin, "max.pol.records"), None);
        assert!(of_client(Consumer, "acks").is_none());
    }

    #[test]
    fn values_have_their_form() {
        let wrong = |name: &str, value: &str| of_any(name).unwrap().form.wrong(value);
        assert_eq!(wrong("linger.ms", "5"), None);
        assert!(wrong("linger.ms", "-1").unwrap().contains("at least 0"));
        assert!(wrong("linger.ms", "5ms").unwrap().contains("not a number"));
        assert!(wrong("compression.type", "brotli").unwrap().contains("snappy"));
    }
}
