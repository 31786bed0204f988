//! How this worker appears in its group, from the command line and Kafka Connect's properties.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail};
use lattice_log::GroupOptions;

use crate::arguments::Kafka;

/// Kafka Connect's keys that are read here.
pub(crate) const KEYS: [&str; 6] = [
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "rebalance.timeout.ms",
];

/// Where others reach this worker, and what they call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advertised {
    /// `host:port`.
    pub(crate) worker_id: String,
    /// The URL without a slash at its end.
    pub(crate) url: String,
}

impl Advertised {
    pub(crate) fn of(listening: SocketAddr) -> Self {
        Self { worker_id: listening.to_string(), url: format!("http://{listening}") }
    }

    fn parse(listener: &str) -> Result<Self> {
        let url = listener.trim().trim_end_matches('/');
        let authority = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let fits = |authority: &&str| {
            let (host, port) = authority.rsplit_once(':').unwrap_or_default();
            !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
        };
        let Some(authority) = authority.filter(fits) else {
            bail!("the advertised listener \"{listener}\" is not of the form http://HOST:PORT");
        };
        Ok(Self { worker_id: authority.to_owned(), url: url.to_owned() })
    }
}

/// What was said of this worker's place in its group.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupSettings {
    listener: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    session: Option<Duration>,
    heartbeat: Option<Duration>,
    rebalance: Option<Duration>,
}

impl GroupSettings {
    /// The command line goes before the properties.
    pub(crate) fn read(kafka: &Kafka, properties: &BTreeMap<String, String>) -> Result<Self> {
        let text = |word: &str| {
            properties
                .get(word)
                .map(|value| value.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        let number = |word: &str| match text(word) {
            None => Ok(None),
            Some(value) => value
                .parse::<u64>()
                .map(Some)
                .with_context(|| format!("\"{word}\" is \"{value}\", not a number")),
        };
        let millis = |given: Option<u64>, word: &str| {
            let known = match given {
                Some(given) => Some(given),
                None => number(word)?,
            };
            anyhow::Ok(known.map(Duration::from_millis))
        };
        let port = number("rest.advertised.port")?.map(u16::try_from).transpose();
        let host = text("rest.advertised.host.name");
        // Kafka Connect names a listener by its protocol there; a URL is ours.
        let listener = text("rest.advertised.listener").filter(|listener| listener.contains("://"));
        Ok(Self {
            listener: kafka.advertised_listener.clone().or(listener),
            host,
            port: port.context("\"rest.advertised.port\" is no port")?,
            session: millis(kafka.session_timeout_ms, "session.timeout.ms")?,
            heartbeat: millis(kafka.heartbeat_interval_ms, "heartbeat.interval.ms")?,
            rebalance: millis(None, "rebalance.timeout.ms")?,
        })
    }

    pub(crate) fn apply(&self, options: &mut GroupOptions) {
        if let Some(session) = self.session {
            options.session_timeout = session;
            options.heartbeat_interval = options.heartbeat_interval.min(session / 3);
        }
        if let Some(heartbeat) = self.heartbeat {
            options.heartbeat_interval = heartbeat;
        }
        if let Some(rebalance) = self.rebalance {
            options.rebalance_timeout = rebalance;
        }
    }

    pub(crate) fn advertised(&self, listening: SocketAddr) -> Result<Advertised> {
        if let Some(listener) = &self.listener {
            return Advertised::parse(listener);
        }
        let port = self.port.unwrap_or_else(|| listening.port());
        let host = match &self.host {
            Some(host) => host.clone(),
            // No other machine can call "every address".
            None if listening.ip().is_unspecified() => own_name()?,
            None if self.port.is_none() => return Ok(Advertised::of(listening)),
            None => Advertised::of(SocketAddr::new(listening.ip(), port)).worker_id,
        };
        let host = host.trim_end_matches(&format!(":{port}")).to_owned();
        Advertised::parse(&format!("http://{host}:{port}"))
    }
}

/// This machine's name.
fn own_name() -> Result<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .context("read this machine's name; give --advertised-listener http://HOST:PORT")?;
    Ok(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> GroupSettings {
        let text = |text: &&str| (*text).to_owned();
        let properties = pairs.iter().map(|(key, value)| (text(key), text(value))).collect();
        let kafka = Kafka {
            bootstrap_servers: None,
            command_config: None,
            group_id: None,
            config_topic: None,
            offset_topic: None,
            status_topic: None,
            advertised_listener: None,
            session_timeout_ms: None,
            heartbeat_interval_ms: None,
        };
        GroupSettings::read(&kafka, &properties).unwrap()
    }

    #[test]
    fn a_worker_is_called_by_what_others_reach_it_by() {
        let listening: SocketAddr = "10.0.0.5:8083".parse().unwrap();
        let id = |pairs: &[(&str, &str)]| settings(pairs).advertised(listening).unwrap().worker_id;
        assert_eq!(id(&[]), "10.0.0.5:8083");
        assert_eq!(id(&[("rest.advertised.host.name", "one")]), "one:8083");
        assert_eq!(id(&[("rest.advertised.port", "80")]), "10.0.0.5:80");
        assert_eq!(id(&[("rest.advertised.listener", "https://one:443/")]), "one:443");
        assert_eq!(id(&[("rest.advertised.listener", "http")]), "10.0.0.5:8083");
        let everywhere = settings(&[]).advertised("0.0.0.0:8083".parse().unwrap()).unwrap();
        assert!(!everywhere.worker_id.starts_with("0.0.0.0"), "{everywhere:?}");
        for wrong in ["one:80", "http://one", "http://one:port", "http://:80", "ftp://one:80"] {
            assert!(Advertised::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_short_session_has_short_heartbeats() {
        let mut options = GroupOptions::new("a:1", "http://a:1", "1");
        settings(&[("session.timeout.ms", "6000")]).apply(&mut options);
        assert_eq!(options.heartbeat_interval, Duration::from_secs(2));
        settings(&[("heartbeat.interval.ms", "500")]).apply(&mut options);
        assert_eq!(options.heartbeat_interval, Duration::from_millis(500));
    }
}
