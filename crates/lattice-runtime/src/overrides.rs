//! A connector's own settings of Kafka's clients: `producer.override.*`, `consumer.override.*`, `admin.override.*`.
//!
//! The policy of the worker says which may be given at all. Those that have an effect are read where they have it; of
//! the others people are told by name that they have none.

use lattice_core::{
    config::{Config, ConfigIssue, Severity},
    error::{Error, Result},
};
use lattice_log::client_keys::{self, Client, Effect};

use crate::worker::Shared;

const POLICY: &str = "connector.client.config.override.policy";

/// The clients, and what a worker's settings of them begin with.
const CLIENTS: [(Client, &str); 3] =
    [(Client::Producer, "producer."), (Client::Consumer, "consumer."), (Client::Admin, "admin.")];

/// `max.request.size`
pub(crate) const MAX_REQUEST: &str = "producer.override.max.request.size";

const REMEDY: &str = "give it to the worker, in --command-config";

/// What a principal may change under the policy `Principal`.
const OF_PRINCIPAL: [&str; 3] = ["security.protocol", "sasl.jaas.config", "sasl.mechanism"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    All,
    None,
    Principal,
}

impl Policy {
    fn of(settings: &Config) -> Result<Self> {
        let given = settings.get(POLICY).map(str::trim).unwrap_or_default();
        // Its class may stand there in full.
        let name = given.rsplit('.').next().unwrap_or_default();
        match name.strip_suffix("ConnectorClientConfigOverridePolicy").unwrap_or(name) {
            "" | "All" => Ok(Self::All),
            "None" => Ok(Self::None),
            "Principal" => Ok(Self::Principal),
            _ => Err(Error::config(format!("\"{POLICY}\" of the worker is \"{given}\""))
                .with_remedy("use All, None or Principal")),
        }
    }

    fn allows(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Principal => OF_PRINCIPAL.contains(&name),
        }
    }
}

/// What is wrong with a connector's overrides, and which of them have no effect.
pub(crate) fn check(config: &Config, shared: &Shared) -> Vec<ConfigIssue> {
    let policy = match Policy::of(&shared.config.settings) {
        Ok(policy) => policy,
        Err(error) => return vec![ConfigIssue::error(POLICY, error.to_string())],
    };
    let mut issues = Vec::new();
    for (key, value) in config.iter() {
        let Some((client, name)) = of_connector(key) else { continue };
        issues.extend(issue(policy, client, name, value.trim(), shared.log.needs_transactions()));
    }
    issues
}

/// The client and the setting that a connector's key is about.
fn of_connector(key: &str) -> Option<(Client, &str)> {
    let (client, rest) = of_worker(key)?;
    Some((client, rest.strip_prefix("override.")?))
}

/// The client and the setting that a worker's key is about.
fn of_worker(key: &str) -> Option<(Client, &str)> {
    CLIENTS.iter().find_map(|(client, prefix)| Some((*client, key.strip_prefix(prefix)?)))
}

fn prefix(client: Client) -> &'static str {
    CLIENTS.iter().find(|(known, _)| *known == client).map_or("", |(_, prefix)| prefix)
}

fn issue(
    policy: Policy,
    client: Client,
    name: &str,
    value: &str,
    kafka: bool,
) -> Option<ConfigIssue> {
    let key = format!("{}override.{name}", prefix(client));
    if !policy.allows(name) {
        let message = format!(
            "The '{policy:?}' policy does not allow '{name}' to be overridden in the connector \
             configuration."
        );
        let issue = ConfigIssue::error(&key, message);
        return Some(issue.remedy("remove it, or change the worker's policy"));
    }
    if kafka && client_keys::is_of_connection(name) {
        let message =
            "a connector cannot reach Kafka in another way, or as somebody else, than its worker";
        return Some(ConfigIssue::error(&key, message).remedy(REMEDY));
    }
    let (severity, message) = verdict(client, name, value)?;
    Some(match severity {
        Severity::Error => ConfigIssue::error(&key, message),
        _ => ConfigIssue::warning(&key, message),
    })
}

