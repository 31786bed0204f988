//! The client against a real Apicurio, by each of its APIs, and against our own registry.

#![allow(clippy::unwrap_used)] // helpers of tests, outside of the tests' own functions

use std::sync::atomic::{AtomicU32, Ordering};

use lattice_core::ErrorKind;
use lattice_registry::{NewSchema, RegistryClient, SchemaId, SchemaRegistry};
use lattice_testkit::service;
use serde_json::Value;

use crate::support::{V1, V2, V3, client, own, own_as_apicurio};

/// A registry under test: how a client is told of it.
struct Backend {
    name: &'static str,
    /// The options that name it, and the Confluent-compatible API for what the client does not do.
    options: Vec<(String, String)>,
    admin: String,
}

impl Backend {
    fn client(&self, more: &[(&str, &str)]) -> RegistryClient {
        let mut options: Vec<(&str, &str)> =
            self.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        options.extend(more);
        client(&options)
    }

    /// A client that registers, whatever the library's default.
    fn registering(&self) -> RegistryClient {
        self.client(&[("apicurio.registry.auto-register", "true")])
    }

    async fn put_level(&self, subject: &str, level: &str) {
        let url = format!("{}/config/{subject}", self.admin);
        let body = format!("{{\"compatibility\":\"{level}\"}}");
        let request = http().put(url).header("content-type", "application/json").body(body);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}: {}", self.name, answer.text().await.unwrap());
    }
}

fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn backends() -> Vec<Backend> {
    let apicurio = service("LATTICE_TEST_APICURIO");
    let ccompat = format!("{apicurio}/apis/ccompat/v7");
    let own = own().await;
    let both = own_as_apicurio().await;
    let option = |name: &str, value: String| vec![(name.to_owned(), value)];
    let core = |version: &str| {
        option("apicurio.registry.url", format!("{apicurio}/apis/registry/{version}"))
    };
    vec![
        Backend { name: "Apicurio v3", options: core("v3"), admin: ccompat.clone() },
        Backend { name: "Apicurio v2", options: core("v2"), admin: ccompat.clone() },
        Backend {
            name: "Apicurio ccompat",
            options: option("schema.registry.url", ccompat.clone()),
            admin: ccompat,
        },
        Backend {
            name: "Lattice v3",
            options: option("apicurio.registry.url", format!("{both}/apis/registry/v3")),
            admin: format!("{both}/apis/ccompat/v7"),
        },
        Backend {
            name: "Lattice",
            options: option("schema.registry.url", own.clone()),
            admin: own,
        },
    ]
}

