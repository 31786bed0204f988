//! How the cluster is reached, in the words of Kafka's own clients.

use std::{collections::BTreeMap, time::Duration};

use lattice_core::{Error, Result, secret::Secret};

use super::{sasl::Login, socket::Address, tls};
use crate::{
    client_keys::{self, Effect},
    log::TopicConfig,
};

/// How [`KafkaLog`](super::KafkaLog) is opened.
#[derive(Debug, Clone)]
pub struct KafkaOptions {
    /// The properties of a Kafka client: `bootstrap.servers`, `security.protocol`, `sasl.*`,
    /// `ssl.*` and the like. Unknown ones are told in the log and ignored.
    pub properties: BTreeMap<String, String>,
    /// The platform's name on this cluster: its topics begin with it.
    pub group_id: String,
    /// The topic of connectors and their target states; by default `<group id>-configs`.
    pub config_topic: Option<String>,
    /// The topic of source positions; by default `<group id>-offsets`.
    pub offset_topic: Option<String>,
    /// Partitions of that topic where it is made.
    pub offset_partitions: i32,
    /// The topic of states; by default `<group id>-status`.
    pub status_topic: Option<String>,
    /// Partitions of that topic where it is made.
    pub status_partitions: i32,
    /// The configuration of topics that an append creates.
    pub default_topic: TopicConfig,
    /// How long opening waits for a cluster that does not answer.
    pub start_timeout: Duration,
}

impl KafkaOptions {
    /// The defaults, for a cluster.
    #[must_use]
    pub fn new(bootstrap_servers: impl Into<String>) -> Self {
        Self {
            properties: BTreeMap::from([(
                "bootstrap.servers".to_owned(),
                bootstrap_servers.into(),
            )]),
            group_id: "lattice".to_owned(),
            config_topic: None,
            offset_topic: None,
            // As Kafka Connect makes it.
            offset_partitions: 25,
            status_topic: None,
            status_partitions: 5,
            default_topic: TopicConfig::default(),
            start_timeout: Duration::from_secs(60),
        }
    }
}

/// The properties, read.
pub(crate) struct ClientOptions {
    pub(crate) bootstrap: Vec<Address>,
    pub(crate) client_id: String,
    pub(crate) tls: Option<std::sync::Arc<rustls::ClientConfig>>,
    pub(crate) login: Option<Login>,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
}

/// Takes properties out of the map, so that what is left was not understood.
pub(crate) struct Properties(BTreeMap<String, String>);

impl Properties {
    /// A value that is not empty.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.take_raw(name).filter(|value| !value.is_empty())
    }

    /// A value, also an empty one.
    pub(crate) fn take_raw(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).map(|value| value.trim().to_owned())
    }

    fn milliseconds(&mut self, name: &str, default: u64) -> Result<Duration> {
        match self.take(name) {
            None => Ok(Duration::from_millis(default)),
            Some(value) => value.parse().map(Duration::from_millis).map_err(|error| {
                Error::config(format!("\"{name}\" is \"{value}\", not a number of milliseconds"))
                    .with_source(error)
            }),
        }
    }
}

impl ClientOptions {
    /// Errors: `Config`, naming the property.
    pub(crate) fn read(properties: &BTreeMap<String, String>) -> Result<Self> {
        let mut properties = Properties(properties.clone());
        let bootstrap = bootstrap(&properties.take("bootstrap.servers").unwrap_or_default())?;
        let protocol =
            properties.take("security.protocol").unwrap_or_else(|| "PLAINTEXT".to_owned());
        let (encrypted, authenticated) = match protocol.to_uppercase().as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => {
                return Err(Error::config(format!("\"security.protocol\" is \"{protocol}\""))
                    .with_remedy("use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"));
            }
        };
        let tls = encrypted.then(|| tls::configuration(&mut properties)).transpose()?;
        properties.0.retain(|name, _| encrypted || !name.starts_with("ssl."));
        let login = Login::read(&mut properties)?;
        let login = if authenticated {
            Some(login.ok_or_else(|| {
                Error::config(format!("\"security.protocol\" is {protocol}, without a login"))
                    .with_remedy("give \"sasl.mechanism\" and \"sasl.jaas.config\"")
            })?)
        } else {
            None
        };
        let options = Self {
            bootstrap,
            client_id: properties.take("client.id").unwrap_or_else(|| "lattice".to_owned()),
            tls,
            login,
            connect_timeout: properties
                .milliseconds("socket.connection.setup.timeout.ms", 10_000)?,
            request_timeout: properties.milliseconds("request.timeout.ms", 30_000)?,
        };
        properties.0.keys().for_each(|name| tell_unused(name));
        Ok(options)
    }
}

