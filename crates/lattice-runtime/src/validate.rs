//! Checks configurations: keys by their tables, then the connector's own checks.

use lattice_codec::{DecoderOptions, EncoderOptions};
use lattice_core::{
    config::{Config, ConfigIssue, Key, KeyType, Severity, looks_secret, split_list},
    connector::Direction,
};

use crate::{
    creation, exactly_once, keys,
    model::{ConfigInfo, ConfigValue, Definition, Validation},
    overrides,
    plugins::Plugin,
    worker::Shared,
};

/// What Kafka Connect shows in place of a password.
const HIDDEN: &str = "[hidden]";

/// All keys of a plugin: the worker's own first, then the converters', then the connector's. A
/// key that the connector defines itself is left to it.
pub(crate) fn keys_of(plugin: &Plugin) -> Vec<&'static Key> {
    let descriptor = plugin.descriptor();
    let own: Vec<&'static Key> = descriptor.keys().collect();
    let of_direction = match descriptor.direction {
        Direction::Source => keys::SOURCE,
        Direction::Sink => keys::SINK,
    };
    let mut all: Vec<&'static Key> = Vec::new();
    for key in keys::COMMON.iter().chain(of_direction).chain(lattice_codec::keys()) {
        let known = own.iter().chain(&all).any(|other| other.name == key.name);
        if !known {
            all.push(key);
        }
    }
    all.extend(own);
    all
}

/// Everything that is wrong with a configuration. `resolved` has its references replaced.
pub(crate) async fn check(plugin: &Plugin, raw: &Config, shared: &Shared) -> Vec<ConfigIssue> {
    let (resolved, mut issues) = shared.providers.resolve_all(raw);
    let mut prefixes = keys::PREFIXES.to_vec();
    prefixes.extend(plugin.descriptor().prefixes);
    issues.extend(resolved.check(&keys_of(plugin), &prefixes));
    issues.extend(check_transforms(plugin, &resolved));
    if let Plugin::Sink(_) = plugin {
        issues.extend(check_topics(&resolved));
    }
    issues.extend(exactly_once::check(plugin, &resolved, shared));
    issues.extend(overrides::check(&resolved, shared));
    if let Plugin::Source(_) = plugin {
        issues.extend(creation::check(&resolved));
    }
    if !has_error(&issues) {
        issues.extend(check_converters(plugin, &shared.with_worker_defaults(resolved.clone())));
    }
    if !has_error(&issues) {
        issues.extend(match plugin {
            Plugin::Source(source) => source.validate(&resolved).await,
            Plugin::Sink(sink) => sink.validate(&resolved).await,
        });
    }
    issues
}

/// Whether any issue is an error.
pub(crate) fn has_error(issues: &[ConfigIssue]) -> bool {
    issues.iter().any(|issue| issue.severity == Severity::Error)
}

/// What the codec says beyond its keys' own rules: unknown converters, options that contradict.
fn check_converters(plugin: &Plugin, config: &Config) -> Option<ConfigIssue> {
    let name = config.get("name").unwrap_or_default();
    let read = match plugin {
        Plugin::Source(_) => EncoderOptions::from_config(name, 0, config).map(drop),
        Plugin::Sink(_) => DecoderOptions::from_config(config).map(drop),
    };
    let error = read.err()?;
    let message = error.to_string();
    // The message names its key in quotes.
    let key = message.split('"').skip(1).step_by(2).find(|key| config.get(key).is_some());
    let issue = ConfigIssue::error(key.unwrap_or_default(), &message);
    Some(match error.remedy() {
        Some(remedy) => issue.remedy(remedy),
        None => issue,
    })
}

