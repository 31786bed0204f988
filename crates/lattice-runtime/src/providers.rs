//! Config providers: `${env:X}`, `${file:path:key}`, `${directory:dir:file}`.
//!
//! References are resolved late, when a configuration is validated or a task starts; what is
//! stored and shown keeps the reference.
//!
//! Source: Kafka's `ConfigTransformer`, `EnvVarConfigProvider`, `FileConfigProvider`,
//! `DirectoryConfigProvider`.

use std::{path::Path, sync::Arc};

use lattice_core::{
    config::{Config, ConfigIssue},
    error::{Error, Result},
};

/// Reads an environment variable; the binary gives it, since only the binary reads the
/// environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Resolves references.
#[derive(Clone)]
pub(crate) struct Providers {
    environment: Environment,
}

impl Providers {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment }
    }

    /// The configuration with every reference replaced.
    ///
    /// Errors: `Config`, naming key and reference, for the first that cannot be read.
    pub(crate) fn resolve(&self, config: &Config) -> Result<Config> {
        let (resolved, issues) = self.resolve_all(config);
        match issues.into_iter().next() {
            Some(issue) => Err(Error::config(format!(
                "invalid value for configuration \"{}\": {}",
                issue.key, issue.message
            ))
            .with_remedy(issue.remedy.unwrap_or_default())),
            None => Ok(resolved),
        }
    }

    /// The configuration with every reference replaced that can be, and what cannot.
    pub(crate) fn resolve_all(&self, config: &Config) -> (Config, Vec<ConfigIssue>) {
        let mut resolved = Config::default();
        let mut issues = Vec::new();
        for (name, value) in config.iter() {
            match self.resolve_value(value) {
                Ok(value) => resolved.set(name, value),
                Err((message, remedy)) => {
                    issues.push(ConfigIssue::error(name, message).remedy(&remedy));
                    resolved.set(name, value);
                }
            }
        }
        (resolved, issues)
    }

    fn resolve_value(&self, value: &str) -> Result<String, (String, String)> {
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some((before, reference, after)) = next_reference(rest) {
            out.push_str(before);
            match self.look_up(reference) {
                Some(found) => out.push_str(&found?),
                None => {
                    // An unknown provider's reference is an ordinary text, as for Kafka.
                    out.push_str("${");
                    out.push_str(reference);
                    out.push('}');
                }
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// `None`: no such provider.
    fn look_up(&self, reference: &str) -> Option<Result<String, (String, String)>> {
        let (provider, rest) = reference.split_once(':')?;
        let (path, key) = rest.split_once(':').unwrap_or(("", rest));
        match provider {
            "env" => Some((self.environment)(key).ok_or_else(|| {
                (
                    format!("environment variable {key} is not set"),
                    format!("set {key} in the environment of the worker"),
                )
            })),
            "file" => Some(read(path).and_then(|text| {
                property(&text, key).ok_or_else(|| {
                    (format!("file {path} has no key {key}"), format!("add \"{key}=…\" to {path}"))
                })
            })),
            "directory" => Some(read(&Path::new(path).join(key).to_string_lossy())),
            _ => None,
        }
    }
}

/// The first `${…}` of a text: before, inside, after.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("${")?;
    let end = start + text[start..].find('}')?;
    Some((&text[..start], &text[start + 2..end], &text[end + 1..]))
}

/// Whether a value refers to a provider.
pub(crate) fn has_reference(value: &str) -> bool {
    next_reference(value).is_some_and(|(_, inside, _)| inside.contains(':'))
}

/// Task configurations as they are stored and shown: references put back in place of what they
/// resolved to.
pub(crate) fn with_references(resolved: &Config, raw: &Config) -> Config {
    let mut shown = resolved.clone();
    for (name, value) in raw.iter() {
        if has_reference(value) && resolved.get(name).is_some() {
            shown.set(name, value);
        }
    }
    shown
}

fn read(path: &str) -> Result<String, (String, String)> {
    std::fs::read_to_string(path).map_err(|error| {
        (
            format!("read {path}: {error}"),
            format!("make {path} readable for the worker, as UTF-8 text"),
        )
    })
}

/// A key of a Java properties text.
fn property(text: &str, wanted: &str) -> Option<String> {
    let mut found = None;
    for line in logical_lines(text) {
        let (key, value) = split_property(&line);
        if key == wanted {
            found = Some(value);
        }
    }
    found
}

/// Joins lines that end in an odd number of backslashes; drops comments and blank lines.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        if open.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let mut whole = open.take().unwrap_or_default();
        let backslashes = line.chars().rev().take_while(|char| *char == '\\').count();
        if backslashes % 2 == 1 {
            whole.push_str(&line[..line.len() - 1]);
            open = Some(whole);
        } else {
            whole.push_str(line);
            lines.push(whole);
        }
    }
    lines.extend(open);
    lines
}

fn split_property(line: &str) -> (String, String) {
    let mut chars = line.char_indices();
    let mut end = line.len();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if matches!(char, '=' | ':') || char.is_whitespace() {
            end = at;
            break;
        }
    }
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    (unescape(&line[..end]), unescape(rest))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let code: String = chars.by_ref().take(4).collect();
                let char = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                out.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn providers() -> Providers {
        Providers::new(Arc::new(|name| (name == "PASSWORD").then(|| "s3:cret}".to_owned())))
    }

    fn resolve(value: &str) -> Result<String, String> {
        providers().resolve_value(value).map_err(|(message, _)| message)
    }

    #[test]
    fn references_are_replaced_and_other_texts_stay() {
        assert_eq!(resolve("a${env:PASSWORD}b${env::PASSWORD}").unwrap(), "as3:cret}bs3:cret}");
        assert_eq!(resolve("${topic}-${vault:x}").unwrap(), "${topic}-${vault:x}");
        assert_eq!(resolve("$${ {").unwrap(), "$${ {");
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(resolve("${env:NOPE}").unwrap_err(), "environment variable NOPE is not set");
    }

    #[test]
    fn files_are_java_properties() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db.properties");
        std::fs::write(&path, "# c\nuser : me\npass\\=word=a\\\n   b\\u0021 c\n").unwrap();
        let path = path.display();
        assert_eq!(resolve(&format!("${{file:{path}:user}}")).unwrap(), "me");
        assert_eq!(resolve(&format!("${{file:{path}:pass=word}}")).unwrap(), "ab! c");
        let dir = dir.path().display();
        assert!(resolve(&format!("${{directory:{dir}:db.properties}}")).unwrap().contains("me"));
    }

    #[test]
    fn shown_task_configurations_keep_their_references() {
        let raw = Config::new([("p".to_owned(), "${env:PASSWORD}".to_owned())].into());
        let resolved = providers().resolve(&raw).unwrap();
        assert_eq!(resolved.get("p"), Some("s3:cret}"));
        assert_eq!(with_references(&resolved, &raw), raw);
    }
}
