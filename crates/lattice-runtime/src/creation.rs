//! How a source's topics are made: `topic.creation.*`, as Kafka Connect has it (KIP-158).
//!
//! A topic is made as the first group says that takes its name; the group `default` takes every name.

use std::collections::BTreeMap;

use lattice_core::{
    config::{Config, ConfigIssue, split_list},
    error::{Error, Result},
};
use lattice_log::{CleanupPolicy, TopicConfig};
use regex::Regex;

use crate::validate::full_match;

const GROUPS: &str = "topic.creation.groups";
const ENABLE: &str = "topic.creation.enable";
const DEFAULT: &str = "default";

/// The groups of a connector.
pub(crate) struct Creation {
    /// In the order in which they are asked; the last takes everything.
    groups: Vec<Group>,
    enabled: bool,
}

struct Group {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    config: TopicConfig,
}

impl Creation {
    /// `worker`: how topics are made that no key speaks of; `settings`: the worker's.
    ///
    /// Errors: `Config`, naming the key.
    pub(crate) fn from_config(
        config: &Config,
        worker: &TopicConfig,
        settings: &Config,
    ) -> Result<Self> {
        let default = topic_of(config, DEFAULT, worker.clone(), worker)?;
        let mut groups = Vec::new();
        for name in names(config) {
            // Only these two are the default group's where a group does not say them.
            let base = TopicConfig {
                partitions: default.partitions,
                replication_factor: default.replication_factor,
                ..worker.clone()
            };
            let include = patterns(config, &name, "include")?;
            if include.is_empty() {
                let key = format!("topic.creation.{name}.include");
                return Err(Error::config(format!(
                    "Missing required configuration \"{key}\" which has no default value."
                ))
                .with_remedy(format!("set \"{key}\" to the names of the group's topics")));
            }
            let exclude = patterns(config, &name, "exclude")?;
            groups.push(Group { include, exclude, config: topic_of(config, &name, base, worker)? });
        }
        groups.push(Group { include: Vec::new(), exclude: Vec::new(), config: default });
        let enabled = settings.get(ENABLE).is_none_or(|word| word.trim() != "false");
        Ok(Self { groups, enabled })
    }

    /// How a topic is made.
    pub(crate) fn of(&self, topic: &str) -> TopicConfig {
        let takes = |group: &&Group| {
            let any = |patterns: &[Regex]| patterns.iter().any(|one| one.is_match(topic));
            (group.include.is_empty() || any(&group.include)) && !any(&group.exclude)
        };
        let group = self.groups.iter().find(takes).or(self.groups.last());
        group.map(|group| group.config.clone()).unwrap_or_default()
    }

    /// Errors: `Config` when topics are not to be made by connectors.
    pub(crate) fn allowed(&self, topic: &str) -> Result<()> {
        if self.enabled {
            return Ok(());
        }
        Err(Error::config(format!(
            "topic {topic} is not there, and the worker makes none (\"{ENABLE}=false\")"
        ))
        .with_remedy("create it, or let the worker: topic.creation.enable=true"))
    }
}

/// What is wrong with the groups.
pub(crate) fn check(config: &Config) -> Option<ConfigIssue> {
    let names = names(config);
    let twice = (1..names.len()).find(|place| names[..*place].contains(&names[*place]));
    if let Some(place) = twice {
        let message = format!("group \"{}\" is given twice", names[place]);
        return Some(ConfigIssue::error(GROUPS, message).remedy("name each once"));
    }
    let worker = TopicConfig::default();
    let error = Creation::from_config(config, &worker, &Config::default()).err()?;
    let message = error.to_string();
    let key = message.split('"').nth(1).unwrap_or(GROUPS).to_owned();
    let issue = ConfigIssue::error(key, message);
    Some(match error.remedy() {
        Some(remedy) => issue.remedy(remedy),
        None => issue,
    })
}

fn names(config: &Config) -> Vec<String> {
    let named = config.get(GROUPS).unwrap_or_default();
    split_list(named).filter(|name| name != DEFAULT).collect()
}

fn patterns(config: &Config, group: &str, which: &str) -> Result<Vec<Regex>> {
    let key = format!("topic.creation.{group}.{which}");
    let patterns = split_list(config.get(&key).unwrap_or_default());
    patterns
        .map(|pattern| {
            full_match(&pattern).map_err(|error| {
                Error::config(format!("\"{key}\": \"{pattern}\" is not a regular expression"))
                    .with_source(error)
            })
        })
        .collect()
}

