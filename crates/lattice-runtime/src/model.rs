//! What the worker tells about connectors, tasks and plugins. Plain data: the wire forms are the
//! server's.

use std::collections::BTreeMap;

use lattice_core::{
    config::Config,
    connector::{Descriptor, Direction},
    progress::TableState,
};

/// What a person wants a connector to do. Kept across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InitialState {
    /// Run.
    #[default]
    Running,
    /// Keep tasks, move nothing.
    Paused,
    /// No tasks.
    Stopped,
}

impl InitialState {
    /// Reads Kafka Connect's word, without case.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "RUNNING" | "STARTED" => Some(Self::Running),
            "PAUSED" => Some(Self::Paused),
            "STOPPED" => Some(Self::Stopped),
            _ => None,
        }
    }

    /// The word of a target state: `STARTED`, `PAUSED`, `STOPPED`.
    #[must_use]
    pub fn target_word(self) -> &'static str {
        match self {
            Self::Running => "STARTED",
            Self::Paused => "PAUSED",
            Self::Stopped => "STOPPED",
        }
    }
}

/// The state of a connector or task, Kafka Connect's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Known, not started yet.
    Unassigned,
    /// Working.
    Running,
    /// Held by a person; keeps its resources.
    Paused,
    /// Ended by an error; see the trace.
    Failed,
    /// Being restarted.
    Restarting,
    /// Stopped by a person; has no tasks.
    Stopped,
}

impl State {
    /// Kafka Connect's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unassigned => "UNASSIGNED",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Failed => "FAILED",
            Self::Restarting => "RESTARTING",
            Self::Stopped => "STOPPED",
        }
    }

    /// Reads Kafka Connect's word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let all = [
            Self::Unassigned,
            Self::Running,
            Self::Paused,
            Self::Failed,
            Self::Restarting,
            Self::Stopped,
        ];
        all.into_iter().find(|state| state.as_str() == word)
    }
}

/// What a connector's class says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectorKind {
    /// From a database to topics.
    Source,
    /// From topics to a database.
    Sink,
    /// The class is none of this worker's.
    Unknown,
}

impl ConnectorKind {
    /// Kafka Connect's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Sink => "sink",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Direction> for ConnectorKind {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Source => Self::Source,
            Direction::Sink => Self::Sink,
        }
    }
}

/// A connector as it was created.
#[derive(Debug, Clone)]
pub struct ConnectorInfo {
    /// Its name.
    pub name: String,
    /// Its configuration, as given: references such as `${env:X}` are not resolved, secrets
    /// are not masked (see [`Worker::masked`](crate::Worker::masked)).
    pub config: Config,
    /// The numbers of its tasks.
    pub tasks: Vec<u32>,
    /// Source or sink.
    pub kind: ConnectorKind,
}

/// A connector's and its tasks' states.
#[derive(Debug, Clone)]
pub struct ConnectorStatus {
    /// Its name.
    pub name: String,
    /// Source or sink.
    pub kind: ConnectorKind,
    /// The connector's own state.
    pub state: State,
    /// `host:port` of the worker it runs on.
    pub worker_id: String,
    /// Why it failed.
    pub trace: Option<String>,
    /// The connector's version; `None`: its class is none of this worker's.
    pub version: Option<&'static str>,
    /// Its tasks, by number.
    pub tasks: Vec<TaskStatus>,
}

/// A task's state.
#[derive(Debug, Clone)]
pub struct TaskStatus {
    /// Its number.
    pub id: u32,
    /// Its state.
    pub state: State,
    /// `host:port` of the worker it runs on.
    pub worker_id: String,
    /// Why it failed.
    pub trace: Option<String>,
}

/// An offset as KIP-875 shows it. `offset: None` in a request deletes.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetEntry {
    /// Source: the connector's own map; sink: `kafka_topic`, `kafka_partition`.
    pub partition: serde_json::Map<String, serde_json::Value>,
    /// Source: the connector's own map; sink: `kafka_offset`.
    pub offset: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A plugin that is no connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginClass {
    /// The class that configurations name.
    pub class: &'static str,
    /// Kafka Connect's word: `transformation`, `converter`, `header_converter`.
    pub kind: &'static str,
}

/// A kind of connector this worker has.
#[derive(Debug, Clone, Copy)]
pub struct PluginInfo {
    /// What it is.
    pub descriptor: &'static Descriptor,
}

