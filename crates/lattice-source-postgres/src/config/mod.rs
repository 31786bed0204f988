//! The connector's configuration: Debezium's keys, read once into real types.

pub mod filter;
pub mod keys;
pub mod rules;

use std::time::Duration;

use lattice_core::{
    Error, Result,
    config::{Config, Key},
};

use crate::{
    connection::{SslMode, Target},
    types::{BinaryMode, DecimalMode, Modes, TimeMode, UnknownMode},
};
use filter::{ColumnFilter, KeyColumns, PatternList, TableFilter};
use rules::ColumnRules;

/// `snapshot.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMode {
    /// At every start.
    Always,
    /// When there is no position yet.
    Initial,
    /// As initial, and then the task ends.
    InitialOnly,
    /// Never.
    NoData,
    /// As initial, and when the position is lost.
    WhenNeeded,
}

/// `publication.autocreate.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationMode {
    /// `FOR ALL TABLES`.
    AllTables,
    /// It must exist.
    Disabled,
    /// The captured tables; missing ones are added to an existing publication, never removed.
    Filtered,
    /// An empty one.
    NoTables,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the server is.
    pub target: Target,
    /// `topic.prefix`
    pub prefix: String,
    /// `slot.name`
    pub slot: String,
    /// `slot.failover`
    pub slot_failover: bool,
    /// `slot.drop.on.stop`
    pub slot_drop_on_stop: bool,
    /// `publication.name`
    pub publication: String,
    /// `publication.autocreate.mode`
    pub publication_mode: PublicationMode,
    /// `publish.via.partition.root`
    pub via_root: bool,
    /// Which tables.
    pub tables: TableFilter,
    /// Which columns.
    pub columns: ColumnFilter,
    /// What is done to columns' values.
    pub rules: ColumnRules,
    /// `message.key.columns`
    pub key_columns: KeyColumns,
    /// Which prefixes of logical messages.
    pub messages: PatternList,
    /// How values are written.
    pub modes: Modes,
    /// `snapshot.mode`
    pub snapshot_mode: SnapshotMode,
    /// `snapshot.include.collection.list`
    pub snapshot_tables: Option<PatternList>,
    /// `snapshot.max.threads`
    pub snapshot_threads: usize,
    /// `lattice.snapshot.chunk.bytes`
    pub snapshot_chunk_bytes: u64,
    /// `status.update.interval.ms`
    pub status_interval: Duration,
    /// `heartbeat.interval.ms`; zero: no heartbeat records.
    pub heartbeat: Duration,
    /// `heartbeat.action.query`
    pub heartbeat_query: Option<String>,
    /// `lattice.heartbeat.interval.ms`; zero: no logical messages of our own.
    pub own_heartbeat: Duration,
    /// `signal.data.collection`
    pub signals: Option<String>,
    /// `incremental.snapshot.chunk.size`
    pub incremental_rows: usize,
    /// `max.batch.size`
    pub max_batch: usize,
    /// `lattice.accept.gap`
    pub accept_gap: bool,
    /// `flush.lsn.source` / `lsn.flush.mode` say that nobody but the user confirms the slot.
    pub flush_manual: bool,
}

impl Settings {
    /// Reads and checks a configuration.
    ///
    /// Errors: `Config`, naming the key.
    pub fn from_config(config: &Config) -> Result<Self> {
        refuse_unsupported(config)?;
        let text = |key: &Key| config.required(key).map(|text| text.trim().to_owned());
        let optional = |key: &Key| {
            config.get(key.name).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned)
        };
        Ok(Self {
            target: target(config)?,
            prefix: checked(config, &keys::TOPIC_PREFIX)?,
            slot: checked(config, &keys::SLOT_NAME)?,
            slot_failover: config.boolean(&keys::SLOT_FAILOVER)?,
            slot_drop_on_stop: config.boolean(&keys::SLOT_DROP_ON_STOP)?,
            publication: text(&keys::PUBLICATION_NAME)?,
            publication_mode: match word(config, &keys::PUBLICATION_AUTOCREATE_MODE)?.as_str() {
                "disabled" => PublicationMode::Disabled,
                "filtered" => PublicationMode::Filtered,
                "no_tables" => PublicationMode::NoTables,
                _ => PublicationMode::AllTables,
            },
            via_root: config.boolean(&keys::PUBLISH_VIA_PARTITION_ROOT)?,
            tables: TableFilter::from_config(config)?,
            columns: ColumnFilter::from_config(config)?,
            rules: ColumnRules::from_config(config)?,
            key_columns: KeyColumns::from_config(config)?,
            messages: PatternList::either(
                config,
                &keys::MESSAGE_PREFIX_INCLUDE_LIST,
                &keys::MESSAGE_PREFIX_EXCLUDE_LIST,
            )?,
            modes: modes(config)?,
            snapshot_mode: match word(config, &keys::SNAPSHOT_MODE)?.as_str() {
                "always" => SnapshotMode::Always,
                "initial_only" => SnapshotMode::InitialOnly,
                "no_data" | "never" | "schema_only" => SnapshotMode::NoData,
                "when_needed" => SnapshotMode::WhenNeeded,
                _ => SnapshotMode::Initial,
            },
            snapshot_tables: PatternList::given(config, &keys::SNAPSHOT_INCLUDE_COLLECTION_LIST)?,
            snapshot_threads: match config.get(keys::SNAPSHOT_MAX_THREADS.name) {
                Some(_) => positive(config, &keys::SNAPSHOT_MAX_THREADS)?,
                None => std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4),
            },
            snapshot_chunk_bytes: u64::try_from(config.number(&keys::SNAPSHOT_CHUNK_BYTES)?)
                .unwrap_or(1),
            status_interval: config
                .millis(&keys::STATUS_UPDATE_INTERVAL_MS)?
                .clamp(Duration::from_millis(100), Duration::from_secs(20)),
            heartbeat: config.millis(&keys::HEARTBEAT_INTERVAL_MS)?,
            heartbeat_query: optional(&keys::HEARTBEAT_ACTION_QUERY),
            own_heartbeat: config.millis(&keys::OWN_HEARTBEAT_INTERVAL_MS)?,
            signals: optional(&keys::SIGNAL_DATA_COLLECTION),
            incremental_rows: positive(config, &keys::INCREMENTAL_SNAPSHOT_CHUNK_SIZE)?,
            max_batch: positive(config, &keys::MAX_BATCH_SIZE)?,
            accept_gap: config.boolean(&keys::ACCEPT_GAP)?,
            flush_manual: match config.get(keys::LSN_FLUSH_MODE.name) {
                Some(_) => word(config, &keys::LSN_FLUSH_MODE)? == "manual",
                None => !config.boolean(&keys::FLUSH_LSN_SOURCE)?,
            },
        })
    }
}

