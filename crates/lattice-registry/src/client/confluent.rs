//! Confluent's API, which Apicurio, Karapace, Redpanda and Lattice serve too.

use std::sync::Arc;

use lattice_core::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Fetched, RegistryClient, id_from,
    transport::{Answer, Call},
};
use crate::{NewSchema, Reference, RegisteredSchema, SchemaId};

const CONTENT: &str = "application/vnd.schemaregistry.v1+json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemaBody {
    #[serde(default)]
    id: i64,
    #[serde(default)]
    version: i32,
    #[serde(default)]
    schema_type: Option<String>,
    #[serde(default)]
    schema: String,
    #[serde(default)]
    references: Vec<ReferenceBody>,
}

#[derive(Deserialize)]
struct ReferenceBody {
    name: String,
    subject: String,
    version: i32,
}

#[derive(Deserialize)]
struct IdBody {
    id: i64,
}

impl From<SchemaBody> for Fetched {
    fn from(body: SchemaBody) -> Self {
        let references = body.references.into_iter().map(Reference::from).collect();
        Self { text: body.schema, references }
    }
}

impl From<ReferenceBody> for Reference {
    fn from(ReferenceBody { name, subject, version }: ReferenceBody) -> Self {
        Self { name, subject, version }
    }
}

fn body_of(schema: &NewSchema) -> String {
    let mut body = json!({ "schema": schema.schema });
    if schema.schema_type != "AVRO" {
        body["schemaType"] = schema.schema_type.into();
    }
    if !schema.references.is_empty() {
        let reference = |one: &Reference| json!({ "name": one.name, "subject": one.subject, "version": one.version });
        body["references"] = schema.references.iter().map(reference).collect();
    }
    body.to_string()
}

impl RegistryClient {
    pub(super) async fn confluent_register(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let path = ["subjects", subject, "versions"];
        let what = format!("register the schema of subject \"{subject}\"");
        self.confluent_id(&path, schema, &what).await
    }

    pub(super) async fn confluent_lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let what = format!("find the schema in subject \"{subject}\"");
        self.confluent_id(&["subjects", subject], schema, &what).await
    }

    async fn confluent_id(
        &self,
        path: &[&str],
        schema: &NewSchema,
        what: &str,
    ) -> Result<SchemaId> {
        let normalize = [("normalize", "true")];
        let query: &[_] = if self.settings.normalize { &normalize } else { &[] };
        let call = Call::post(path, CONTENT, body_of(schema)).query(query);
        let answer = self.transport.send(&self.settings, call).await?;
        if !answer.is_success() {
            return Err(self.refusal(what, &answer));
        }
        id_from(self.parsed::<IdBody>(what, &answer)?.id, what)
    }

    pub(super) async fn confluent_latest(&self, subject: &str) -> Result<(SchemaId, Fetched)> {
        let what = format!("get the latest version of subject \"{subject}\"");
        let path = ["subjects", subject, "versions", "latest"];
        let body: SchemaBody = self.confluent_get(&path, &[], &what).await?;
        Ok((id_from(body.id, &what)?, body.into()))
    }

    pub(super) async fn confluent_version(&self, reference: &Reference) -> Result<Fetched> {
        let Reference { name, subject, version } = reference;
        let what = format!("get version {version} of subject \"{subject}\", which holds {name}");
        let path = ["subjects", subject, "versions", &version.to_string()];
        let body: SchemaBody = self.confluent_get(&path, &[("deleted", "true")], &what).await?;
        Ok(body.into())
    }

    pub(super) async fn confluent_schema(&self, id: SchemaId) -> Result<Fetched> {
        let number = id.0.to_string();
        let path = ["schemas", "ids", &number];
        let answer = self.transport.send(&self.settings, Call::get(&path)).await?;
        if answer.status == 404 {
            return Err(self.unknown(id, &answer));
        }
        let what = format!("get schema {number}");
        if !answer.is_success() {
            return Err(self.refusal(&what, &answer));
        }
        Ok(self.parsed::<SchemaBody>(&what, &answer)?.into())
    }

    pub(super) fn unknown(&self, id: SchemaId, answer: &Answer) -> Error {
        let base = self.settings.urls.first().map(ToString::to_string).unwrap_or_default();
        let words = super::words(&answer.body);
        Error::data(format!("schema {} is not in the registry at {base}: {words}", id.0))
            .with_remedy("the record was written with another registry, or the schema was deleted")
    }

    async fn confluent_get<T: for<'de> Deserialize<'de>>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        what: &str,
    ) -> Result<T> {
        let answer = self.transport.send(&self.settings, Call::get(path).query(query)).await?;
        if !answer.is_success() {
            return Err(self.refusal(what, &answer));
        }
        self.parsed(what, &answer)
    }

    pub(super) async fn confluent_subjects(&self) -> Result<Vec<Arc<str>>> {
        let names: Vec<String> =
            self.confluent_get(&["subjects"], &[], "list the subjects").await?;
        Ok(names.into_iter().map(Arc::from).collect())
    }

    pub(super) async fn confluent_versions(&self, subject: &str) -> Result<Vec<RegisteredSchema>> {
        let what = format!("list the versions of subject \"{subject}\"");
        let path = ["subjects", subject, "versions"];
        let answer = self.transport.send(&self.settings, Call::get(&path)).await?;
        if answer.status == 404 {
            return Ok(Vec::new());
        }
        if !answer.is_success() {
            return Err(self.refusal(&what, &answer));
        }
        let mut versions = Vec::new();
        for number in self.parsed::<Vec<Value>>(&what, &answer)? {
            let path = ["subjects", subject, "versions", &number.to_string()];
            let body: SchemaBody = self.confluent_get(&path, &[], &what).await?;
            versions.push(RegisteredSchema {
                id: id_from(body.id, &what)?,
                subject: subject.into(),
                version: body.version,
                schema_type: match body.schema_type.as_deref() {
                    Some("JSON") => "JSON",
                    Some("PROTOBUF") => "PROTOBUF",
                    _ => "AVRO",
                },
                schema: body.schema.into(),
                references: body.references.into_iter().map(Reference::from).collect(),
                ..RegisteredSchema::default()
            });
        }
        Ok(versions)
    }
}
