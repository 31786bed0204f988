//! A converter's options → which registry is meant and how it is used.
//!
//! Source: Confluent's `AbstractKafkaSchemaSerDeConfig`, Apicurio's `SchemaResolverConfig` and
//! `SerdeConfig`; every key stands behind `key.converter.` or `value.converter.`.

use std::time::Duration;

use lattice_core::{
    Error, Result,
    config::{Config, split_list},
    secret::Secret,
};
use reqwest::Url;

use super::auth::Auth;

/// Which API a registry speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Confluent's, which Apicurio serves too, under `/apis/ccompat/`.
    Confluent,
    /// Apicurio's core API, version 2.
    ApicurioV2,
    /// Apicurio's core API, version 3.
    ApicurioV3,
}

/// What is done with a schema that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registering {
    /// It is registered if it is not there.
    Auto,
    /// It must be there.
    Lookup,
    /// The subject's latest version is used.
    Latest,
    /// This one is used.
    Id(i32),
}

/// Which of Apicurio's two ids stands in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    /// One for each content: equal to Confluent's id.
    Content,
    /// One for each version of each artifact.
    Global,
}

/// Where an artifact lies, as far as the configuration says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Coordinates {
    pub(super) group: Option<String>,
    pub(super) artifact: Option<String>,
    pub(super) version: Option<String>,
}

/// Everything a client is made of. Two connectors with equal settings share a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// Base URLs without credentials; the next one is tried when one fails.
    pub(super) urls: Vec<Url>,
    pub(super) dialect: Dialect,
    pub(super) auth: Auth,
    pub(super) registering: Registering,
    /// Whether the registry normalises texts (Confluent) or compares them in canonical form.
    pub(super) normalize: bool,
    pub(super) ids: IdKind,
    pub(super) coordinates: Coordinates,
    /// Apicurio's `ifExists` of version 3.
    pub(super) if_exists: String,
    /// PEM file with the authorities that are trusted.
    pub(super) trusted: Option<String>,
    /// PEM file with our certificate and its key.
    pub(super) identity: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) retries: u32,
    pub(super) backoff: Duration,
}

/// Reads the options of one converter.
struct Options<'c> {
    config: &'c Config,
    prefix: String,
}

impl Options<'_> {
    fn get(&self, option: &str) -> Option<&str> {
        let value = self.config.get(&format!("{}{option}", self.prefix))?.trim();
        (!value.is_empty()).then_some(value)
    }

    fn key(&self, option: &str) -> String {
        format!("{}{option}", self.prefix)
    }

    fn invalid(&self, option: &str, remedy: impl Into<String>) -> Error {
        Error::config(format!("invalid value for configuration \"{}\"", self.key(option)))
            .with_remedy(remedy)
    }

    fn flag(&self, option: &str, default: bool) -> Result<bool> {
        match self.get(option).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(_) => Err(self.invalid(option, "use true or false")),
        }
    }

    fn number<T: std::str::FromStr>(&self, option: &str, default: T) -> Result<T> {
        self.get(option).map_or(Ok(default), |text| {
            text.parse().map_err(|_| self.invalid(option, "use a whole number"))
        })
    }

    /// The first of several spellings that is given.
    fn any(&self, options: &[&str]) -> Option<&str> {
        options.iter().find_map(|option| self.get(option))
    }
}

impl ClientSettings {
    /// Reads the options of `key.converter` or `value.converter` (`side` is `key` or `value`);
    /// none when they name no registry.
    ///
    /// Errors: `Config`, naming the key. No value stands in the message.
    pub fn from_config(side: &str, config: &Config) -> Result<Option<Self>> {
        let options = Options { config, prefix: format!("{side}.converter.") };
        let class = config.get(&format!("{side}.converter")).unwrap_or_default();
        let apicurio_first = class.trim().starts_with("io.apicurio");
        let named = if apicurio_first {
            ["apicurio.registry.url", "schema.registry.url"]
        } else {
            ["schema.registry.url", "apicurio.registry.url"]
        };
        let Some(option) = named.into_iter().find(|option| options.get(option).is_some()) else {
            return Ok(None);
        };
        let (urls, user) = urls(&options, option)?;
        if option == "schema.registry.url" {
            confluent(&options, urls, user).map(Some)
        } else {
            apicurio(&options, urls, user).map(Some)
        }
    }

    /// Host and port of every URL.
    pub fn authorities(&self) -> impl Iterator<Item = (&str, u16)> {
        self.urls.iter().map(|url| {
            (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
        })
    }
}

/// User and password that stand in a URL.
type User = Option<(String, Secret)>;

/// The URLs without the credentials that may stand in them, and those of the first that has any.
fn urls(options: &Options<'_>, option: &str) -> Result<(Vec<Url>, User)> {
    let bad = || {
        options.invalid(
            option,
            "give http:// or https:// URLs, separated by commas, such as http://registry:8081",
        )
    };
    let mut user = None;
    let mut urls = Vec::new();
    for text in split_list(options.get(option).unwrap_or_default()) {
        let mut url: Url = text.parse().map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad());
        }
        if user.is_none() && !url.username().is_empty() {
            let password = decoded(url.password().unwrap_or_default());
            user = Some((decoded(url.username()), Secret::new(password)));
        }
        // Neither fails for a URL with a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        urls.push(url);
    }
    if urls.is_empty() { Err(bad()) } else { Ok((urls, user)) }
}

