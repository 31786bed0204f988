//! A client of registries elsewhere: Confluent's API and Apicurio's, behind [`SchemaRegistry`].
//!
//! Read [`ClientSettings`] first (what a converter's options say), then `transport` (one exchange:
//! failover, credentials, retries), then `confluent` and `apicurio` (what each API is asked).

mod apicurio;
mod auth;
mod cache;
mod confluent;
mod settings;
mod tls;
mod transport;

use std::sync::Arc;

use lattice_core::{BoxFuture, Error, Result};
use serde::Deserialize;
use serde_json::Value;

use self::{
    cache::Cache,
    settings::{Dialect, Registering},
    transport::{Answer, Transport},
};
use crate::{
    NewSchema, Reference, RegisteredSchema, SchemaId, SchemaRegistry,
    avro::{self, difference, inline},
};

pub use settings::ClientSettings;

/// References that refer to others, and so on, end here.
const MAX_DEPTH: usize = 30;

/// A registry elsewhere.
pub struct RegistryClient {
    settings: ClientSettings,
    transport: Transport,
    cache: Cache,
}

/// A schema as a registry gives it.
struct Fetched {
    text: String,
    references: Vec<Reference>,
}

impl RegistryClient {
    /// Makes a client. Nothing is asked yet.
    ///
    /// Errors: `Config` for files and options of TLS that cannot be used.
    pub fn new(settings: ClientSettings) -> Result<Self> {
        let transport = Transport::new(&settings)?;
        Ok(Self { settings, transport, cache: Cache::default() })
    }

    /// What it was made of.
    #[must_use]
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    async fn id_of(&self, subject: &str, schema: &NewSchema) -> Result<SchemaId> {
        if let Some(id) = self.cache.id(subject, &schema.schema) {
            return Ok(id);
        }
        let id = match self.settings.registering {
            Registering::Auto => match self.settings.dialect {
                Dialect::Confluent => self.confluent_register(subject, schema).await?,
                Dialect::ApicurioV2 => self.apicurio_v2_register(subject, schema).await?,
                Dialect::ApicurioV3 => self.apicurio_v3_register(subject, schema).await?,
            },
            Registering::Lookup => match self.settings.dialect {
                Dialect::Confluent => self.confluent_lookup(subject, schema).await?,
                Dialect::ApicurioV2 => self.apicurio_v2_lookup(subject, schema).await?,
                Dialect::ApicurioV3 => self.apicurio_v3_lookup(subject, schema).await?,
            },
            Registering::Latest => {
                let (id, latest) = match self.settings.dialect {
                    Dialect::Confluent => self.confluent_latest(subject).await?,
                    Dialect::ApicurioV2 | Dialect::ApicurioV3 => {
                        self.apicurio_latest(subject).await?
                    }
                };
                let text = self.standing_alone(latest).await?;
                let what = format!("the latest version of subject \"{subject}\"");
                same_bytes(&schema.schema, &text, &what)?;
                id
            }
            Registering::Id(id) => {
                let id = SchemaId(id);
                let text = self.text_of(id).await?;
                same_bytes(&schema.schema, &text, &format!("schema {}", id.0))?;
                id
            }
        };
        self.cache.put_id(subject, &schema.schema, id);
        Ok(id)
    }

    async fn text_of(&self, id: SchemaId) -> Result<Arc<str>> {
        if let Some(text) = self.cache.text(id) {
            return Ok(text);
        }
        let fetched = match self.settings.dialect {
            Dialect::Confluent => self.confluent_schema(id).await?,
            Dialect::ApicurioV2 | Dialect::ApicurioV3 => self.apicurio_schema(id).await?,
        };
        let text: Arc<str> = self.standing_alone(fetched).await?.into();
        self.cache.put_text(id, &text);
        Ok(text)
    }

    /// The schema's text with everything in it that it refers to.
    async fn standing_alone(&self, schema: Fetched) -> Result<String> {
        if schema.references.is_empty() {
            return Ok(schema.text);
        }
        let mut texts = Vec::new();
        let mut open: Vec<(Reference, usize)> =
            schema.references.into_iter().map(|reference| (reference, 0)).collect();
        let mut met: Vec<(String, i32)> = Vec::new();
        while let Some((reference, depth)) = open.pop() {
            let place = (reference.subject.clone(), reference.version);
            if met.contains(&place) {
                continue;
            }
            met.push(place);
            if depth > MAX_DEPTH {
                return Err(Error::schema("schemas refer to each other without end"));
            }
            let found = match self.settings.dialect {
                Dialect::Confluent => self.confluent_version(&reference).await?,
                Dialect::ApicurioV2 | Dialect::ApicurioV3 => {
                    self.apicurio_version(&reference).await?
                }
            };
            texts.push(found.text);
            open.extend(found.references.into_iter().map(|reference| (reference, depth + 1)));
        }
        Ok(inline(&schema.text, texts.iter().map(String::as_str)))
    }