/// Says why a property has no effect. What the worker reads in other places is known there.
fn tell_unused(name: &str) {
    let of_worker = ["producer.", "consumer.", "admin."];
    if of_worker.iter().any(|prefix| name.starts_with(prefix)) {
        return;
    }
    match client_keys::of_any(name).map(|key| key.effect) {
        Some(Effect::Idle(why) | Effect::Always(_, why)) => {
            tracing::warn!(
                property = name,
                "this property of the Kafka client has no effect: {why}"
            );
        }
        Some(Effect::Used(_)) => tracing::warn!(
            property = name,
            "this property of the Kafka client has no effect here: give it to connectors, behind producer. or consumer. \
             in the file of --worker-config"
        ),
        Some(Effect::Connection) | None => {
            tracing::warn!(property = name, "this property of the Kafka client is not known");
        }
    }
}

fn bootstrap(servers: &str) -> Result<Vec<Address>> {
    let mut addresses = Vec::new();
    for server in servers.split(',').map(str::trim).filter(|server| !server.is_empty()) {
        let address = server.rsplit_once(':').and_then(|(host, port)| {
            // A listener's name may stand before it.
            let host = host.rsplit_once("://").map_or(host, |(_, host)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            Some(Address { host, port: port.parse().ok()? }).filter(|a| !a.host.is_empty())
        });
        addresses.push(address.ok_or_else(|| {
            Error::config(format!("\"{server}\" of the bootstrap servers is not host:port"))
                .with_remedy("give HOST:PORT, several with commas between them")
        })?);
    }
    if addresses.is_empty() {
        return Err(Error::config("no bootstrap server is given")
            .with_remedy("give \"bootstrap.servers\" as HOST:PORT"));
    }
    Ok(addresses)
}

/// Reads a secret property.
pub(crate) fn secret(properties: &mut Properties, name: &str) -> Option<Secret> {
    properties.take(name).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ClientOptions> {
        let mut properties = BTreeMap::from([("bootstrap.servers".to_owned(), "a:1".to_owned())]);
        properties
            .extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        ClientOptions::read(&properties)
    }

    #[test]
    fn bootstrap_servers_are_lists_of_hosts_and_ports() {
        let options = read(&[("bootstrap.servers", "one:9092, PLAINTEXT://[::1]:9093")]).unwrap();
        let hosts: Vec<String> = options.bootstrap.iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["one:9092", "::1:9093"]);
        for wrong in ["", "one", "one:", ":9092", "one:port"] {
            assert!(read(&[("bootstrap.servers", wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_login_without_its_parts_is_refused_with_the_remedy() {
        let error = read(&[("security.protocol", "SASL_PLAINTEXT")]).err().unwrap();
        assert!(error.remedy().unwrap().contains("sasl.jaas.config"));
        let error = read(&[("security.protocol", "TLS")]).err().unwrap();
        assert!(error.remedy().unwrap().contains("SASL_SSL"));
    }

    #[test]
    fn times_are_milliseconds() {
        let options = read(&[("request.timeout.ms", "1500")]).unwrap();
        assert_eq!(options.request_timeout, Duration::from_millis(1500));
        assert!(read(&[("request.timeout.ms", "soon")]).is_err());
    }
}
