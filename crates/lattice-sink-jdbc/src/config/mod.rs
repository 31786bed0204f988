//! The settings that come out of a configuration.

pub(crate) mod keys;

use std::time::Duration;

use lattice_core::{
    config::{Config, Key},
    error::{Error, Result},
};
use regex::Regex;

use crate::{names::Naming, url::Address};

/// Whose connector's keys a configuration is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    Debezium,
    Confluent,
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InsertMode {
    Insert,
    Upsert,
    Update,
}

/// Where a key's columns come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyMode {
    None,
    /// Topic, partition and offset.
    Kafka,
    RecordKey,
    RecordValue,
}

/// What becomes of values that their column cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutOfRange {
    Reject,
    Null,
    Clamp,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) address: Address,
    pub(crate) insert_mode: InsertMode,
    pub(crate) key_mode: KeyMode,
    pub(crate) key_fields: Vec<String>,
    pub(crate) deletes: bool,
    pub(crate) truncates: bool,
    /// Missing tables are made.
    pub(crate) creates: bool,
    /// Missing columns are added, others widened.
    pub(crate) evolves: bool,
    /// All tables must exist at the start.
    pub(crate) must_exist: bool,
    pub(crate) naming: Naming,
    pub(crate) fields: Fields,
    pub(crate) batch_rows: usize,
    pub(crate) batch_bytes: usize,
    pub(crate) latency: Duration,
    pub(crate) retries: u32,
    pub(crate) retry_pause: Duration,
    pub(crate) out_of_range: OutOfRange,
    /// `None`: offsets are not kept in the target.
    pub(crate) offsets: Option<String>,
    /// One refused record does not stop the task.
    pub(crate) tolerant: bool,
}

/// Which fields are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    names: Vec<String>,
}

impl Fields {
    /// Whether a topic's field is written. Fields of the key always are.
    pub(crate) fn takes(&self, topic: &str, field: &str) -> bool {
        let full = format!("{topic}:{field}");
        let any =
            |list: &[Regex]| list.iter().any(|one| one.is_match(field) || one.is_match(&full));
        (self.names.is_empty() || self.names.iter().any(|name| name == field))
            && (self.include.is_empty() || any(&self.include))
            && !any(&self.exclude)
    }
}

impl Settings {
    /// Reads a configuration.
    ///
    /// Errors: `Config`.
    pub(crate) fn from_config(config: &Config, vendor: Vendor) -> Result<Self> {
        let dbz = vendor == Vendor::Debezium;
        let of = |debezium: &'static Key, confluent: &'static Key| {
            if dbz { debezium } else { confluent }
        };
        let user = config.text(of(&keys::USERNAME, &keys::USER)).unwrap_or_default();
        let url = config.required(&keys::URL)?;
        let address = Address::parse(url, user, config.secret(&keys::PASSWORD))?;
        let evolution = config.text(&keys::EVOLUTION).unwrap_or_default().to_ascii_lowercase();
        let retries = config.number(of(&keys::DBZ_RETRIES, &keys::CFL_RETRIES))?;
        let (creates, evolves) = match dbz {
            true => (evolution == "basic", evolution == "basic"),
            false => (config.boolean(&keys::AUTO_CREATE)?, config.boolean(&keys::AUTO_EVOLVE)?),
        };
        let zone = of(&keys::DBZ_ZONE, &keys::CFL_ZONE);
        if let Some(reason) = zone.check(config.text(zone).unwrap_or_default()) {
            return Err(config.invalid(zone, &reason));
        }
        let offsets = config.text(&keys::OFFSETS).unwrap_or_default().trim().to_owned();
        let settings = Self {
            naming: naming(config, dbz, &address)?,
            address,
            insert_mode: insert_mode(config)?,
            key_mode: key_mode(config, of(&keys::DBZ_KEY_MODE, &keys::CFL_KEY_MODE))?,
            key_fields: config.list(of(&keys::DBZ_KEY_FIELDS, &keys::CFL_KEY_FIELDS)),
            deletes: config.boolean(&keys::DELETE)?,
            truncates: config.boolean(&keys::TRUNCATE)?,
            creates,
            evolves,
            must_exist: dbz && evolution == "validate-only",
            fields: fields(config, dbz)?,
            batch_rows: usize::try_from(config.number(&keys::BATCH_SIZE)?).unwrap_or(1),
            batch_bytes: usize::try_from(config.number(&keys::BATCH_BYTES)?).unwrap_or(1),
            latency: config.millis(&keys::LATENCY)?,
            retries: u32::try_from(retries).unwrap_or(0),
            retry_pause: config.millis(of(&keys::DBZ_BACKOFF, &keys::CFL_BACKOFF))?,
            out_of_range: out_of_range(config)?,
            offsets: (!offsets.is_empty()).then_some(offsets),
            tolerant: config
                .get("errors.tolerance")
                .is_some_and(|word| word.trim().eq_ignore_ascii_case("all")),
        };
        settings.check(config, of(&keys::DBZ_KEY_MODE, &keys::CFL_KEY_MODE))?;
        Ok(settings)
    }

