//! Config providers: `${env:X}`, `${file:path:key}`, `${directory:dir:file}`.
//!
//! References are resolved late, when a configuration is validated or a task starts; what is
//! stored and shown keeps the reference. The worker's settings `config.providers.*` say which
//! providers there are and what they may read; without them there are these three, unrestricted.
//!
//! Source: Kafka's `ConfigTransformer`, `EnvVarConfigProvider`, `FileConfigProvider`,
//! `DirectoryConfigProvider`.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use lattice_core::{
    config::{Config, ConfigIssue, split_list},
    error::{Error, Result},
    secret::MASK,
};

use crate::{properties::properties, validate::full_match};

/// Reads an environment variable; the binary gives it, since only the binary reads the
/// environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Shorter secrets are not looked for in texts: they would be found everywhere.
const SHORTEST_SECRET: usize = 4;

/// What is wrong with a reference, and the remedy.
type Unresolved = (String, String);

/// Resolves references.
#[derive(Clone)]
pub(crate) struct Providers {
    environment: Environment,
    by_name: Arc<BTreeMap<String, Provider>>,
}

struct Provider {
    kind: Kind,
    /// How old what it gave may become before it is asked again.
    ttl: Option<Duration>,
}

enum Kind {
    /// Names of variables that may be read; `None`: all.
    Env(Option<regex::Regex>),
    /// Folders below which files may be read; none: all.
    File(Vec<String>),
    Directory(Vec<String>),
}

const PACKAGE: &str = "org.apache.kafka.common.config.provider.";

impl Provider {
    /// Reads `config.providers.<name>.*` of the worker's settings.
    fn from_settings(name: &str, settings: &Config) -> Result<Self> {
        let key = |rest: &str| format!("config.providers.{name}.{rest}");
        let get =
            |rest: &str| settings.get(&key(rest)).map(str::trim).filter(|text| !text.is_empty());
        let class = get("class").unwrap_or_default();
        let paths = || get("param.allowed.paths").map(|text| split_list(text).collect());
        let kind = match class.strip_prefix(PACKAGE).unwrap_or(class) {
            "EnvVarConfigProvider" => {
                let pattern = get("param.allowlist.pattern").map(full_match).transpose();
                Kind::Env(pattern.map_err(|error| {
                    Error::config(format!("\"{}\": {error}", key("param.allowlist.pattern")))
                })?)
            }
            "FileConfigProvider" => Kind::File(paths().unwrap_or_default()),
            "DirectoryConfigProvider" => Kind::Directory(paths().unwrap_or_default()),
            _ => {
                let message = format!("\"{}\" names no known provider: \"{class}\"", key("class"));
                return Err(Error::config(message).with_remedy(format!(
                    "use EnvVarConfigProvider, FileConfigProvider or DirectoryConfigProvider of \
                     {PACKAGE}*, or remove \"{name}\" from \"config.providers\""
                )));
            }
        };
        let ttl = get("param.ttl.ms").map(str::parse).transpose().map_err(|_| {
            Error::config(format!("\"{}\" is no number of milliseconds", key("param.ttl.ms")))
        })?;
        Ok(Self { kind, ttl: ttl.map(Duration::from_millis) })
    }

    fn read(&self, environment: &Environment, path: &str, key: &str) -> Result<String, Unresolved> {
        match &self.kind {
            Kind::Env(allowed) => {
                if allowed.as_ref().is_some_and(|allowed| !allowed.is_match(key)) {
                    return Err((
                        format!("environment variable {key} may not be read"),
                        "name it in the worker's param.allowlist.pattern".to_owned(),
                    ));
                }
                environment(key).ok_or_else(|| {
                    (
                        format!("environment variable {key} is not set"),
                        format!("set {key} in the environment of the worker"),
                    )
                })
            }
            Kind::File(allowed) => {
                let text = read(path, allowed)?;
                let found = properties(&text).into_iter().rfind(|(name, _)| name == key);
                found.map(|(_, value)| value).ok_or_else(|| {
                    (format!("file {path} has no key {key}"), format!("add \"{key}=…\" to {path}"))
                })
            }
            Kind::Directory(allowed) => {
                if key.contains('/') || key == ".." {
                    return Err((
                        format!("\"{key}\" is no name of a file in {path}"),
                        "write ${directory:FOLDER:FILE}".to_owned(),
                    ));
                }
                read(&Path::new(path).join(key).to_string_lossy(), allowed)
            }
        }
    }
}

