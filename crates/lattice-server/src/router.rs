//! All routes, and what holds for every one of them.

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use tower::ServiceExt as _;

use crate::{answer::Refusal, api, connect, console, guard, metrics, state::ServerState};

/// The largest body taken. Units: bytes. A configuration has kilobytes.
const MAX_BODY: usize = 8 << 20;

/// The whole service.
///
/// Trailing slashes are accepted everywhere, as Kafka Connect does and its clients rely on.
pub fn router(state: ServerState) -> Router {
    let registry = lattice_registry::routes(std::sync::Arc::clone(state.registry()));
    let apicurio = lattice_registry::apicurio_routes(std::sync::Arc::clone(state.registry()));
    let routes = Router::new()
        .route("/openapi.json", get(openapi))
        .route("/metrics", get(metrics::metrics))
        .merge(connect::routes())
        .merge(api::routes())
        .with_state(state.clone())
        .nest("/registry", registry.clone())
        .nest("/apis/ccompat/v7", registry.clone())
        .nest("/apis/ccompat/v8", registry)
        .nest("/apis/registry/v3", apicurio)
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::map_response(told_in_json))
        .layer(middleware::from_fn_with_state(state, guard::same_origin));
    Router::new().fallback_service(tower::service_fn(move |request: Request| {
        let asks_options = *request.method() == Method::OPTIONS;
        let answer = routes.clone().oneshot(without_trailing_slash(request));
        async move {
            let response = answer.await?;
            Ok(if asks_options { with_methods(response) } else { response })
        }
    }))
}

fn without_trailing_slash(mut request: Request<Body>) -> Request<Body> {
    let path = request.uri().path();
    if path.len() > 1 && path.ends_with('/') && !path.ends_with("//") {
        let trimmed = &path[..path.len() - 1];
        let text = match request.uri().query() {
            Some(query) => format!("{trimmed}?{query}"),
            None => trimmed.to_owned(),
        };
        if let Ok(uri) = text.parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// The answer to OPTIONS: the methods of the route, as JAX-RS tells them.
fn with_methods(response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let allow = response.headers().get(header::ALLOW).and_then(|value| value.to_str().ok());
    let allow = format!("{},OPTIONS", allow.unwrap_or_default());
    let headers = [(header::ALLOW, allow.clone()), (header::CONTENT_TYPE, "text/plain".to_owned())];
    (headers, allow).into_response()
}

/// The longest reason that is carried over. Units: bytes. The framework's own are one line.
const MAX_REASON: usize = 4096;

/// Gives the framework's own refusals (a path or query it cannot read, a body too large) the
/// error body that every other refusal has.
async fn told_in_json(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !plain {
        return response;
    }
    let reason = axum::body::to_bytes(response.into_body(), MAX_REASON).await.unwrap_or_default();
    let reason = String::from_utf8_lossy(&reason);
    let reason = if reason.is_empty() { "the request cannot be answered" } else { &*reason };
    Refusal::new(status, format!("HTTP {status}: {reason}")).into_response()
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("../openapi.json")).into_response()
}

/// Whether a browser asks for a page.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

async fn unknown(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let first = uri.path().split('/').nth(1).unwrap_or_default();
    let file = uri.path().starts_with("/assets/") || first.contains('.');
    if method == Method::GET && !uri.path().starts_with("/api/") && (file || wants_page(&headers)) {
        return console::file(&uri);
    }
    Refusal::not_found(format!("HTTP 404 Not Found: nothing is at {}", uri.path())).into_response()
}

async fn wrong_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    // A browser that reloads a page of the console whose path is also one of the API's.
    if method == Method::GET && wants_page(&headers) {
        return console::page();
    }
    let message = format!("HTTP 405 Method Not Allowed: {method} is not known at {}", uri.path());
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message).into_response()
}
