//! The client where things fail: our own registry behind a gate that misbehaves.

#![allow(clippy::unwrap_used)] // helpers of tests, outside of the tests' own functions

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{any, post},
};
use lattice_core::ErrorKind;
use lattice_registry::{EmbeddedRegistry, NewSchema, Registries, SchemaRegistry, routes};

use crate::support::{Memory, V1, client, own, serve, settings};

async fn registry() -> Router {
    routes(EmbeddedRegistry::open(Arc::<Memory>::default()).await.unwrap())
}

/// A port that nothing listens on.
fn dead() -> String {
    format!("http://127.0.0.1:{}", lattice_testkit::free_port())
}

const QUICK: (&str, &str) = ("retries.wait.ms", "1");

#[tokio::test]
async fn the_next_url_is_asked_when_one_does_not_answer() {
    let urls = format!("{},{}", dead(), own().await);
    let registry = client(&[("schema.registry.url", &urls), ("max.retries", "0")]);
    registry.register("s", NewSchema::avro(V1)).await.unwrap();
}

#[tokio::test]
async fn a_registry_that_is_down_is_transient_and_says_where_and_no_secret() {
    let url = dead().replace("//", "//user:secretword@");
    let registry = client(&[("schema.registry.url", &url), ("max.retries", "2"), QUICK]);
    let error = registry.register("s", NewSchema::avro(V1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(!format!("{} {error:?}", error.chain()).contains("secretword"), "{error:?}");
}

#[tokio::test]
async fn what_fails_and_then_works_is_asked_again_a_bounded_number_of_times() {
    for (failures, works) in [(2, true), (100, false)] {
        let count = Arc::new(AtomicU32::new(0));
        let asked = Arc::clone(&count);
        let gate = middleware::from_fn(move |request: Request, next: Next| {
            let number = asked.fetch_add(1, Ordering::SeqCst);
            async move {
                if number < failures {
                    return (StatusCode::SERVICE_UNAVAILABLE, "leader unknown").into_response();
                }
                next.run(request).await
            }
        });
        let url = serve(registry().await.layer(gate)).await;
        let registry = client(&[("schema.registry.url", &url), ("max.retries", "3"), QUICK]);
        let outcome = registry.register("s", NewSchema::avro(V1)).await;
        assert_eq!(outcome.is_ok(), works);
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Transient);
            assert!(error.to_string().contains("leader unknown"), "{error}");
            assert_eq!(count.load(Ordering::SeqCst), 4);
        }
    }
}

/// Lets only this header's value in.
async fn guarded(expected: &'static str) -> Router {
    let gate = move |request: Request, next: Next| async move {
        let given = request.headers().get(header::AUTHORIZATION);
        if given.is_some_and(|given| given == expected) {
            return next.run(request).await;
        }
        let words = "{\"error_code\":401,\"message\":\"Unauthorized\"}";
        (StatusCode::UNAUTHORIZED, words).into_response()
    };
    registry().await.layer(middleware::from_fn(gate))
}