/// The answer of `PUT …/config/validate`, as data.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// The class as it was given.
    pub name: String,
    /// How many messages there are (not keys).
    pub error_count: usize,
    /// The groups, in the order of their first key.
    pub groups: Vec<String>,
    /// Every key with its value; values without a definition come first.
    pub configs: Vec<ConfigInfo>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct ConfigInfo {
    /// The key; `None`: an error about a name that has no definition.
    pub definition: Option<Definition>,
    /// The value.
    pub value: ConfigValue,
}

/// A key as Kafka Connect describes it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// `STRING`, `INT`, …
    pub kind: &'static str,
    /// Whether it has no default.
    pub required: bool,
    /// Its default.
    pub default_value: Option<String>,
    /// `HIGH`, `MEDIUM`, `LOW`.
    pub importance: &'static str,
    /// What it does.
    pub documentation: String,
    /// Its group.
    pub group: String,
    /// Its place in the group, from 1.
    pub order_in_group: u32,
    /// `NONE`, `SHORT`, `MEDIUM`, `LONG`.
    pub width: &'static str,
    /// Its label.
    pub display_name: String,
    /// Keys that depend on it.
    pub dependents: Vec<String>,
    /// Why it has no effect, if it has none.
    pub ignored: Option<&'static str>,
}

/// A value and what is wrong with it.
#[derive(Debug, Clone)]
pub struct ConfigValue {
    /// The key's name.
    pub name: String,
    /// The value, given or default; secrets masked as `[hidden]`.
    pub value: Option<String>,
    /// Values to choose from.
    pub recommended_values: Vec<String>,
    /// What is wrong.
    pub errors: Vec<String>,
    /// What a person should know; Kafka Connect has no such field.
    pub warnings: Vec<String>,
    /// Always true here.
    pub visible: bool,
}

/// Everything at one moment, for the console's event stream and for metrics.
#[derive(Debug, Clone, Default)]
pub struct WorkerSnapshot {
    /// When. Units: ms since the Unix epoch.
    pub at_ms: i64,
    /// All connectors, by name.
    pub connectors: Vec<ConnectorSnapshot>,
    /// What the log says: `None`, or why it takes no records.
    pub log_message: Option<String>,
}

/// One connector at one moment.
#[derive(Debug, Clone)]
pub struct ConnectorSnapshot {
    /// Its states.
    pub status: ConnectorStatus,
    /// Its class.
    pub class: String,
    /// Its tasks, by number.
    pub tasks: Vec<TaskSnapshot>,
    /// Its active topics.
    pub topics: Vec<String>,
    /// The sum of its tasks' rates. Units: events per second.
    pub events_per_s: f64,
    /// Units: bytes per second, before compression.
    pub bytes_per_s: f64,
    /// How far behind it is. Units: ms; `None`: not known yet.
    pub behind_ms: Option<i64>,
    /// Sinks: records not yet delivered, all topics together.
    pub behind_records: Option<i64>,
}

/// One task at one moment.
#[derive(Debug, Clone, Default)]
pub struct TaskSnapshot {
    /// Its number.
    pub id: u32,
    /// Its tables, by name.
    pub tables: Vec<TableSnapshot>,
    /// Events since the task started: made durable in the log (source), in the target (sink).
    pub events: u64,
    /// Their bytes, before compression.
    pub bytes: u64,
    /// Over the last seconds. Units: events per second.
    pub events_per_s: f64,
    /// Over the last seconds. Units: bytes per second.
    pub bytes_per_s: f64,
    /// Records that went to the dead letters.
    pub dead_letters: u64,
    /// How often the task was opened again after a transient error.
    pub retries: u64,
    /// Units: ms; `None`: not known yet.
    pub behind_ms: Option<i64>,
    /// Sinks: records not yet delivered, by topic.
    pub behind_records: BTreeMap<String, i64>,
    /// The task's gauges.
    pub gauges: Vec<(&'static str, i64)>,
    /// Standing remarks, by subject.
    pub notes: Vec<(&'static str, String)>,
}

/// One table at one moment.
#[derive(Debug, Clone)]
pub struct TableSnapshot {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: TableState,
    /// Rows the snapshot has read.
    pub snapshot_rows: u64,
    /// Rows the snapshot expects; 0: not known.
    pub snapshot_rows_expected: u64,
    /// Chunks the snapshot has done.
    pub snapshot_chunks: u64,
    /// Chunks the snapshot has.
    pub snapshot_chunks_expected: u64,
    /// Events of it.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows that went to the dead letters.
    pub errors: u64,
    /// Source time of its last event. Units: ms since the Unix epoch; 0: none.
    pub last_event_ms: i64,
    /// A warning, or why it failed.
    pub message: Option<String>,
}
