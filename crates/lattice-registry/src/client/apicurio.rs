//! Apicurio's core API, versions 2 and 3.
//!
//! A subject is an artifact's id; one in another group than `default` is written `group:artifact`.

use std::sync::Arc;

use lattice_core::Result;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Fetched, RegistryClient, id_from,
    settings::{Dialect, IdKind},
    transport::{Answer, Call},
};
use crate::{NewSchema, Reference, RegisteredSchema, SchemaId};

const JSON: &str = "application/json";
const DEFAULT: &str = "default";

/// The members of a version's metadata that matter, in both API versions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    global_id: i64,
    content_id: i64,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    version: Value,
}

#[derive(Deserialize)]
struct Created {
    version: Version,
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Artifacts {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    #[serde(default)]
    group_id: Option<String>,
    #[serde(alias = "id")]
    artifact_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceBody {
    #[serde(default)]
    group_id: Option<String>,
    artifact_id: String,
    #[serde(default)]
    version: Option<String>,
    name: String,
}

/// Where a subject lies.
struct Place<'a> {
    group: &'a str,
    artifact: &'a str,
}

impl RegistryClient {
    fn place<'a>(&'a self, subject: &'a str) -> Place<'a> {
        let (group, artifact) = subject.split_once(':').unwrap_or((DEFAULT, subject));
        let given = &self.settings.coordinates;
        Place {
            group: given.group.as_deref().unwrap_or(group),
            artifact: given.artifact.as_deref().unwrap_or(artifact),
        }
    }

    fn id(&self, version: &Version, what: &str) -> Result<SchemaId> {
        id_from(
            match self.settings.ids {
                IdKind::Content => version.content_id,
                IdKind::Global => version.global_id,
            },
            what,
        )
    }

    async fn wanted(&self, call: Call<'_>, what: &str) -> Result<Answer> {
        let answer = self.transport.send(&self.settings, call).await?;
        if answer.is_success() { Ok(answer) } else { Err(self.refusal(what, &answer)) }
    }

    pub(super) async fn apicurio_v3_register(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let Place { group, artifact } = self.place(subject);
        let what = format!("register the schema of artifact \"{artifact}\" in group \"{group}\"");
        let mut first = json!({ "content": { "content": schema.schema, "contentType": JSON } });
        if let Some(version) = &self.settings.coordinates.version {
            first["version"] = version.as_str().into();
        }
        let body = json!({
            "artifactId": artifact, "artifactType": schema.schema_type, "firstVersion": first,
        });
        let path = ["groups", group, "artifacts"];
        let query = [("ifExists", self.settings.if_exists.as_str()), ("canonical", "true")];
        let call = Call::post(&path, JSON, body.to_string()).query(&query);
        let answer = self.wanted(call, &what).await?;
        self.id(&self.parsed::<Created>(&what, &answer)?.version, &what)
    }

    pub(super) async fn apicurio_v2_register(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let Place { group, artifact } = self.place(subject);
        let what = format!("register the schema of artifact \"{artifact}\" in group \"{group}\"");
        let if_exists = match self.settings.if_exists.as_str() {
            "CREATE_VERSION" => "UPDATE",
            "FAIL" => "FAIL",
            _ => "RETURN_OR_UPDATE",
        };
        let path = ["groups", group, "artifacts"];
        let mut headers = vec![
            ("X-Registry-ArtifactId", artifact),
            ("X-Registry-ArtifactType", schema.schema_type),
        ];
        let version = self.settings.coordinates.version.as_deref();
        headers.extend(version.map(|version| ("X-Registry-Version", version)));
        let call = Call {
            method: Method::POST,
            path: &path,
            query: &[("ifExists", if_exists), ("canonical", "true")],
            body: Some((JSON, schema.schema.clone())),
            headers: &headers,
        };
        let answer = self.wanted(call, &what).await?;
        self.id(&self.parsed(&what, &answer)?, &what)
    }

    pub(super) async fn apicurio_v3_lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let Place { group, artifact } = self.place(subject);
        let what = format!("find the schema in artifact \"{artifact}\" of group \"{group}\"");
        let query = [
            ("groupId", group),
            ("artifactId", artifact),
            ("canonical", "true"),
            ("artifactType", schema.schema_type),
            ("orderby", "globalId"),
            ("order", "desc"),
            ("limit", "100"),
        ];
        let call = Call::post(&["search", "versions"], JSON, schema.schema.clone()).query(&query);
        let answer = self.wanted(call, &what).await?;
        let found: Versions = self.parsed(&what, &answer)?;
        let live = |version: &&Version| version.state.as_deref() != Some("DISABLED");
        match found.versions.iter().find(live) {
            Some(version) => self.id(version, &what),
            None => {
                let body = "no version of it has this content".into();
                Err(self.refusal(&what, &Answer { status: 404, body }))
            }
        }
    }

    pub(super) async fn apicurio_v2_lookup(
        &self,
        subject: &str,
        schema: &NewSchema,
    ) -> Result<SchemaId> {
        let Place { group, artifact } = self.place(subject);
        let what = format!("find the schema in artifact \"{artifact}\" of group \"{group}\"");
        let path = ["groups", group, "artifacts", artifact, "meta"];
        let query = [("canonical", "true")];
        let call = Call::post(&path, JSON, schema.schema.clone()).query(&query);
        let answer = self.wanted(call, &what).await?;
        self.id(&self.parsed(&what, &answer)?, &what)
    }

