//! A connector's own settings of Kafka's clients: `producer.override.*`, `consumer.override.*`, `admin.override.*`.
//!
//! The policy of the worker says which may be given at all. Those that have an effect are read where they have it; of
//! the others people are told by name that they have none.

use lattice_core::{
    config::{Config, ConfigIssue},
    error::{Error, Result},
};

use crate::worker::Shared;

const POLICY: &str = "connector.client.config.override.policy";
const PREFIXES: [&str; 3] = ["producer.override.", "consumer.override.", "admin.override."];

/// `max.request.size`
pub(crate) const MAX_REQUEST: &str = "producer.override.max.request.size";

/// Settings that have an effect.
const USED: [&str; 5] = [
    "producer.override.compression.type",
    MAX_REQUEST,
    "producer.override.transaction.timeout.ms",
    "consumer.override.group.id",
    "consumer.override.auto.offset.reset",
];

/// Settings that are always so, whatever else is asked for.
const ALWAYS: [(&str, &[&str], &str); 5] = [
    (
        "producer.override.acks",
        &["all", "-1"],
        "every record is acknowledged by all in-sync replicas",
    ),
    ("producer.override.enable.idempotence", &["true"], "producers are always idempotent"),
    (
        "producer.override.max.in.flight.requests.per.connection",
        &["1"],
        "a partition has one request under way",
    ),
    ("consumer.override.isolation.level", &["read_committed"], "sinks read only what is committed"),
    (
        "consumer.override.enable.auto.commit",
        &["false"],
        "offsets move only after the sink has what they cover",
    ),
];

/// What a principal may change under the policy `Principal`.
const OF_PRINCIPAL: [&str; 3] = ["security.protocol", "sasl.jaas.config", "sasl.mechanism"];

/// How a cluster is reached, and as whom.
const OF_CONNECTION: [&str; 4] = ["bootstrap.servers", "security.", "sasl.", "ssl."];

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
        let Some(name) = PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)) else {
            continue;
        };
        issues.extend(issue(policy, key, name, value.trim(), shared.log.needs_transactions()));
    }
    if let Err(error) = max_request(config) {
        issues.push(ConfigIssue::error(MAX_REQUEST, error.to_string()));
    }
    issues
}

fn issue(policy: Policy, key: &str, name: &str, value: &str, kafka: bool) -> Option<ConfigIssue> {
    if !policy.allows(name) {
        let message = format!(
            "The '{policy:?}' policy does not allow '{name}' to be overridden in the connector \
             configuration."
        );
        return Some(
            ConfigIssue::error(key, message).remedy("remove it, or change the worker's policy"),
        );
    }
    if USED.contains(&key) {
        return None;
    }
    if let Some((_, fits, why)) = ALWAYS.iter().find(|(known, ..)| *known == key) {
        let message = format!("has no effect: {why}");
        return (!fits.contains(&value)).then(|| ConfigIssue::warning(key, message));
    }
    if kafka && OF_CONNECTION.iter().any(|start| name.starts_with(start)) {
        let message =
            "a connector cannot reach Kafka in another way, or as somebody else, than its worker";
        return Some(
            ConfigIssue::error(key, message).remedy("give it to the worker, in --command-config"),
        );
    }
    Some(ConfigIssue::warning(key, "has no effect: the worker's own client has no such setting"))
}

/// What a request may hold; `None`: as much as the topic takes. Units: bytes.
pub(crate) fn max_request(config: &Config) -> Result<Option<usize>> {
    let Some(text) = config.get(MAX_REQUEST) else { return Ok(None) };
    let bytes = text.trim().parse::<usize>().ok().filter(|bytes| *bytes > 0);
    bytes.map(Some).ok_or_else(|| {
        Error::config(format!("\"{MAX_REQUEST}\" is \"{text}\", not a number of bytes"))
    })
}

#[cfg(test)]
mod tests {
    use lattice_core::config::Severity;

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
            let name = key.split_once(".override.").unwrap().1;
            issue(policy, key, name, value, true).map(|issue| issue.severity)
        };
        let lz4 = "producer.override.compression.type";
        assert_eq!(severity(Policy::All, lz4, "lz4"), None);
        assert_eq!(severity(Policy::None, lz4, "lz4"), Some(Severity::Error));
        assert_eq!(severity(Policy::Principal, lz4, "lz4"), Some(Severity::Error));
        assert_eq!(severity(Policy::All, "producer.override.acks", "all"), None);
        assert_eq!(severity(Policy::All, "producer.override.acks", "1"), Some(Severity::Warning));
        let linger = "producer.override.linger.ms";
        assert_eq!(severity(Policy::All, linger, "5"), Some(Severity::Warning));
        let login = "producer.override.sasl.jaas.config";
        assert_eq!(severity(Policy::All, login, "x"), Some(Severity::Error));
    }
}
