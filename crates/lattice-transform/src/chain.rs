//! The transformations of one connector, in order, each with its condition.

use lattice_core::{
    config::{Config, ConfigIssue, Importance, Key, KeyType, Severity, split_list},
    error::{Error, Result},
};

use crate::{
    Predicate, Record, Transform,
    catalog::{PredicateClass, TransformClass, find_predicate, find_transform},
    settings::Settings,
};

const TRANSFORMS: &str = "transforms";
const PREDICATES: &str = "predicates";

const TYPE: Key = Key::new("type", KeyType::Class, "The class.").required();
const PREDICATE: Key = Key::new(
    "predicate",
    KeyType::String,
    "The alias of a predicate: only records for which it holds are treated.",
)
.default("");
const NEGATE: Key = Key::new(
    "negate",
    KeyType::Boolean,
    "Whether the records for which the predicate does not hold are treated instead.",
)
.default("false");
const VERSION: Key = Key::new("plugin.version", KeyType::String, "The class's version.")
    .importance(Importance::Low)
    .ignored("there is one version of each class");

/// Deletes in `rewrite` modes and the like: the class whose plain use a sink may leave out.
const UNWRAP: &str = "io.debezium.transforms.ExtractNewRecordState";

/// The transformations of one connector.
#[derive(Default)]
pub struct Chain {
    steps: Vec<Step>,
}

struct Step {
    alias: String,
    class: &'static str,
    transform: Box<dyn Transform>,
    /// The predicate, and whether it is negated.
    condition: Option<(Box<dyn Predicate>, bool)>,
}

/// A record that a transformation cannot treat.
#[derive(Debug)]
pub struct TransformError {
    /// The transformation's class.
    pub class: &'static str,
    /// Why, with the transformation's alias.
    pub error: Error,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.steps.iter().map(|step| step.class)).finish()
    }
}

/// The keys of one alias.
#[derive(Debug)]
pub struct Placed {
    /// The alias.
    pub alias: String,
    /// What stands before its keys: `transforms.<alias>.`.
    pub prefix: String,
    /// Whether it is a predicate.
    pub predicate: bool,
    /// Its keys, without the prefix; of an unknown class only the common ones.
    pub keys: Vec<&'static Key>,
}

impl Chain {
    /// Compiles what `transforms` and `predicates` name.
    ///
    /// Errors: `Config`, naming transformation and key.
    pub fn from_config(config: &Config) -> Result<Self> {
        let mut steps = Vec::new();
        for alias in aliases(config, TRANSFORMS)? {
            steps.push(step(config, alias)?);
        }
        Ok(Self { steps })
    }

    /// Whether there are no transformations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Gives the record back changed; `None`: it is dropped.
    ///
    /// Errors: the first transformation that cannot treat it.
    pub fn apply(&mut self, record: Record) -> Result<Option<Record>, TransformError> {
        let mut record = record;
        for step in &mut self.steps {
            if let Some((predicate, negate)) = &step.condition
                && predicate.holds(&record) == *negate
            {
                continue;
            }
            match step.transform.apply(record) {
                Ok(Some(changed)) => record = changed,
                Ok(None) => return Ok(None),
                Err(error) => {
                    return Err(TransformError { class: step.class, error: named(step, &error) });
                }
            }
        }
        Ok(Some(record))
    }
}

/// Whether a sink that reads envelopes itself may leave these transformations out: nothing but
/// ExtractNewRecordState without any options.
#[must_use]
pub fn is_plain_unwrap(config: &Config) -> bool {
    let plain = |alias: &String| {
        let settings = Settings::below(config, format!("{TRANSFORMS}.{alias}."));
        settings.config.iter().all(|(name, value)| name == TYPE.name && value.trim() == UNWRAP)
            && settings.config.get(TYPE.name).is_some()
    };
    let listed: Vec<String> =
        config.get(TRANSFORMS).map(|text| split_list(text).collect()).unwrap_or_default();
    !listed.is_empty() && listed.iter().all(plain)
}

/// Everything that is wrong with a configuration's transformations and predicates.
#[must_use]
pub fn check(config: &Config) -> Vec<ConfigIssue> {
    let mut issues = Vec::new();
    for word in [TRANSFORMS, PREDICATES] {
        if let Err(error) = aliases(config, word) {
            issues.push(ConfigIssue::of(word, &error));
        }
    }
    for placed in placed_keys(config) {
        let settings = Settings::below(config, placed.prefix.clone());
        let mut found = settings.config.check(&placed.keys, &[]);
        for issue in &mut found {
            issue.key.insert_str(0, &placed.prefix);
        }
        let sound = !found.iter().any(|issue| issue.severity == Severity::Error);
        issues.extend(found);
        let made = match placed.predicate {
            _ if !sound => Ok(()),
            true => predicate(config, &placed.alias).map(drop),
            false => step(config, placed.alias.clone()).map(drop),
        };
        if let Err(error) = made {
            let message = error.to_string();
            let quoted = message.split('"').nth(1).filter(|key| key.starts_with(&placed.prefix));
            let key = quoted.map_or_else(|| format!("{}type", placed.prefix), str::to_owned);
            issues.push(ConfigIssue::of(key, &error));
        }
    }
    issues
}