/// The value of a key after its own rule.
fn checked(config: &Config, key: &Key) -> Result<String> {
    let text = config.required(key)?.trim();
    match key.check(text) {
        Some(reason) => Err(config.invalid(key, &reason)),
        None => Ok(text.to_owned()),
    }
}

fn word(config: &Config, key: &Key) -> Result<String> {
    Ok(checked(config, key)?.to_ascii_lowercase())
}

fn positive(config: &Config, key: &Key) -> Result<usize> {
    Ok(usize::try_from(config.number(key)?).unwrap_or(1).max(1))
}

/// What would change what is captured if it were passed over: masking above all.
fn refuse_unsupported(config: &Config) -> Result<()> {
    for (name, value) in config.iter() {
        let refused = keys::REFUSED.iter().any(|prefix| name.starts_with(prefix));
        if refused && !value.trim().is_empty() {
            return Err(Error::config(format!("configuration \"{name}\" is not supported yet"))
                .with_remedy(format!(
                    "remove \"{name}\"; it is refused rather than passed over, since without it \
                     other values would be written than you ask for"
                )));
        }
    }
    if word(config, &keys::PLUGIN_NAME)? != "pgoutput" {
        return Err(config.invalid(&keys::PLUGIN_NAME, "only pgoutput is supported"));
    }
    Ok(())
}

fn target(config: &Config) -> Result<Target> {
    let optional = |key: &Key| {
        config.get(key.name).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned)
    };
    let port = config.number(&keys::DATABASE_PORT)?;
    Ok(Target {
        host: config.required(&keys::DATABASE_HOSTNAME)?.trim().to_owned(),
        port: u16::try_from(port)
            .map_err(|_| config.invalid(&keys::DATABASE_PORT, "expected a number up to 65535"))?,
        user: config.required(&keys::DATABASE_USER)?.trim().to_owned(),
        password: config.secret(&keys::DATABASE_PASSWORD),
        database: config.required(&keys::DATABASE_DBNAME)?.trim().to_owned(),
        ssl_mode: match word(config, &keys::DATABASE_SSLMODE)?.as_str() {
            "disable" => SslMode::Disable,
            "require" | "required" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => SslMode::Prefer,
        },
        ssl_root_cert: optional(&keys::DATABASE_SSLROOTCERT),
        ssl_cert: optional(&keys::DATABASE_SSLCERT),
        ssl_key: optional(&keys::DATABASE_SSLKEY),
        connect_timeout: config
            .millis(&keys::CONNECTION_VALIDATION_TIMEOUT_MS)?
            .clamp(Duration::from_secs(1), Duration::from_secs(60)),
    })
}

fn modes(config: &Config) -> Result<Modes> {
    Ok(Modes {
        decimal: match word(config, &keys::DECIMAL_HANDLING_MODE)?.as_str() {
            "double" => DecimalMode::Double,
            "string" => DecimalMode::String,
            _ => DecimalMode::Precise,
        },
        time: match word(config, &keys::TIME_PRECISION_MODE)?.as_str() {
            "adaptive_time_microseconds" => TimeMode::AdaptiveTimeMicroseconds,
            "connect" => TimeMode::Connect,
            "isostring" => TimeMode::IsoString,
            "microseconds" => TimeMode::Microseconds,
            "nanoseconds" => TimeMode::Nanoseconds,
            _ => TimeMode::Adaptive,
        },
        binary: match word(config, &keys::BINARY_HANDLING_MODE)?.as_str() {
            "base64" => BinaryMode::Base64,
            "base64-url-safe" => BinaryMode::Base64Url,
            "hex" => BinaryMode::Hex,
            _ => BinaryMode::Bytes,
        },
        interval_text: word(config, &keys::INTERVAL_HANDLING_MODE)? == "string",
        hstore_map: word(config, &keys::HSTORE_HANDLING_MODE)? == "map",
        money_digits: i32::try_from(config.number(&keys::MONEY_FRACTION_DIGITS)?).unwrap_or(2),
        unknown: match config.get(keys::INCLUDE_UNKNOWN_DATATYPES.name) {
            None => UnknownMode::Text,
            Some(_) if config.boolean(&keys::INCLUDE_UNKNOWN_DATATYPES)? => UnknownMode::Bytes,
            Some(_) => UnknownMode::Drop,
        },
        fail_on_special: word(config, &keys::EVENT_CONVERTING_FAILURE_MODE)? == "fail",
    })
}
