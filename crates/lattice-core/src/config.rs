//! Configuration as data: a connector's keys are a table that drives parsing, validation,
//! `PUT …/config/validate`, the console's form and the generated reference pages.

mod issue;

use std::{collections::BTreeMap, fmt, time::Duration};

pub use issue::{ConfigIssue, Severity};

use crate::{
    error::{Error, Result},
    secret::{MASK, Secret},
};

/// Kafka Connect's `ConfigDef.Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// 16-bit integer.
    Short,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    Long,
    /// Floating point.
    Double,
    /// Comma-separated texts.
    List,
    /// A class name or its alias.
    Class,
    /// A secret: masked everywhere.
    Password,
}

impl KeyType {
    /// Kafka Connect's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Short => "SHORT",
            Self::Int => "INT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }
}

/// Kafka Connect's `ConfigDef.Importance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// Shown first.
    High,
    /// Shown.
    Medium,
    /// Shown on demand.
    Low,
}

impl Importance {
    /// Kafka Connect's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::Medium => "MEDIUM",
            Self::Low => "LOW",
        }
    }
}

/// What a value must satisfy beyond its type.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Anything of the type.
    Any,
    /// Not empty.
    NonEmpty,
    /// A number within (inclusive).
    Range(i64, i64),
    /// One of these words (compared without case).
    OneOf(&'static [&'static str]),
    /// A comma-separated list of regular expressions.
    RegexList,
    /// A function that says what is wrong.
    Check(fn(&str) -> Option<String>),
}

/// Whether a key has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does what it says.
    Used,
    /// Accepted so that existing configurations load; why it has no effect.
    Ignored(&'static str),
}

/// One configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, Debezium's or Kafka Connect's.
    pub name: &'static str,
    /// Its type.
    pub kind: KeyType,
    /// Its default, as text; `None`: no default.
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
    /// Its importance.
    pub importance: Importance,
    /// The form's group.
    pub group: &'static str,
    /// Its label in forms.
    pub label: &'static str,
    /// What it does, with unit and example.
    pub doc: &'static str,
    /// What values it takes.
    pub rule: Rule,
    /// Whether it has an effect.
    pub effect: Effect,
    /// How wide its field is in forms (`NONE`, `SHORT`, `MEDIUM`, `LONG`); `None`: as its type suggests.
    pub width: Option<&'static str>,
}

impl Key {
    /// A key with everything at its plainest; narrow it by the methods below, all `const`.
    #[must_use]
    pub const fn new(name: &'static str, kind: KeyType, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            default: None,
            required: false,
            importance: Importance::Medium,
            group: "Common",
            label: name,
            doc,
            rule: Rule::Any,
            effect: Effect::Used,
            width: None,
        }
    }

    /// With a default.
    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// It must be given; importance high.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self.importance = Importance::High;
        self
    }

    /// With an importance.
    #[must_use]
    pub const fn importance(mut self, importance: Importance) -> Self {
        self.importance = importance;
        self
    }

    /// In a group of the form.
    #[must_use]
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    /// With a label for forms.
    #[must_use]
    pub const fn label(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// With a width in forms.
    #[must_use]
    pub const fn width(mut self, width: &'static str) -> Self {
        self.width = Some(width);
        self
    }

    /// With a rule.
    #[must_use]
    pub const fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// Accepted without effect, and why.
    #[must_use]
    pub const fn ignored(mut self, why: &'static str) -> Self {
        self.effect = Effect::Ignored(why);
        self
    }

    /// What is wrong with `value` for this key, if anything.
    #[must_use]
    pub fn check(&self, value: &str) -> Option<String> {
        let trimmed = value.trim();
        if self.required && trimmed.is_empty() {
            return Some("a value is required".to_owned());
        }
        match self.kind {
            KeyType::Boolean => {
                if !trimmed.eq_ignore_ascii_case("true") && !trimmed.eq_ignore_ascii_case("false") {
                    return Some(format!("expected true or false, got \"{value}\""));
                }
            }
            KeyType::Short => return check_number(trimmed, self.rule, i64::from(i16::MAX)),
            KeyType::Int => return check_number(trimmed, self.rule, i64::from(i32::MAX)),
            KeyType::Long => return check_number(trimmed, self.rule, i64::MAX),
            KeyType::Double => {
                if trimmed.parse::<f64>().is_err() {
                    return Some(format!("expected a number, got \"{value}\""));
                }
            }
            KeyType::String | KeyType::List | KeyType::Class | KeyType::Password => {}
        }
        match self.rule {
            Rule::Any | Rule::Range(..) => None,
            Rule::NonEmpty => trimmed.is_empty().then(|| "must not be empty".to_owned()),
            Rule::OneOf(words) => (!words.iter().any(|word| word.eq_ignore_ascii_case(trimmed)))
                .then(|| format!("expected one of {}, got \"{value}\"", words.join(", "))),
            Rule::RegexList => split_list(value).find_map(|pattern| {
                regex::Regex::new(&pattern)
                    .err()
                    .map(|error| format!("\"{pattern}\" is not a regular expression: {error}"))
            }),
            Rule::Check(check) => check(value),
        }
    }
}