    /// What only together makes no sense.
    fn check(&self, config: &Config, mode: &Key) -> Result<()> {
        let keyless = self.key_mode == KeyMode::None;
        if keyless && self.insert_mode != InsertMode::Insert {
            return Err(config
                .invalid(
                    &keys::INSERT_MODE,
                    &format!("upsert and update need a key, but {} is none", mode.name),
                )
                .with_remedy(format!("set {} to record_key", mode.name)));
        }
        if self.deletes && (keyless || self.key_mode == KeyMode::Kafka) {
            return Err(config
                .invalid(
                    &keys::DELETE,
                    &format!("a delete finds its row by the key, but {} gives none", mode.name),
                )
                .with_remedy(format!("set {} to record_key", mode.name)));
        }
        if self.key_mode == KeyMode::RecordValue && self.key_fields.is_empty() {
            return Err(config
                .invalid(mode, "record_value needs the names of the key's fields")
                .with_remedy("name them in primary.key.fields or pk.fields"));
        }
        if self.key_mode == KeyMode::Kafka && !matches!(self.key_fields.len(), 0 | 3) {
            return Err(config
                .invalid(mode, "kafka takes three names: topic, partition and offset")
                .with_remedy("leave primary.key.fields or pk.fields empty"));
        }
        Ok(())
    }
}

fn insert_mode(config: &Config) -> Result<InsertMode> {
    Ok(match word(config, &keys::INSERT_MODE)?.as_str() {
        "upsert" => InsertMode::Upsert,
        "update" => InsertMode::Update,
        _ => InsertMode::Insert,
    })
}

fn key_mode(config: &Config, key: &Key) -> Result<KeyMode> {
    Ok(match word(config, key)?.as_str() {
        "kafka" => KeyMode::Kafka,
        "record_key" => KeyMode::RecordKey,
        "record_value" => KeyMode::RecordValue,
        "record_header" => {
            return Err(config
                .invalid(key, "record_header is not supported: sinks are not given headers")
                .with_remedy("use record_key or record_value"));
        }
        _ => KeyMode::None,
    })
}

fn out_of_range(config: &Config) -> Result<OutOfRange> {
    Ok(match word(config, &keys::OUT_OF_RANGE)?.as_str() {
        "null" => OutOfRange::Null,
        "clamp" => OutOfRange::Clamp,
        _ => OutOfRange::Reject,
    })
}

/// A word of a list, checked, in lower case.
fn word(config: &Config, key: &Key) -> Result<String> {
    let text = config.text(key).unwrap_or_default();
    match key.check(text) {
        Some(reason) => Err(config.invalid(key, &reason)),
        None => Ok(text.trim().to_ascii_lowercase()),
    }
}

fn naming(config: &Config, dbz: bool, address: &Address) -> Result<Naming> {
    let (format, dots, keep_case) = if dbz {
        let given = config.get(keys::DBZ_NAME.name).or(config.get(keys::DBZ_OLD_NAME.name));
        let strategy = config.text(&keys::DBZ_STRATEGY).unwrap_or_default();
        if let Some(reason) = keys::DBZ_STRATEGY.check(strategy) {
            return Err(config.invalid(&keys::DBZ_STRATEGY, &reason));
        }
        let passes = strategy.contains("Passthrough");
        (given.unwrap_or("${topic}"), passes, config.boolean(&keys::DBZ_QUOTE)?)
    } else {
        let format = config.required(&keys::CFL_NAME)?;
        (format, true, word(config, &keys::CFL_QUOTE)? == "always")
    };
    let name = if dbz { &keys::DBZ_NAME } else { &keys::CFL_NAME };
    Naming::new(format, dots, keep_case, address.dialect())
        .map_err(|reason| config.invalid(name, &reason))
}

fn fields(config: &Config, dbz: bool) -> Result<Fields> {
    if !dbz {
        return Ok(Fields { names: config.list(&keys::WHITELIST), ..Fields::default() });
    }
    let regexes = |key: &Key| -> Result<Vec<Regex>> {
        let full = |text: String| {
            Regex::new(&format!("(?i)^(?:{text})$")).map_err(|error| {
                Error::config(format!("\"{text}\" of \"{}\" is no regular expression", key.name))
                    .with_source(error)
            })
        };
        config.list(key).into_iter().map(full).collect()
    };
    let fields = Fields {
        include: regexes(&keys::INCLUDE)?,
        exclude: regexes(&keys::EXCLUDE)?,
        names: Vec::new(),
    };
    if !fields.include.is_empty() && !fields.exclude.is_empty() {
        return Err(config.invalid(&keys::EXCLUDE, "it cannot stand beside field.include.list"));
    }
    Ok(fields)
}