/// The keys of all aliases of a configuration, for forms and validation.
#[must_use]
pub fn placed_keys(config: &Config) -> Vec<Placed> {
    let mut all = Vec::new();
    for (word, predicate) in [(TRANSFORMS, false), (PREDICATES, true)] {
        for alias in aliases(config, word).unwrap_or_default() {
            let prefix = format!("{word}.{alias}.");
            let class = config.get(&format!("{prefix}type")).unwrap_or_default();
            let mut keys: Vec<&'static Key> = vec![&TYPE, &VERSION];
            let own = if predicate {
                find_predicate(class).map(|found| found.keys)
            } else {
                keys.extend([&PREDICATE, &NEGATE]);
                find_transform(class).map(|found| found.keys)
            };
            keys.extend(own.unwrap_or_default());
            all.push(Placed { alias, prefix, predicate, keys });
        }
    }
    all
}

/// The aliases that `transforms` or `predicates` lists.
fn aliases(config: &Config, word: &str) -> Result<Vec<String>> {
    let aliases: Vec<String> =
        config.get(word).map(|text| split_list(text).collect()).unwrap_or_default();
    let twice = (1..aliases.len()).find(|place| aliases[..*place].contains(&aliases[*place]));
    match twice {
        Some(place) => Err(Error::config(format!(
            "Duplicate alias provided: alias \"{}\" is given twice",
            aliases[place]
        ))
        .with_remedy(format!("name each once in \"{word}\""))),
        None => Ok(aliases),
    }
}

fn no_type(settings: &Settings, what: &str, alias: &str) -> Error {
    Error::config(format!("\"{}type\" is missing: {what} \"{alias}\" has no type", settings.prefix))
        .with_remedy(format!("set \"{}type\" to a class", settings.prefix))
}

fn step(config: &Config, alias: String) -> Result<Step> {
    let settings = Settings::below(config, format!("{TRANSFORMS}.{alias}."));
    let Some(class) = settings.given(&TYPE) else {
        return Err(no_type(&settings, "transformation", &alias));
    };
    let found: &TransformClass = find_transform(class)?;
    settings.check(found.keys)?;
    settings.check(&[PREDICATE, NEGATE])?;
    let transform = (found.make)(&settings, found.side)?;
    let condition = match settings.given(&PREDICATE) {
        Some(predicate_alias) => {
            Some((wanted(config, &settings, predicate_alias)?, settings.flag(&NEGATE)))
        }
        None if settings.config.get(NEGATE.name).is_some() => {
            return Err(settings.invalid(
                NEGATE.name,
                "there is no \"predicate\" to negate",
                "set \"predicate\", or remove \"negate\"",
            ));
        }
        None => None,
    };
    Ok(Step { alias, class: found.class, transform, condition })
}

fn wanted(config: &Config, settings: &Settings, alias: &str) -> Result<Box<dyn Predicate>> {
    if !aliases(config, PREDICATES)?.iter().any(|known| known == alias) {
        let reason = format!("there is no predicate \"{alias}\"");
        let remedy = format!("add \"{alias}\" to \"{PREDICATES}\"");
        return Err(settings.invalid(PREDICATE.name, &reason, &remedy));
    }
    predicate(config, alias)
}

fn predicate(config: &Config, alias: &str) -> Result<Box<dyn Predicate>> {
    let settings = Settings::below(config, format!("{PREDICATES}.{alias}."));
    let Some(class) = settings.given(&TYPE) else {
        return Err(no_type(&settings, "predicate", alias));
    };
    let found: &PredicateClass = find_predicate(class)?;
    settings.check(found.keys)?;
    (found.make)(&settings)
}

fn named(step: &Step, error: &Error) -> Error {
    let class = step.class.rsplit('.').next().unwrap_or(step.class);
    let message = format!("transformation \"{}\" ({class}): {error}", step.alias);
    let named = Error::new(error.kind(), message);
    match error.remedy() {
        Some(remedy) => named.with_remedy(remedy),
        None => named,
    }
}