fn check_number(text: &str, rule: Rule, max: i64) -> Option<String> {
    let Ok(number) = text.parse::<i64>() else {
        return Some(format!("expected a whole number, got \"{text}\""));
    };
    let (low, high) = match rule {
        Rule::Range(low, high) => (low, high.min(max)),
        Rule::Any | Rule::NonEmpty | Rule::OneOf(_) | Rule::RegexList | Rule::Check(_) => {
            ((-max).saturating_sub(1), max)
        }
    };
    (number < low || number > high)
        .then(|| format!("expected a number from {low} to {high}, got {number}"))
}

/// Splits a comma-separated list as Kafka Connect does; a comma can be escaped by `\,`.
pub fn split_list(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut items = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                items.last_mut().expect("never empty: starts with one").push(',');
            }
            ',' => items.push(String::new()),
            _ => items.last_mut().expect("never empty: starts with one").push(char),
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty())
}

/// A raw configuration: Kafka Connect's flat map of texts.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Config(BTreeMap<String, String>);

impl Config {
    /// Wraps a map.
    #[must_use]
    pub fn new(values: BTreeMap<String, String>) -> Self {
        Self(values)
    }

    /// The given value, if it was given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All that was given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// The map itself.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// The given value, else the key's default.
    #[must_use]
    pub fn text<'a>(&'a self, key: &'a Key) -> Option<&'a str> {
        self.get(key.name).or(key.default)
    }

    /// The value; an empty or missing one is an error that names the key.
    pub fn required<'a>(&'a self, key: &'a Key) -> Result<&'a str> {
        match self.text(key) {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(Error::config(format!("missing required configuration \"{}\"", key.name))
                .with_remedy(format!("set \"{}\": {}", key.name, key.doc))),
        }
    }

    /// The value as a boolean.
    pub fn boolean(&self, key: &Key) -> Result<bool> {
        let text = self.text(key).unwrap_or("false").trim();
        match () {
            () if text.eq_ignore_ascii_case("true") => Ok(true),
            () if text.eq_ignore_ascii_case("false") => Ok(false),
            () => Err(self.invalid(key, "expected true or false")),
        }
    }

    /// The value as a number.
    pub fn number(&self, key: &Key) -> Result<i64> {
        let text = self.required(key)?;
        if let Some(reason) = key.check(text) {
            return Err(self.invalid(key, &reason));
        }
        text.trim().parse().map_err(|_| self.invalid(key, "expected a whole number"))
    }

    /// The value, in milliseconds, as a duration. Negative is zero.
    pub fn millis(&self, key: &Key) -> Result<Duration> {
        Ok(Duration::from_millis(u64::try_from(self.number(key)?).unwrap_or(0)))
    }

    /// The value as a list.
    #[must_use]
    pub fn list(&self, key: &Key) -> Vec<String> {
        self.text(key).map(|text| split_list(text).collect()).unwrap_or_default()
    }

    /// The value as a secret; empty when not given.
    #[must_use]
    pub fn secret(&self, key: &Key) -> Secret {
        Secret::new(self.text(key).unwrap_or_default())
    }

    /// An error that names key and reason. The value of a password key never stands in it.
    #[must_use]
    pub fn invalid(&self, key: &Key, reason: &str) -> Error {
        Error::config(format!("invalid value for configuration \"{}\": {reason}", key.name))
            .with_remedy(key.doc)
    }

