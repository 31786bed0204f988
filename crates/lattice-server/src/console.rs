//! The console's files, embedded in the binary.

use axum::{
    http::{StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../web/dist"]
struct Files;

const NOT_BUILT: &str = "<!doctype html><meta charset=utf-8><title>Lattice</title>
<style>body{font:16px/1.5 system-ui;max-width:36rem;margin:15vh auto;padding:0 1rem}</style>
<h1>Lattice runs; its console was not built into this binary</h1>
<p>Build it with <code>cd web &amp;&amp; npm ci &amp;&amp; npm run build</code>, then build the binary again.
<p>The API works: <a href=/connectors>/connectors</a>, <a href=/openapi.json>/openapi.json</a>.";

/// The file at a path, or the console's page for one of its own routes.
pub(crate) fn file(uri: &Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if !path.is_empty()
        && let Some(file) = Files::get(path)
    {
        // Built files carry a hash of their content in their name, save the page itself.
        let cache = if path.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        let kind = content_type(path);
        return ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, cache)], file.data)
            .into_response();
    }
    page()
}

/// The console's page.
pub(crate) fn page() -> Response {
    match Files::get("index.html") {
        Some(file) => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CACHE_CONTROL, "no-cache"),
            ];
            (headers, file.data).into_response()
        }
        None => (StatusCode::OK, Html(NOT_BUILT)).into_response(),
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "webmanifest" => "application/json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