    /// The version that the configuration names, else the latest.
    pub(super) async fn apicurio_latest(&self, subject: &str) -> Result<(SchemaId, Fetched)> {
        let Place { group, artifact } = self.place(subject);
        let given = self.settings.coordinates.version.as_deref();
        let version = given.unwrap_or(match self.settings.dialect {
            Dialect::ApicurioV2 => "latest",
            Dialect::Confluent | Dialect::ApicurioV3 => "branch=latest",
        });
        let what = format!("get version {version} of artifact \"{artifact}\" in group \"{group}\"");
        let metadata = self.apicurio_metadata(group, artifact, version, &what).await?;
        let id = self.id(&metadata, &what)?;
        Ok((id, self.apicurio_schema(id).await?))
    }

    async fn apicurio_metadata(
        &self,
        group: &str,
        artifact: &str,
        version: &str,
        what: &str,
    ) -> Result<Version> {
        let answer = match (self.settings.dialect, version) {
            (Dialect::ApicurioV2, "latest") => {
                let path = ["groups", group, "artifacts", artifact, "meta"];
                self.wanted(Call::get(&path), what).await?
            }
            (Dialect::ApicurioV2, version) => {
                let path = ["groups", group, "artifacts", artifact, "versions", version, "meta"];
                self.wanted(Call::get(&path), what).await?
            }
            (Dialect::Confluent | Dialect::ApicurioV3, version) => {
                let path = ["groups", group, "artifacts", artifact, "versions", version];
                self.wanted(Call::get(&path), what).await?
            }
        };
        self.parsed(what, &answer)
    }

    pub(super) async fn apicurio_schema(&self, id: SchemaId) -> Result<Fetched> {
        let kind = match self.settings.ids {
            IdKind::Content => "contentIds",
            IdKind::Global => "globalIds",
        };
        let number = id.0.to_string();
        let path = ["ids", kind, &number];
        let answer = self.transport.send(&self.settings, Call::get(&path)).await?;
        if answer.status == 404 {
            return Err(self.unknown(id, &answer));
        }
        let what = format!("get schema {number}");
        if !answer.is_success() {
            return Err(self.refusal(&what, &answer));
        }
        let text = self.utf8(&what, &answer)?;
        let path = ["ids", kind, &number, "references"];
        let answer = self.wanted(Call::get(&path), &what).await?;
        Ok(Fetched { text, references: self.references(&what, &answer)? })
    }

    pub(super) async fn apicurio_version(&self, reference: &Reference) -> Result<Fetched> {
        let Reference { name, subject, version } = reference;
        let (group, artifact) = subject.split_once(':').unwrap_or((DEFAULT, subject));
        let what = format!(
            "get version {version} of artifact \"{artifact}\" in group \"{group}\", which holds {name}"
        );
        let number = version.to_string();
        let metadata = self.apicurio_metadata(group, artifact, &number, &what).await?;
        self.apicurio_schema(self.id(&metadata, &what)?).await
    }

    fn references(&self, what: &str, answer: &Answer) -> Result<Vec<Reference>> {
        let list: Vec<ReferenceBody> = self.parsed(what, answer)?;
        Ok(list
            .into_iter()
            .map(|body| Reference {
                name: body.name,
                subject: subject_of(body.group_id.as_deref(), &body.artifact_id),
                version: body.version.and_then(|version| version.parse().ok()).unwrap_or(1),
            })
            .collect())
    }

    fn utf8(&self, what: &str, answer: &Answer) -> Result<String> {
        String::from_utf8(answer.body.to_vec()).map_err(|error| {
            lattice_core::Error::schema(format!("{what}: the text is not UTF-8")).with_source(error)
        })
    }

    pub(super) async fn apicurio_subjects(&self) -> Result<Vec<Arc<str>>> {
        const PAGE: usize = 500;
        let mut subjects = Vec::new();
        loop {
            let offset = subjects.len().to_string();
            let query = [("offset", offset.as_str()), ("limit", "500")];
            let call = Call::get(&["search", "artifacts"]).query(&query);
            let answer = self.wanted(call, "list the artifacts").await?;
            let page: Artifacts = self.parsed("list the artifacts", &answer)?;
            let count = page.artifacts.len();
            subjects.extend(page.artifacts.iter().map(|artifact| {
                Arc::from(subject_of(artifact.group_id.as_deref(), &artifact.artifact_id))
            }));
            if count < PAGE {
                return Ok(subjects);
            }
        }
    }

    pub(super) async fn apicurio_versions(&self, subject: &str) -> Result<Vec<RegisteredSchema>> {
        let Place { group, artifact } = self.place(subject);
        let what = format!("list the versions of artifact \"{artifact}\" in group \"{group}\"");
        let path = ["groups", group, "artifacts", artifact, "versions"];
        let call = Call::get(&path).query(&[("limit", "500")]);
        let answer = self.transport.send(&self.settings, call).await?;
        if answer.status == 404 {
            return Ok(Vec::new());
        }
        if !answer.is_success() {
            return Err(self.refusal(&what, &answer));
        }
        let mut versions = Vec::new();
        for (order, version) in (1..).zip(self.parsed::<Versions>(&what, &answer)?.versions) {
            let id = self.id(&version, &what)?;
            let fetched = self.apicurio_schema(id).await?;
            versions.push(RegisteredSchema {
                id,
                subject: subject.into(),
                version: version
                    .version
                    .as_str()
                    .and_then(|name| name.parse().ok())
                    .unwrap_or(order),
                schema_type: "AVRO",
                schema: fetched.text.into(),
                references: fetched.references,
                deleted: version.state.as_deref() == Some("DISABLED"),
                ..RegisteredSchema::default()
            });
        }
        Ok(versions)
    }
}

fn subject_of(group: Option<&str>, artifact: &str) -> String {
    match group {
        None | Some("" | DEFAULT) => artifact.to_owned(),
        Some(group) => format!("{group}:{artifact}"),
    }
}