/// A subject that no other test and no earlier run has.
fn subject(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{name}-{}-{}-value", now.as_nanos(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn what_is_registered_is_found_by_its_id_and_keeps_it() {
    for backend in backends().await {
        let (name, subject) = (backend.name, subject("roundtrip"));
        let registry = backend.registering();
        let first = registry.register(&subject, NewSchema::avro(V1)).await.unwrap();
        let second = registry.register(&subject, NewSchema::avro(V2)).await.unwrap();
        assert_ne!(first, second, "{name}");
        // Another client asks the registry and not its memory.
        let other = backend.registering();
        assert_eq!(other.register(&subject, NewSchema::avro(V1)).await.unwrap(), first, "{name}");
        assert_eq!(json(&other.schema(first).await.unwrap()), json(V1), "{name}");
        assert_eq!(json(&other.schema(second).await.unwrap()), json(V2), "{name}");
        let versions = other.versions(&subject).await.unwrap();
        let found: Vec<_> = versions.iter().map(|version| (version.version, version.id)).collect();
        assert_eq!(found, [(1, first), (2, second)], "{name}");
        let subjects = other.subjects().await.unwrap();
        assert!(subjects.iter().any(|found| **found == *subject), "{name}: {subjects:?}");
        assert!(other.versions("no-such-subject").await.unwrap().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn an_incompatible_schema_is_a_schema_error_with_the_registrys_words() {
    for backend in backends().await {
        let (name, subject) = (backend.name, subject("incompatible"));
        let registry = backend.registering();
        registry.register(&subject, NewSchema::avro(V1)).await.unwrap();
        backend.put_level(&subject, "BACKWARD").await;
        let error = registry.register(&subject, NewSchema::avro(V3)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{name}: {}", error.chain());
        let message = error.to_string();
        assert!(message.contains(&subject) && message.contains("ncompatible"), "{name}: {message}");
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("nullable")), "{name}");
        assert_eq!(registry.versions(&subject).await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn without_registering_a_schema_must_be_there() {
    for backend in backends().await {
        let (name, subject) = (backend.name, subject("lookup"));
        let lookup = backend.client(&[("auto.register.schemas", "false")]);
        let error = lookup.register(&subject, NewSchema::avro(V1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{name}: {}", error.chain());
        assert!(error.chain().contains(&subject), "{name}: {}", error.chain());
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("register")), "{name}");
        let id = backend.registering().register(&subject, NewSchema::avro(V1)).await.unwrap();
        assert_eq!(lookup.register(&subject, NewSchema::avro(V1)).await.unwrap(), id, "{name}");
        let other = lookup.register(&subject, NewSchema::avro(V2)).await.unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Schema, "{name}: {}", other.chain());
    }
}

#[tokio::test]
async fn the_latest_version_is_used_only_where_it_makes_the_same_bytes() {
    const DOCUMENTED: &str = r#"{"type":"record","name":"R","doc":"by hand","fields":[{"name":"a","type":"int","doc":"x"}]}"#;
    for backend in backends().await {
        let (name, subject) = (backend.name, subject("latest"));
        let id =
            backend.registering().register(&subject, NewSchema::avro(DOCUMENTED)).await.unwrap();
        let latest = backend.client(&[
            ("auto.register.schemas", "false"),
            ("use.latest.version", "true"),
            ("apicurio.registry.find-latest", "true"),
        ]);
        assert_eq!(latest.register(&subject, NewSchema::avro(V1)).await.unwrap(), id, "{name}");
        let error = latest.register(&subject, NewSchema::avro(V2)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{name}");
        assert!(error.to_string().contains("field b is missing"), "{name}: {error}");
        assert_eq!(backend.registering().versions(&subject).await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn an_unknown_id_is_a_data_error() {
    for backend in backends().await {
        let error = backend.registering().schema(SchemaId(2_000_000_000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{}: {}", backend.name, error.chain());
        assert!(error.to_string().contains("2000000000"), "{}: {error}", backend.name);
    }
}

#[tokio::test]
async fn a_schema_that_refers_to_others_is_read_whole() {
    const INNER: &str =
        r#"{"type":"record","name":"x.Inner","fields":[{"name":"i","type":"int"}]}"#;
    const MIDDLE: &str = r#"{"type":"record","name":"x.Middle","fields":[{"name":"a","type":"Inner"},{"name":"b","type":["null","x.Inner"]}]}"#;
    const OUTER: &str = r#"{"type":"record","name":"Outer","fields":[{"name":"m","type":"x.Middle"},{"name":"l","type":{"type":"array","items":"x.Inner"}}]}"#;
    for backend in backends().await {
        let name = backend.name;
        let [inner, middle, outer] = ["inner", "middle", "outer"].map(subject);
        let register = |subject: String,
                        schema: &'static str,
                        refers: Vec<(&'static str, String)>| {
            let admin = backend.admin.clone();
            async move {
                let references: Vec<Value> = refers
                    .into_iter()
                    .map(|(name, subject)| serde_json::json!({ "name": name, "subject": subject, "version": 1 }))
                    .collect();
                let body = serde_json::json!({ "schema": schema, "references": references });
                let answer = http()
                    .post(format!("{admin}/subjects/{subject}/versions"))
                    .header("content-type", "application/vnd.schemaregistry.v1+json")
                    .body(body.to_string())
                    .send()
                    .await
                    .unwrap();
                let text = answer.text().await.unwrap();
                i32::try_from(json(&text)["id"].as_i64().unwrap_or_else(|| panic!("{text}")))
                    .unwrap()
            }
        };
        register(inner.clone(), INNER, vec![]).await;
        register(middle.clone(), MIDDLE, vec![("x.Inner", inner.clone())]).await;
        let refers = vec![("x.Middle", middle), ("x.Inner", inner)];
        let id = register(outer, OUTER, refers).await;
        let text = backend.registering().schema(SchemaId(id)).await.unwrap();
        lattice_registry::avro::Schema::parse(&text)
            .unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        assert_eq!(text.matches("\"i\"").count(), 1, "{name}: each type is written once: {text}");
    }
}

#[tokio::test]
async fn apicurios_groups_artifacts_and_global_ids_are_used_as_configured() {
    let url = format!("{}/apis/registry/v3", service("LATTICE_TEST_APICURIO"));
    let group = subject("group");
    let options = [
        ("apicurio.registry.url", url.as_str()),
        ("apicurio.registry.auto-register", "true"),
        ("apicurio.registry.use-id", "globalId"),
    ];
    let global = client(&options);
    let qualified = format!("{group}:Envelope");
    let id = global.register(&qualified, NewSchema::avro(V1)).await.unwrap();
    assert_eq!(json(&global.schema(id).await.unwrap()), json(V1));
    let answer =
        http().get(format!("{url}/groups/{group}/artifacts/Envelope/versions/1")).send().await;
    let metadata = json(&answer.unwrap().text().await.unwrap());
    assert_eq!(metadata["globalId"], id.0, "{metadata}");
    let mut explicit = options.to_vec();
    explicit.extend([
        ("apicurio.registry.artifact.group-id", group.as_str()),
        ("apicurio.registry.artifact.artifact-id", "Chosen"),
    ]);
    client(&explicit).register("whatever", NewSchema::avro(V1)).await.unwrap();
    let answer = http().get(format!("{url}/groups/{group}/artifacts/Chosen")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}