/// `%41` → `A`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        let hex = text.get(index + 1..index + 3).filter(|_| *byte == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                out.push(value);
                index += 3;
            }
            None => {
                out.push(*byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn confluent(options: &Options<'_>, urls: Vec<Url>, user: User) -> Result<ClientSettings> {
    let id: i32 = options.number("use.schema.id", -1)?;
    let registering = match () {
        () if id >= 0 => Registering::Id(id),
        () if options.flag("auto.register.schemas", true)? => Registering::Auto,
        () if options.flag("use.latest.version", false)? => Registering::Latest,
        () => Registering::Lookup,
    };
    let proxy = match options.get("proxy.host") {
        Some(host) => Some(format!("http://{host}:{}", options.number("proxy.port", 80_u16)?)),
        None => None,
    };
    Ok(ClientSettings {
        urls,
        dialect: Dialect::Confluent,
        auth: confluent_auth(options, user)?,
        registering,
        normalize: options.flag("normalize.schemas", false)?,
        ids: IdKind::Content,
        coordinates: Coordinates::default(),
        if_exists: String::new(),
        trusted: pem(options, "schema.registry.ssl.truststore")?,
        identity: pem(options, "schema.registry.ssl.keystore")?,
        proxy,
        retries: options.number("max.retries", 3)?,
        backoff: Duration::from_millis(options.number("retries.wait.ms", 300)?),
    })
}

fn confluent_auth(options: &Options<'_>, user: User) -> Result<Auth> {
    const BEARER: &str = "bearer.auth.credentials.source";
    const BASIC: &str = "basic.auth.credentials.source";
    match options.get(BEARER).map(str::to_ascii_uppercase).as_deref() {
        None => {}
        Some("STATIC_TOKEN") => {
            let token = options.get("bearer.auth.token").ok_or_else(|| {
                options.invalid("bearer.auth.token", "give the token that is to be sent")
            })?;
            return Ok(Auth::Bearer(Secret::new(token)));
        }
        Some("OAUTHBEARER") => {
            return client_credentials(
                options,
                "bearer.auth.issuer.endpoint.url",
                ("bearer.auth.client.id", "bearer.auth.client.secret"),
                options.get("bearer.auth.scope"),
            );
        }
        Some(_) => return Err(options.invalid(BEARER, "use STATIC_TOKEN or OAUTHBEARER")),
    }
    match options.get(BASIC).map(str::to_ascii_uppercase).as_deref() {
        // The URL's credentials count first; a user info without a source is what is meant often.
        None | Some("URL") if user.is_some() => Ok(user.into()),
        None | Some("USER_INFO") => {
            const INFO: &str = "basic.auth.user.info";
            let given = options.any(&[INFO, "schema.registry.basic.auth.user.info"]);
            match given.map(|info| info.split_once(':')) {
                Some(Some((user, password))) => {
                    Ok(Auth::Basic(user.to_owned(), Secret::new(password)))
                }
                Some(None) => Err(options.invalid(INFO, "use the form user:password")),
                None if options.get(BASIC).is_some() => {
                    Err(options.invalid(INFO, "give it in the form user:password"))
                }
                None => Ok(Auth::None),
            }
        }
        Some("URL") => Ok(Auth::None),
        Some(_) => Err(options.invalid(BASIC, "use URL or USER_INFO")),
    }
}

fn client_credentials(
    options: &Options<'_>,
    endpoint: &str,
    (id, secret): (&str, &str),
    scope: Option<&str>,
) -> Result<Auth> {
    let needed = |option: &str| {
        options.get(option).ok_or_else(|| {
            Error::config(format!("missing required configuration \"{}\"", options.key(option)))
                .with_remedy("tokens need an endpoint, a client id and a client secret")
        })
    };
    let endpoint_url = needed(endpoint)?
        .parse()
        .map_err(|_| options.invalid(endpoint, "give the URL of the token endpoint"))?;
    Ok(Auth::Tokens {
        endpoint: endpoint_url,
        id: needed(id)?.to_owned(),
        secret: Secret::new(needed(secret)?),
        scope: scope.map(str::to_owned),
    })
}

fn apicurio(options: &Options<'_>, urls: Vec<Url>, user: User) -> Result<ClientSettings> {
    let (urls, dialect) = apicurio_api(options, urls)?;
    let registering = match () {
        () if options.flag("apicurio.registry.auto-register", false)? => Registering::Auto,
        () if options.flag("apicurio.registry.find-latest", false)? => Registering::Latest,
        () => Registering::Lookup,
    };
    let text = |option: &str| options.get(option).map(str::to_owned);
    Ok(ClientSettings {
        urls,
        dialect,
        auth: apicurio_auth(options, user)?,
        registering,
        normalize: true,
        ids: match options.get("apicurio.registry.use-id").map(str::to_ascii_lowercase).as_deref() {
            None | Some("contentid") => IdKind::Content,
            Some("globalid") => IdKind::Global,
            Some(_) => {
                let remedy = "use contentId or globalId";
                return Err(options.invalid("apicurio.registry.use-id", remedy));
            }
        },
        coordinates: Coordinates {
            group: text("apicurio.registry.artifact.group-id"),
            artifact: text("apicurio.registry.artifact.artifact-id"),
            version: text("apicurio.registry.artifact.version"),
        },
        if_exists: if_exists(options)?,
        trusted: pem(options, "apicurio.registry.tls.truststore")?
            .or(pem(options, "apicurio.registry.request.ssl.truststore")?),
        identity: pem(options, "apicurio.registry.tls.keystore")?
            .or(pem(options, "apicurio.registry.request.ssl.keystore")?),
        proxy: None,
        retries: options.number("apicurio.registry.retry-count", 3)?,
        backoff: Duration::from_millis(options.number("apicurio.registry.retry-backoff-ms", 300)?),
    })
}

/// Which API the URL names; without a path it is the newest.
fn apicurio_api(options: &Options<'_>, mut urls: Vec<Url>) -> Result<(Vec<Url>, Dialect)> {
    let mut dialect = None;
    for url in &mut urls {
        let path = url.path().trim_end_matches('/').to_owned();
        let (path, found) = match path.as_str() {
            "" => ("/apis/registry/v3".to_owned(), Dialect::ApicurioV3),
            path if path.ends_with("/apis/registry/v3") => (path.to_owned(), Dialect::ApicurioV3),
            path if path.ends_with("/apis/registry/v2") => (path.to_owned(), Dialect::ApicurioV2),
            path if path.contains("/apis/ccompat/") => (path.to_owned(), Dialect::Confluent),
            _ => (path, Dialect::ApicurioV3),
        };
        url.set_path(&path);
        if dialect.is_some_and(|other| other != found) {
            let remedy = "all URLs must name the same API, such as /apis/registry/v3";
            return Err(options.invalid("apicurio.registry.url", remedy));
        }
        dialect = Some(found);
    }
    Ok((urls, dialect.unwrap_or(Dialect::ApicurioV3)))
}

fn apicurio_auth(options: &Options<'_>, user: User) -> Result<Auth> {
    const ENDPOINT: [&str; 2] =
        ["apicurio.registry.auth.service.token.endpoint", "apicurio.auth.service.token.endpoint"];
    if let Some(endpoint) = ENDPOINT.into_iter().find(|option| options.get(option).is_some()) {
        return client_credentials(
            options,
            endpoint,
            ("apicurio.registry.auth.client.id", "apicurio.registry.auth.client.secret"),
            options.get("apicurio.registry.auth.client.scope"),
        );
    }
    match options.get("apicurio.registry.auth.username") {
        Some(user) => {
            let password = options.get("apicurio.registry.auth.password").unwrap_or_default();
            Ok(Auth::Basic(user.to_owned(), Secret::new(password)))
        }
        None => Ok(user.into()),
    }
}

/// Version 2's words are read as those of version 3.
fn if_exists(options: &Options<'_>) -> Result<String> {
    const OPTION: &str = "apicurio.registry.auto-register.if-exists";
    let word = options.get(OPTION).map(str::to_ascii_uppercase);
    Ok(match word.as_deref() {
        None | Some("FIND_OR_CREATE_VERSION" | "RETURN_OR_UPDATE" | "RETURN") => {
            "FIND_OR_CREATE_VERSION"
        }
        Some("CREATE_VERSION" | "UPDATE") => "CREATE_VERSION",
        Some("FAIL") => "FAIL",
        Some(_) => {
            let remedy = "use FIND_OR_CREATE_VERSION, CREATE_VERSION or FAIL";
            return Err(options.invalid(OPTION, remedy));
        }
    }
    .to_owned())
}

/// A store of certificates in PEM form.
fn pem(options: &Options<'_>, prefix: &str) -> Result<Option<String>> {
    let location = format!("{prefix}.location");
    let Some(path) = options.get(&location) else { return Ok(None) };
    let kind = format!("{prefix}.type");
    match options.get(&kind).map(str::to_ascii_uppercase).as_deref() {
        None | Some("PEM") => Ok(Some(path.to_owned())),
        Some(_) => Err(options.invalid(
            &kind,
            "Java's key stores are not read: use PEM (keytool -exportcert -rfc, or openssl pkcs12)",
        )),
    }
}

#[cfg(test)]
mod tests;