/// What there is to say of a setting that may be given; `None`: it does what it should.
fn verdict(client: Client, name: &str, value: &str) -> Option<(Severity, String)> {
    let idle = |why: &str| Some((Severity::Warning, format!("has no effect: {why}")));
    let Some(key) = client_keys::of_client(client, name) else {
        if client_keys::is_of_connection(name) {
            return idle("the worker's own connection is used");
        }
        return match client_keys::meant(client, name) {
            Some(close) => idle(&format!("no client of Kafka has it; did you mean \"{close}\"?")),
            None => idle("the worker's own client has no such setting"),
        };
    };
    if let Some(wrong) = key.form.wrong(value) {
        return Some((Severity::Error, wrong));
    }
    match key.effect {
        Effect::Used(_) => None,
        Effect::Always(fits, _) if fits.contains(&value) => None,
        Effect::Always(_, why) | Effect::Idle(why) => idle(why),
        Effect::Connection => idle("the worker's own connection is used"),
    }
}

/// The worker's settings of its connectors' clients (`producer.*`, `consumer.*`) where the connector has none of its
/// own, in a connector's words.
pub(crate) fn with_worker_defaults(config: &mut Config, settings: &Config) {
    for (key, value) in settings.iter() {
        let Some((client, name)) = of_worker(key) else { continue };
        let known = client_keys::of_client(client, name);
        // One group for all sinks would mix their offsets up.
        let used = known.is_some_and(|key| matches!(key.effect, Effect::Used(_)));
        let own = format!("{}override.{name}", prefix(client));
        if used && name != "group.id" && config.get(&own).is_none() {
            config.set(own, value.trim());
        }
    }
}