    /// Checks every given value and every required key against `keys`, and warns of names that
    /// are in neither `keys` nor `known_prefixes`.
    #[must_use]
    pub fn check(&self, keys: &[&Key], known_prefixes: &[&str]) -> Vec<ConfigIssue> {
        let mut issues = Vec::new();
        for key in keys {
            match self.get(key.name) {
                Some(value) => {
                    if let Some(reason) = key.check(value) {
                        issues.push(ConfigIssue::error(key.name, reason).remedy(key.doc));
                    } else if let Effect::Ignored(why) = key.effect {
                        issues
                            .push(ConfigIssue::warning(key.name, format!("has no effect: {why}")));
                    }
                }
                None if key.required && key.default.is_none() => {
                    let message = format!(
                        "missing required configuration \"{}\" which has no default value",
                        key.name
                    );
                    issues.push(ConfigIssue::error(key.name, message).remedy(key.doc));
                }
                None => {}
            }
        }
        for name in self.0.keys() {
            let known = keys.iter().any(|key| key.name == name)
                || known_prefixes.iter().any(|prefix| name.starts_with(prefix));
            if !known {
                let issue = ConfigIssue::warning(name, "unknown configuration".to_owned());
                issues.push(match did_you_mean(name, keys.iter().map(|key| key.name)) {
                    Some(close) => issue.remedy(&format!("did you mean \"{close}\"?")),
                    None => issue.remedy("remove it, or check its spelling"),
                });
            }
        }
        issues
    }

    /// The same configuration with secrets masked: password keys of `keys`, and any name that
    /// looks like one.
    #[must_use]
    pub fn masked(&self, keys: &[&Key]) -> Self {
        let mask = |(name, value): (&String, &String)| {
            let secret = keys.iter().any(|key| key.name == name && key.kind == KeyType::Password)
                || looks_secret(name);
            let reference = value.starts_with("${") && value.ends_with('}');
            let shown = if secret && !reference { MASK.to_owned() } else { value.clone() };
            (name.clone(), shown)
        };
        Self(self.0.iter().map(mask).collect())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.masked(&[]).0.iter()).finish()
    }
}

/// Whether a key's name says that its value is a secret.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "secret", "token", "credential", "passphrase", "jaas", "user.info", "private.key"]
        .iter()
        .any(|word| name.contains(word))
}

/// The nearest of `candidates` to a mistyped `name`, if any is near.
#[must_use]
pub fn did_you_mean<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 4).clamp(1, 4);
    candidates
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let cost = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Key =
        Key::new("database.port", KeyType::Int, "port").rule(Rule::Range(1, 65535)).default("5432");
    const HOST: Key = Key::new("database.hostname", KeyType::String, "host").required();

    fn config(pairs: &[(&str, &str)]) -> Config {
        Config::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn a_mistyped_key_is_named_with_the_nearest_one() {
        let issues = config(&[("database.hostnme", "x"), ("database.hostname", "h")])
            .check(&[&HOST, &PORT], &[]);
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0].key, "database.hostnme");
        assert_eq!(issues[0].remedy.as_deref(), Some("did you mean \"database.hostname\"?"));
    }

    #[test]
    fn a_missing_required_key_and_a_value_out_of_range_are_errors() {
        let issues = config(&[("database.port", "70000")]).check(&[&HOST, &PORT], &[]);
        let errors: Vec<_> = issues.iter().map(|issue| issue.key.as_str()).collect();
        assert_eq!(errors, ["database.hostname", "database.port"]);
        assert!(issues[1].message.contains("from 1 to 65535"), "{}", issues[1].message);
    }

    #[test]
    fn secrets_are_masked_but_references_are_shown() {
        let config =
            config(&[("database.password", "hunter2"), ("x.token", "${env:T}"), ("a", "b")]);
        assert!(!format!("{config:?}").contains("hunter2"));
        assert_eq!(config.masked(&[]).get("x.token"), Some("${env:T}"));
    }

    #[test]
    fn an_escaped_comma_stays_in_its_item() {
        assert_eq!(split_list(r" a\,b , c,, ").collect::<Vec<_>>(), ["a,b", "c"]);
    }
}