/// `topics` or `topics.regex`, never both; the dead letter topic is none of them.
fn check_topics(config: &Config) -> Vec<ConfigIssue> {
    let topics = config.list(&keys::TOPICS);
    let regex = config.text(&keys::TOPICS_REGEX).unwrap_or_default().trim();
    let mut issues = Vec::new();
    match (topics.is_empty(), regex.is_empty()) {
        (true, true) => issues.extend(["topics", "topics.regex"].map(|key| {
            ConfigIssue::error(key, "must configure one of topics or topics.regex")
                .remedy("set \"topics\" to the topics to read")
        })),
        (false, false) => issues.extend(["topics", "topics.regex"].map(|key| {
            ConfigIssue::error(key, "topics and topics.regex are mutually exclusive")
                .remedy("remove one of them")
        })),
        _ => {}
    }
    let pattern = match full_match(regex) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            issues.push(ConfigIssue::error(
                "topics.regex",
                format!("\"{regex}\" is not a regular expression: {error}"),
            ));
            None
        }
    };
    let dead = config.text(&keys::DEAD_LETTER_TOPIC).unwrap_or_default().trim();
    let matches = !regex.is_empty() && pattern.is_some_and(|pattern| pattern.is_match(dead));
    if !dead.is_empty() && (topics.iter().any(|topic| topic == dead) || matches) {
        let message = format!("the dead letter topic {dead} is one of the topics to read");
        let issue = ConfigIssue::error(if matches { "topics.regex" } else { "topics" }, message);
        issues.push(issue.remedy("name another \"errors.deadletterqueue.topic.name\""));
    }
    issues
}

/// A pattern that must match the whole name, as Java's `matches`.
pub(crate) fn full_match(pattern: &str) -> Result<regex::Regex, regex::Error> {
    regex::Regex::new(&format!("^(?:{pattern})$"))
}

fn check_transforms(plugin: &Plugin, config: &Config) -> Vec<ConfigIssue> {
    let mut issues = lattice_transform::check(config);
    if matches!(plugin, Plugin::Sink(_)) && lattice_transform::is_plain_unwrap(config) {
        let message = "has no effect: the sink reads envelopes itself";
        issues.push(ConfigIssue::warning(keys::TRANSFORMS.name, message));
    }
    issues
}

/// The keys of transformations and predicates, as they stand in the configuration.
fn placed_definitions(config: &Config) -> Vec<Definition> {
    let of_alias = |placed: lattice_transform::Placed| {
        let what = if placed.predicate { "Predicates" } else { "Transforms" };
        let group = format!("{what}: {}", placed.alias);
        let mut definitions = definitions(&placed.keys);
        for (order, definition) in (1..).zip(&mut definitions) {
            definition.name.insert_str(0, &placed.prefix);
            definition.group.clone_from(&group);
            definition.order_in_group = order;
        }
        definitions
    };
    lattice_transform::placed_keys(config).into_iter().flat_map(of_alias).collect()
}

/// The answer of `PUT …/config/validate`.
pub(crate) async fn validate(
    plugin: &Plugin,
    raw: &Config,
    nulls: &[String],
    shared: &Shared,
) -> Validation {
    let mut issues = check(plugin, raw, shared).await;
    let null = "Null value can not be supplied as the configuration value.";
    issues.extend(nulls.iter().map(|key| ConfigIssue::error(key, null).remedy("leave it out")));
    let keys = keys_of(plugin);
    let placed = placed_definitions(raw);
    let mut configs = Vec::new();
    for issue in &issues {
        let defined = keys.iter().any(|key| key.name == issue.key)
            || placed.iter().any(|definition| definition.name == issue.key);
        let listed = configs.iter().any(|info: &ConfigInfo| info.value.name == issue.key);
        if !defined && !listed {
            configs.push(ConfigInfo {
                definition: None,
                value: value_of(&issue.key, raw.get(&issue.key), &issues),
            });
        }
    }
    for definition in definitions(&keys) {
        let key = keys.iter().find(|key| key.name == definition.name);
        let given = raw.get(&definition.name).or(key.and_then(|key| key.default));
        let secret = definition.kind == KeyType::Password.as_str();
        let shown = if secret && given.is_some() { Some(HIDDEN) } else { given };
        let mut value = value_of(&definition.name, shown, &issues);
        value.recommended_values = key.map(|key| recommended(key)).unwrap_or_default();
        configs.push(ConfigInfo { definition: Some(definition), value });
    }
    for definition in placed {
        let given = raw.get(&definition.name).or(definition.default_value.as_deref());
        let value = value_of(&definition.name, given, &issues);
        configs.push(ConfigInfo { definition: Some(definition), value });
    }
    let mut groups: Vec<String> = Vec::new();
    for definition in configs.iter().filter_map(|info| info.definition.as_ref()) {
        if !groups.contains(&definition.group) {
            groups.push(definition.group.clone());
        }
    }
    Validation {
        name: raw.get("connector.class").unwrap_or_default().to_owned(),
        error_count: configs.iter().map(|info| info.value.errors.len()).sum(),
        groups,
        configs,
    }
}