/// What a group's keys say, over `base`. Numbers of -1 stand for the worker's.
fn topic_of(
    config: &Config,
    group: &str,
    base: TopicConfig,
    worker: &TopicConfig,
) -> Result<TopicConfig> {
    let mut topic = base;
    let prefix = format!("topic.creation.{group}.");
    let keys = config.iter().filter_map(|(key, value)| {
        key.strip_prefix(&prefix).map(|name| (name.to_owned(), value.trim().to_owned()))
    });
    let mut others: BTreeMap<String, String> = keys.collect();
    others.retain(|name, _| name != "include" && name != "exclude");
    let mut number = |name: &str| {
        let Some(text) = others.remove(name) else { return Ok(None) };
        text.parse::<i64>().map(Some).map_err(|error| {
            Error::config(format!("\"{prefix}{name}\" is \"{text}\", not a number"))
                .with_source(error)
        })
    };
    let wrong = |name: &str, value: i64| {
        Error::config(format!("\"{prefix}{name}\" is {value}"))
            .with_remedy("give a number above 0, or -1 for the default")
    };
    match number("partitions")? {
        None => {}
        Some(-1) => topic.partitions = worker.partitions,
        Some(value) => {
            let count = i32::try_from(value).ok().filter(|count| *count > 0);
            topic.partitions = count.ok_or_else(|| wrong("partitions", value))?;
        }
    }
    match number("replication.factor")? {
        None => {}
        Some(-1) => topic.replication_factor = None,
        Some(value) => {
            let count = i16::try_from(value).ok().filter(|count| *count > 0);
            topic.replication_factor =
                Some(count.ok_or_else(|| wrong("replication.factor", value))?);
        }
    }
    let limit = |limit: i64| (limit >= 0).then_some(limit);
    if let Some(value) = number("retention.ms")? {
        topic.retention_ms = limit(value);
    }
    if let Some(value) = number("retention.bytes")? {
        topic.retention_bytes = limit(value);
    }
    match others.get("cleanup.policy").map(String::as_str) {
        Some("compact") => topic.cleanup_policy = CleanupPolicy::Compact,
        Some("delete") => topic.cleanup_policy = CleanupPolicy::Delete,
        // Both at once only Kafka knows.
        Some(_) | None => {}
    }
    if matches!(others.get("cleanup.policy").map(String::as_str), Some("compact" | "delete")) {
        others.remove("cleanup.policy");
    }
    topic.other.extend(others);
    Ok(topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creation(pairs: &[(&str, &str)]) -> Result<Creation> {
        let map = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Creation::from_config(
            &Config::new(map.collect()),
            &TopicConfig::default(),
            &Config::default(),
        )
    }

    #[test]
    fn the_first_group_that_takes_a_name_says_how_its_topic_is_made() {
        let creation = creation(&[
            ("topic.creation.groups", "compacted, wide"),
            ("topic.creation.default.partitions", "3"),
            ("topic.creation.default.replication.factor", "2"),
            ("topic.creation.default.retention.ms", "1000"),
            ("topic.creation.compacted.include", r"shop\..*, other"),
            ("topic.creation.compacted.exclude", r".*\.logs"),
            ("topic.creation.compacted.cleanup.policy", "compact"),
            ("topic.creation.compacted.compression.type", "producer"),
            ("topic.creation.wide.include", "shop.*"),
            ("topic.creation.wide.partitions", "12"),
        ])
        .unwrap();
        let compacted = creation.of("shop.orders");
        assert_eq!(compacted.cleanup_policy, CleanupPolicy::Compact);
        assert_eq!((compacted.partitions, compacted.replication_factor), (3, Some(2)));
        assert_eq!(compacted.other["compression.type"], "producer");
        assert_eq!(compacted.retention_ms, TopicConfig::default().retention_ms);
        assert_eq!(creation.of("shop.logs").partitions, 12);
        let default = creation.of("elsewhere");
        assert_eq!((default.partitions, default.retention_ms), (3, Some(1000)));
        // A pattern is for the whole name.
        assert_eq!(creation.of("another").partitions, 3);
        assert_eq!(creation.of("another").cleanup_policy, CleanupPolicy::Delete);
    }

    #[test]
    fn wrong_groups_are_refused_by_key() {
        for (pairs, key) in [
            (vec![("topic.creation.groups", "a")], "topic.creation.a.include"),
            (
                vec![("topic.creation.groups", "a"), ("topic.creation.a.include", "(")],
                "topic.creation.a.include",
            ),
            (vec![("topic.creation.default.partitions", "0")], "topic.creation.default.partitions"),
            (
                vec![("topic.creation.default.retention.ms", "long")],
                "topic.creation.default.retention.ms",
            ),
        ] {
            let map = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            assert_eq!(check(&Config::new(map.collect())).unwrap().key, key);
        }
    }

    #[test]
    fn a_worker_may_forbid_topics() {
        let settings =
            Config::new([("topic.creation.enable".to_owned(), "false".to_owned())].into());
        let none = Config::default();
        let creation = Creation::from_config(&none, &TopicConfig::default(), &settings).unwrap();
        assert!(creation.allowed("t").unwrap_err().remedy().is_some());
    }
}