#[tokio::test]
async fn credentials_are_sent_and_refused_ones_are_an_auth_error_without_the_secret() {
    // user:right
    let url = serve(guarded("Basic dXNlcjpyaWdodA==").await).await;
    let source = ("basic.auth.credentials.source", "USER_INFO");
    let with = |info: &'static str| {
        client(&[("schema.registry.url", &url), source, ("basic.auth.user.info", info)])
    };
    with("user:right").register("s", NewSchema::avro(V1)).await.unwrap();
    let error = with("user:wrongword").register("s", NewSchema::avro(V1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{}", error.chain());
    assert!(!format!("{} {error:?}", error.chain()).contains("wrongword"), "{error:?}");

    let in_url = url.replace("//", "//user:right@");
    client(&[("schema.registry.url", &in_url)]).register("s", NewSchema::avro(V1)).await.unwrap();

    let url = serve(guarded("Bearer letmein").await).await;
    let bearer = client(&[
        ("schema.registry.url", &url),
        ("bearer.auth.credentials.source", "STATIC_TOKEN"),
        ("bearer.auth.token", "letmein"),
    ]);
    bearer.register("s", NewSchema::avro(V1)).await.unwrap();
}

#[tokio::test]
async fn a_token_is_fetched_once_and_sent() {
    let fetched = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&fetched);
    let issuer = post(move |request: Request| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            // me:mine
            let known = request.headers().get(header::AUTHORIZATION);
            if known.is_some_and(|known| known == "Basic bWU6bWluZQ==") {
                return r#"{"access_token":"letmein","expires_in":300}"#.into_response();
            }
            StatusCode::UNAUTHORIZED.into_response()
        }
    });
    let issuer = serve(Router::new().route("/token", issuer)).await;
    let url = serve(guarded("Bearer letmein").await).await;
    let endpoint = format!("{issuer}/token");
    let with = |secret: &'static str| {
        client(&[
            ("schema.registry.url", &url),
            ("bearer.auth.credentials.source", "OAUTHBEARER"),
            ("bearer.auth.issuer.endpoint.url", &endpoint),
            ("bearer.auth.client.id", "me"),
            ("bearer.auth.client.secret", secret),
        ])
    };
    let registry = with("mine");
    let id = registry.register("s", NewSchema::avro(V1)).await.unwrap();
    registry.schema(id).await.unwrap();
    assert_eq!(fetched.load(Ordering::SeqCst), 1);
    let error = with("othersecret").register("s", NewSchema::avro(V1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{}", error.chain());
    assert!(!format!("{} {error:?}", error.chain()).contains("othersecret"), "{error:?}");
}

#[tokio::test]
async fn redirects_are_followed_and_those_in_circles_are_a_config_error() {
    let to = own().await;
    let moved = any(move |request: Request| {
        let target = format!("{to}{}", request.uri());
        async move { Redirect::temporary(&target) }
    });
    let url = serve(Router::new().fallback(moved)).await;
    let registry = client(&[("schema.registry.url", &url)]);
    let id = registry.register("s", NewSchema::avro(V1)).await.unwrap();
    registry.schema(id).await.unwrap();

    let circle = |request: Request| async move { Redirect::temporary(&request.uri().to_string()) };
    let url = serve(Router::new().fallback(circle)).await;
    let error = client(&[("schema.registry.url", &url)])
        .register("s", NewSchema::avro(V1))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
}

#[tokio::test]
async fn something_that_is_no_registry_is_told_so() {
    async fn page() -> Response {
        ([(header::CONTENT_TYPE, "text/html")], "<html>hello</html>").into_response()
    }
    let url = serve(Router::new().fallback(page)).await;
    let registry = client(&[("schema.registry.url", &url)]);
    let error = registry.register("s", NewSchema::avro(V1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("URL")));
}

/// Connectors that name no registry, or this process's own by its address, stay inside; equal
/// options share a client.
#[tokio::test]
async fn a_registry_of_this_process_is_not_asked_over_the_network() {
    let own: Arc<dyn SchemaRegistry> =
        EmbeddedRegistry::open(Arc::<Memory>::default()).await.unwrap();
    let registries = Registries::new(Arc::clone(&own), "127.0.0.1:8083");
    let of = |url: &str| registries.of(Some(settings(&[("schema.registry.url", url)]))).unwrap();
    assert!(Arc::ptr_eq(&registries.of(None).unwrap(), &own));
    assert!(Arc::ptr_eq(&of("http://localhost:8083/registry"), &own));
    assert!(Arc::ptr_eq(&of("http://127.0.0.1:8083/apis/ccompat/v7"), &own));
    let elsewhere = of("http://localhost:8081");
    assert!(!Arc::ptr_eq(&elsewhere, &own));
    assert!(Arc::ptr_eq(&elsewhere, &of("http://localhost:8081")), "one client for equal options");
    assert!(!Arc::ptr_eq(&elsewhere, &of("http://localhost:8082")));
    assert!(!Arc::ptr_eq(&of("http://registry:8083"), &own), "another host's");
}