fn value_of(name: &str, value: Option<&str>, issues: &[ConfigIssue]) -> ConfigValue {
    let texts = |severity| {
        issues
            .iter()
            .filter(move |issue| issue.key == name && issue.severity == severity)
            .map(|issue| match &issue.remedy {
                Some(remedy) => format!("{} (remedy: {remedy})", issue.message),
                None => issue.message.clone(),
            })
            .collect()
    };
    let hidden = value.is_some() && looks_secret(name);
    ConfigValue {
        name: name.to_owned(),
        value: if hidden { Some(HIDDEN.to_owned()) } else { value.map(str::to_owned) },
        recommended_values: Vec::new(),
        errors: texts(Severity::Error),
        warnings: texts(Severity::Warning),
        visible: true,
    }
}

fn recommended(key: &Key) -> Vec<String> {
    use lattice_core::config::Rule;
    let converters = lattice_codec::converters().iter();
    let classes = |headers: bool| {
        let fits = move |one: &&lattice_codec::ConverterClass| {
            if headers { one.headers } else { one.records }
        };
        converters.filter(fits).map(|one| one.class.to_owned()).collect()
    };
    match key.name {
        "key.converter" | "value.converter" => return classes(false),
        "header.converter" => return classes(true),
        _ => {}
    }
    match key.rule {
        Rule::OneOf(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Rule::Any | Rule::NonEmpty | Rule::Range(..) | Rule::RegexList | Rule::Check(_) => {
            match key.kind {
                KeyType::Boolean => vec!["true".to_owned(), "false".to_owned()],
                KeyType::String
                | KeyType::Short
                | KeyType::Int
                | KeyType::Long
                | KeyType::Double
                | KeyType::List
                | KeyType::Class
                | KeyType::Password => Vec::new(),
            }
        }
    }
}

/// Keys as Kafka Connect describes them; the order restarts in each group.
pub(crate) fn definitions(keys: &[&'static Key]) -> Vec<Definition> {
    let mut orders = std::collections::HashMap::new();
    keys.iter()
        .map(|key| {
            let order = orders.entry(key.group).or_insert(0);
            *order += 1;
            definition(key, *order)
        })
        .collect()
}

fn definition(key: &Key, order_in_group: u32) -> Definition {
    use lattice_core::config::Effect;
    let width = match key.kind {
        KeyType::Boolean | KeyType::Short | KeyType::Int | KeyType::Long | KeyType::Double => {
            "SHORT"
        }
        KeyType::String | KeyType::Password => "MEDIUM",
        KeyType::List | KeyType::Class => "LONG",
    };
    let width = key.width.unwrap_or(width);
    Definition {
        name: key.name.to_owned(),
        kind: key.kind.as_str(),
        required: key.required && key.default.is_none(),
        default_value: key.default.map(str::to_owned),
        importance: key.importance.as_str(),
        documentation: key.doc.to_owned(),
        group: key.group.to_owned(),
        order_in_group,
        width,
        display_name: key.label.to_owned(),
        dependents: Vec::new(),
        ignored: match key.effect {
            Effect::Used => None,
            Effect::Ignored(why) => Some(why),
        },
    }
}

/// The topics that a sink's configuration names, if it names them one by one.
pub(crate) fn named_topics(config: &Config) -> Vec<String> {
    config.text(&keys::TOPICS).map(|text| split_list(text).collect()).unwrap_or_default()
}
