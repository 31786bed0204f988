//! Our own registry, in the process and behind a socket.

#![allow(clippy::unwrap_used)] // helpers of tests, outside of the tests' own functions

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Body, http::Request};
use bytes::Bytes;
use lattice_core::{BoxFuture, Result, config::Config, store::DocumentStore};
use lattice_registry::{ClientSettings, EmbeddedRegistry, RegistryClient, apicurio_routes, routes};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Documents in memory; the embedded log's store has its own tests.
#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<(String, String), Bytes>>);

impl DocumentStore for Memory {
    fn put<'a>(
        &'a self,
        namespace: &'a str,
        documents: Vec<(String, Option<Bytes>)>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut all = self.0.lock().unwrap();
            for (key, document) in documents {
                let key = (namespace.to_owned(), key);
                match document {
                    Some(document) => all.insert(key, document),
                    None => all.remove(&key),
                };
            }
            Ok(())
        })
    }

    fn scan<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<Vec<(String, Bytes)>>> {
        Box::pin(async move {
            let all = self.0.lock().unwrap();
            let of_namespace = all.iter().filter(|((space, _), _)| space == namespace);
            Ok(of_namespace.map(|((_, key), value)| (key.clone(), value.clone())).collect())
        })
    }
}

/// Requests to the routes themselves, without a socket.
pub(crate) struct Client(pub(crate) Router);

impl Client {
    pub(crate) async fn new(store: Arc<Memory>) -> Self {
        Self(routes(EmbeddedRegistry::open(store).await.unwrap()))
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/vnd.schemaregistry.v1+json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = self.0.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    pub(crate) async fn register(&self, subject: &str, schema: &str) -> (u16, Value) {
        let body = json!({ "schema": schema, "metadata": null, "ruleSet": null });
        self.send("POST", &format!("/subjects/{subject}/versions"), &body.to_string()).await
    }
}

pub(crate) const V1: &str = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}"#;
pub(crate) const V2: &str = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"],"default":null}]}"#;
pub(crate) const V3: &str = r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"c","type":"string"}]}"#;

/// Serves routes on a port of loopback until the test ends; gives the base URL.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// A registry of our own behind a socket, with both APIs at the paths that Apicurio has.
pub(crate) async fn own_as_apicurio() -> String {
    let registry = EmbeddedRegistry::open(Arc::<Memory>::default()).await.unwrap();
    let apis = Router::new()
        .nest("/apis/ccompat/v7", routes(Arc::clone(&registry)))
        .nest("/apis/registry/v3", apicurio_routes(registry));
    serve(apis).await
}

/// A registry of our own behind a socket.
pub(crate) async fn own() -> String {
    serve(routes(EmbeddedRegistry::open(Arc::<Memory>::default()).await.unwrap())).await
}

/// The settings that these options of `value.converter` make.
pub(crate) fn settings(options: &[(&str, &str)]) -> ClientSettings {
    let mut config = Config::default();
    for (option, value) in options {
        config.set(format!("value.converter.{option}"), *value);
    }
    ClientSettings::from_config("value", &config).unwrap().unwrap()
}

/// A client with these options of `value.converter`.
pub(crate) fn client(options: &[(&str, &str)]) -> RegistryClient {
    RegistryClient::new(settings(options)).unwrap()
}