    /// An answer that is neither what was wanted nor a matter of the connection.
    fn refusal(&self, what: &str, answer: &Answer) -> Error {
        let words = words(&answer.body);
        let base = self.settings.urls.first().map(ToString::to_string).unwrap_or_default();
        let violated = answer.status == 409
            || serde_json::from_slice::<Value>(&answer.body)
                .is_ok_and(|body| body["name"] == "RuleViolationException");
        let message = format!("{what}: the registry says: {words}");
        match answer.status {
            _ if violated => Error::schema(message).with_remedy(
                "make the column nullable or give it a default, or set the subject's \
                 compatibility level to NONE in the registry",
            ),
            422 => Error::schema(message),
            404 => Error::schema(message).with_remedy(format!(
                "register it, or let the converter do so (auto.register.schemas=true, \
                 apicurio.registry.auto-register=true), and check that {base} is the right registry"
            )),
            status => Error::config(format!("{what}: {base} answered HTTP {status}: {words}"))
                .with_remedy(
                    "check that the converter's registry URL names a schema registry's API",
                ),
        }
    }

    fn parsed<T: for<'de> Deserialize<'de>>(&self, what: &str, answer: &Answer) -> Result<T> {
        serde_json::from_slice(&answer.body).map_err(|error| {
            let base = self.settings.urls.first().map(ToString::to_string).unwrap_or_default();
            Error::config(format!("{what}: {base} answered something else than expected"))
                .with_remedy(
                    "check that the converter's registry URL names a schema registry's API",
                )
                .with_source(error)
        })
    }
}

impl SchemaRegistry for RegistryClient {
    fn register<'a>(
        &'a self,
        subject: &'a str,
        schema: NewSchema,
    ) -> BoxFuture<'a, Result<SchemaId>> {
        Box::pin(async move { self.id_of(subject, &schema).await })
    }

    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Arc<str>>> {
        Box::pin(self.text_of(id))
    }

    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>> {
        Box::pin(async move {
            match self.settings.dialect {
                Dialect::Confluent => self.confluent_subjects().await,
                Dialect::ApicurioV2 | Dialect::ApicurioV3 => self.apicurio_subjects().await,
            }
        })
    }

    fn versions<'a>(&'a self, subject: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>> {
        Box::pin(async move {
            match self.settings.dialect {
                Dialect::Confluent => self.confluent_versions(subject).await,
                Dialect::ApicurioV2 | Dialect::ApicurioV3 => self.apicurio_versions(subject).await,
            }
        })
    }
}

/// A schema that is not ours may only be written with when it makes the same bytes.
fn same_bytes(ours: &str, theirs: &str, what: &str) -> Result<()> {
    let parsed = |text: &str, whose: &str| {
        avro::Schema::parse(text)
            .map_err(|error| Error::schema(format!("parse {whose}")).with_source(error))
    };
    match difference(&parsed(ours, "our own schema")?, &parsed(theirs, what)?) {
        None => Ok(()),
        Some(difference) => {
            Err(Error::schema(format!("{what} does not fit the table: {difference}")).with_remedy(
                "register the table's own schema, or let the converter do so: \
                 auto.register.schemas=true, apicurio.registry.auto-register=true",
            ))
        }
    }
}

/// An id that fits the wire form.
fn id_from(number: i64, what: &str) -> Result<SchemaId> {
    i32::try_from(number)
        .map(SchemaId)
        .map_err(|_| Error::schema(format!("{what}: the id {number} does not fit four bytes")))
}

/// The registry's own words in an error's body, in whatever form it has them.
fn words(body: &[u8]) -> String {
    const LONGEST: usize = 2000;
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = ["message", "detail", "title"].iter().find_map(|member| json[member].as_str());
    let mut text = text.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    let causes = json["causes"].as_array().into_iter().flatten();
    for cause in causes.filter_map(|cause| cause["description"].as_str()) {
        if !text.contains(cause) {
            text.push_str("; ");
            text.push_str(cause);
        }
    }
    if text.trim().is_empty() {
        return "nothing".to_owned();
    }
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