impl Providers {
    /// Errors: `Config`, when the worker's settings name a provider that there is not.
    pub(crate) fn new(environment: Environment, settings: &Config) -> Result<Self> {
        let names = match settings.get("config.providers") {
            Some(names) => split_list(names)
                .map(|name| Ok((name.clone(), Provider::from_settings(&name, settings)?)))
                .collect::<Result<_>>()?,
            None => {
                let plain = |name: &str, kind| (name.to_owned(), Provider { kind, ttl: None });
                BTreeMap::from([
                    plain("env", Kind::Env(None)),
                    plain("file", Kind::File(Vec::new())),
                    plain("directory", Kind::Directory(Vec::new())),
                ])
            }
        };
        Ok(Self { environment, by_name: Arc::new(names) })
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
                Ok((value, _)) => resolved.set(name, value),
                Err((message, remedy)) => {
                    issues.push(ConfigIssue::error(name, message).remedy(&remedy));
                    resolved.set(name, value);
                }
            }
        }
        (resolved, issues)
    }

    /// What a configuration's references stand for, to be kept out of texts.
    pub(crate) fn secrets(&self, config: &Config) -> Secrets {
        let values = config.iter().filter(|(_, value)| has_reference(value));
        let found = values.filter_map(|(_, value)| self.resolve_value(value).ok());
        let mut secrets: Vec<String> = found.flat_map(|(_, secrets)| secrets).collect();
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        // A secret that is part of another must not break the other.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(secrets)
    }

    /// How soon the configuration is to be resolved again; `None`: not before it is used again.
    pub(crate) fn ttl(&self, config: &Config) -> Option<Duration> {
        let mut soonest: Option<Duration> = None;
        for (_, value) in config.iter() {
            let mut rest = value;
            while let Some((_, reference, after)) = next_reference(rest) {
                let name = reference.split(':').next().unwrap_or_default();
                let ttl = self.by_name.get(name).and_then(|provider| provider.ttl);
                soonest = match (soonest, ttl) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
                rest = after;
            }
        }
        soonest
    }

    /// The value, and what was put in.
    fn resolve_value(&self, value: &str) -> Result<(String, Vec<String>), Unresolved> {
        let (mut out, mut secrets) = (String::with_capacity(value.len()), Vec::new());
        let mut rest = value;
        while let Some((before, reference, after)) = next_reference(rest) {
            out.push_str(before);
            match self.look_up(reference) {
                Some(found) => {
                    let found = found?;
                    out.push_str(&found);
                    secrets.push(found);
                }
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
        Ok((out, secrets))
    }

    /// `None`: no such provider.
    fn look_up(&self, reference: &str) -> Option<Result<String, Unresolved>> {
        let (provider, rest) = reference.split_once(':')?;
        let (path, key) = rest.split_once(':').unwrap_or(("", rest));
        let provider = self.by_name.get(provider)?;
        Some(provider.read(&self.environment, path, key))
    }
}

/// What must stand in no text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The text with masks in place of secrets.
    pub(crate) fn masked(&self, mut text: String) -> String {
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        text
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

/// Reads a file, if it lies below one of the allowed folders; links are followed first.
fn read(path: &str, allowed: &[String]) -> Result<String, Unresolved> {
    let place = std::fs::canonicalize(path);
    let within = |folder: &String| match (&place, std::fs::canonicalize(folder)) {
        (Ok(place), Ok(folder)) => place.starts_with(folder),
        _ => false,
    };
    if !allowed.is_empty() && !allowed.iter().any(within) {
        return Err((
            format!("{path} is not below any of the allowed paths"),
            format!("add its folder to the worker's param.allowed.paths ({})", allowed.join(",")),
        ));
    }
    std::fs::read_to_string(path).map_err(|error| {
        (
            format!("read {path}: {error}"),
            format!("make {path} readable for the worker, as UTF-8 text"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Result<Providers> {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let environment: Environment =
            Arc::new(|name| (name == "PASSWORD").then(|| "s3:cret}".to_owned()));
        Providers::new(environment, &Config::new(settings.collect()))
    }

    fn providers() -> Providers {
        with(&[]).unwrap()
    }

    fn resolve(value: &str) -> Result<String, String> {
        resolve_with(&providers(), value)
    }

    fn resolve_with(providers: &Providers, value: &str) -> Result<String, String> {
        let resolved = providers.resolve_value(value);
        resolved.map(|(value, _)| value).map_err(|(message, _)| message)
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

    #[test]
    fn the_worker_says_which_providers_there_are_and_what_they_read() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("a.properties"), "k=v").unwrap();
        std::fs::write(&outside, "k=v").unwrap();
        let allowed = inside.display().to_string();
        let settings = [
            ("config.providers", "f, e"),
            (
                "config.providers.f.class",
                "org.apache.kafka.common.config.provider.FileConfigProvider",
            ),
            ("config.providers.f.param.allowed.paths", &allowed),
            ("config.providers.f.param.ttl.ms", "1500"),
            ("config.providers.e.class", "EnvVarConfigProvider"),
            ("config.providers.e.param.allowlist.pattern", "X_.*"),
        ];
        let providers = with(&settings).unwrap();
        let of = |value: String| resolve_with(&providers, &value);
        assert_eq!(of(format!("${{f:{allowed}/a.properties:k}}")).unwrap(), "v");
        let refused = of(format!("${{f:{allowed}/../out:k}}")).unwrap_err();
        assert!(refused.contains("not below"), "{refused}");
        assert!(of("${e:PASSWORD}".to_owned()).unwrap_err().contains("may not be read"));
        assert_eq!(of("${env:PASSWORD}".to_owned()).unwrap(), "${env:PASSWORD}");
        let config = |value: &str| Config::new([("a".to_owned(), value.to_owned())].into());
        assert_eq!(providers.ttl(&config("x${f:a:b}")), Some(Duration::from_millis(1500)));
        assert_eq!(providers.ttl(&config("${e:X_1}")), None);
        let unknown =
            [("config.providers", "v"), ("config.providers.v.class", "org.example.Vault")];
        let error = with(&unknown).map(drop).unwrap_err();
        assert!(error.to_string().contains("org.example.Vault"), "{error}");
    }

    #[test]
    fn what_a_reference_stands_for_is_kept_out_of_texts() {
        let raw = Config::new([("p".to_owned(), "x${env:PASSWORD}y".to_owned())].into());
        let secrets = providers().secrets(&raw);
        let text = secrets.masked("refused: user with s3:cret} at host".to_owned());
        assert_eq!(text, "refused: user with ******** at host");
    }
}
