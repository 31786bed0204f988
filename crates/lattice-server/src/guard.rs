//! Keeps web pages of strangers away from a server on this machine.
//!
//! A page in the user's browser can send requests to loopback; the `Origin` header tells. DNS
//! rebinding makes the page's own name point here; the `Host` header tells. Programs that are no
//! browsers send neither `Origin` nor a browser's `User-Agent` and are not concerned.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{answer::Refusal, state::ServerState};

pub(crate) async fn same_origin(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    match check(request.method(), request.headers(), &state.options().allowed_hosts) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check(method: &Method, headers: &HeaderMap, allowed: &[String]) -> Result<(), Refusal> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN);
    // A page that reads from its own (rebound) name sends no Origin; every browser calls itself so.
    let browser = text(header::USER_AGENT).is_some_and(|agent| agent.starts_with("Mozilla/"));
    if origin.is_none() && !browser {
        return Ok(());
    }
    let forbid = |message: String| Err(Refusal::new(StatusCode::FORBIDDEN, message));
    let host = text(header::HOST).unwrap_or_default();
    if !is_known(host, allowed) {
        return forbid(format!(
            "calls from browsers under the name \"{host}\" are refused; allow it with --allow-host"
        ));
    }
    let Some(origin) = origin else { return Ok(()) };
    let safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let from = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    if !safe && from != host {
        return forbid(format!("a page of {origin} may not change anything here"));
    }
    Ok(())
}

fn is_known(host: &str, allowed: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost"
        || name.parse::<IpAddr>().is_ok()
        || allowed.iter().any(|host| host.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_rebound_page_may_not_read_either() {
        for (host, passes) in [("evil.example:8083", false), ("127.0.0.1:8083", true)] {
            let mut headers = headers(host, None);
            headers.insert(header::USER_AGENT, "Mozilla/5.0 (X11)".parse().unwrap());
            assert_eq!(check(&Method::GET, &headers, &[]).is_ok(), passes, "{host}");
        }
    }

    #[test]
    fn programs_and_the_console_pass_and_strangers_pages_do_not() {
        let cases = [
            (Method::POST, "evil.example:8083", None, true),
            (Method::POST, "127.0.0.1:8083", Some("http://127.0.0.1:8083"), true),
            (Method::POST, "localhost:8083", Some("http://localhost:8083"), true),
            (Method::POST, "[::1]:8083", Some("http://[::1]:8083"), true),
            (Method::POST, "127.0.0.1:8083", Some("https://evil.example"), false),
            (Method::GET, "127.0.0.1:8083", Some("https://evil.example"), true),
            (Method::GET, "evil.example:8083", Some("http://evil.example:8083"), false),
            (Method::PUT, "lattice.local:8083", Some("http://lattice.local:8083"), true),
        ];
        for (method, host, origin, passes) in cases {
            let result = check(&method, &headers(host, origin), &["lattice.local".to_owned()]);
            assert_eq!(result.is_ok(), passes, "{method} {host} {origin:?}");
        }
    }
}