/// What is wrong with a worker's settings of clients, and says in the log which of them have no effect.
///
/// Errors: `Config`, with all that is wrong.
pub(crate) fn check_worker(settings: &Config) -> Result<()> {
    Policy::of(settings)?;
    let mut wrong = Vec::new();
    for (key, value) in settings.iter() {
        let Some((client, name)) = of_worker(key) else { continue };
        if name == "group.id" && client == Client::Consumer {
            tracing::warn!(key, "has no effect: each sink has a group of its own, connect-NAME");
            continue;
        }
        match verdict(client, name, value.trim()) {
            Some((Severity::Error, message)) => wrong.push(format!("\"{key}\": {message}")),
            Some((_, message)) => tracing::warn!(key, "{message}"),
            None => {}
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::config(format!("the worker's properties are wrong: {}", wrong.join("; "))))
}

/// How large batches get before compression, of `batch.size` and what a request may hold. Units: bytes.
pub(crate) fn batch_bytes(config: &Config, most: usize) -> Result<usize> {
    let batch = bytes(config, "producer.override.batch.size")?.unwrap_or(most);
    Ok(batch.min(max_request(config)?.unwrap_or(most)).min(most))
}

/// How much a fetch brings, of `fetch.max.bytes` and `max.partition.fetch.bytes`. Units: bytes.
pub(crate) fn fetch_bytes(config: &Config, most: usize) -> Result<usize> {
    let whole = bytes(config, "consumer.override.fetch.max.bytes")?.unwrap_or(most);
    let partition = bytes(config, "consumer.override.max.partition.fetch.bytes")?.unwrap_or(most);
    Ok(whole.min(partition).min(most))
}

fn bytes(config: &Config, name: &str) -> Result<Option<usize>> {
    let Some(text) = config.get(name) else { return Ok(None) };
    text.trim().parse::<usize>().map(Some).map_err(|error| {
        Error::config(format!("\"{name}\" is \"{text}\", not a number of bytes")).with_source(error)
    })
}

/// What a request may hold; `None`: as much as the topic takes. Units: bytes.
pub(crate) fn max_request(config: &Config) -> Result<Option<usize>> {
    bytes(config, MAX_REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_named_in_short_or_by_its_class() {
        let of = |word: &str| {
            Policy::of(&Config::new([(POLICY.to_owned(), word.to_owned())].into())).ok()
        };
        assert_eq!(of("None"), Some(Policy::None));
        let class = "org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy";
        assert_eq!(of(class), Some(Policy::Principal));
        assert_eq!(of("Some"), None);
        assert_eq!(Policy::of(&Config::default()).ok(), Some(Policy::All));
    }

    #[test]
    fn each_setting_is_used_refused_or_told_to_have_no_effect() {
        let severity = |policy, key: &str, value: &str| {
            let (client, name) = of_connector(key).unwrap();
            issue(policy, client, name, value, true).map(|issue| issue.severity)
        };
        let lz4 = "producer.override.compression.type";
        assert_eq!(severity(Policy::All, lz4, "lz4"), None);
        assert_eq!(severity(Policy::All, lz4, "brotli"), Some(Severity::Error));
        assert_eq!(severity(Policy::None, lz4, "lz4"), Some(Severity::Error));
        assert_eq!(severity(Policy::Principal, lz4, "lz4"), Some(Severity::Error));
        assert_eq!(severity(Policy::All, "producer.override.acks", "all"), None);
        assert_eq!(severity(Policy::All, "producer.override.acks", "1"), Some(Severity::Warning));
        let linger = "producer.override.linger.ms";
        assert_eq!(severity(Policy::All, linger, "5"), Some(Severity::Warning));
        assert_eq!(severity(Policy::All, linger, "soon"), Some(Severity::Error));
        let login = "producer.override.sasl.jaas.config";
        assert_eq!(severity(Policy::All, login, "x"), Some(Severity::Error));
        assert_eq!(severity(Policy::Principal, login, "x"), Some(Severity::Error));
    }

    #[test]
    fn a_mistyped_setting_is_told_with_the_right_one() {
        let issue = issue(Policy::All, Client::Consumer, "max.pol.records", "5", true).unwrap();
        assert_eq!(issue.key, "consumer.override.max.pol.records");
        assert!(issue.message.contains("did you mean \"max.poll.records\""), "{}", issue.message);
    }

    fn config(pairs: &[(&str, &str)]) -> Config {
        Config::new(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
    }

    #[test]
    fn the_workers_settings_hold_where_a_connector_has_none() {
        let settings = config(&[
            ("producer.compression.type", "gzip"),
            ("producer.batch.size", "1000"),
            ("consumer.group.id", "one-for-all"),
            ("producer.linger.ms", "5"),
        ]);
        let mut of_connector = config(&[("producer.override.batch.size", "2000")]);
        with_worker_defaults(&mut of_connector, &settings);
        let expected = config(&[
            ("producer.override.batch.size", "2000"),
            ("producer.override.compression.type", "gzip"),
        ]);
        assert_eq!(of_connector.as_map(), expected.as_map());
    }

    #[test]
    fn wrong_settings_of_the_worker_are_all_told() {
        assert!(check_worker(&config(&[("producer.linger.ms", "5")])).is_ok());
        let error = check_worker(&config(&[
            ("producer.linger.ms", "soon"),
            ("consumer.auto.offset.reset", "middle"),
        ]));
        let told = error.unwrap_err().to_string();
        assert!(told.contains("producer.linger.ms") && told.contains("auto.offset.reset"));
    }

    #[test]
    fn sizes_only_go_down() {
        let most = 1 << 20;
        assert_eq!(batch_bytes(&config(&[]), most).unwrap(), most);
        let given = config(&[("producer.override.batch.size", "16384"), (MAX_REQUEST, "1000")]);
        assert_eq!(batch_bytes(&given, most).unwrap(), 1000);
        let given = config(&[("consumer.override.fetch.max.bytes", "52428800")]);
        assert_eq!(fetch_bytes(&given, most).unwrap(), most);
        let given = config(&[("consumer.override.max.partition.fetch.bytes", "4096")]);
        assert_eq!(fetch_bytes(&given, most).unwrap(), 4096);
    }
}
