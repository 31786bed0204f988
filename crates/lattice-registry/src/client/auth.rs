//! Credentials for a registry, and tokens fetched with them.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use lattice_core::{Error, ErrorKind, Result, secret::Secret};
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;

/// How a client says who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Auth {
    None,
    Basic(String, Secret),
    Bearer(Secret),
    /// OAuth's client credentials: a token from an endpoint, used until shortly before its end.
    Tokens {
        endpoint: Url,
        id: String,
        secret: Secret,
        scope: Option<String>,
    },
}

impl From<Option<(String, Secret)>> for Auth {
    fn from(user: Option<(String, Secret)>) -> Self {
        user.map_or(Self::None, |(user, password)| Self::Basic(user, password))
    }
}

/// The token in use and when it is no longer good.
#[derive(Default)]
pub(super) struct Tokens(Mutex<Option<(Secret, Instant)>>);

#[derive(Deserialize)]
struct TokenBody {
    access_token: String,
    #[serde(default)]
    expires_in: Option<u64>,
}

/// Asked for again this long before a token's end, so that none runs out on its way.
const MARGIN: Duration = Duration::from_secs(20);

impl Tokens {
    /// Adds the credentials to a request.
    ///
    /// Errors: `Auth` or `Transient` when no token is given.
    pub(super) async fn authorize(
        &self,
        http: &reqwest::Client,
        auth: &Auth,
        request: RequestBuilder,
    ) -> Result<RequestBuilder> {
        Ok(match auth {
            Auth::None => request,
            Auth::Basic(user, password) => request.basic_auth(user, Some(password.expose())),
            Auth::Bearer(token) => request.bearer_auth(token.expose()),
            Auth::Tokens { endpoint, id, secret, scope } => {
                let token = match self.current() {
                    Some(token) => token,
                    None => self.fetch(http, endpoint, (id, secret), scope.as_deref()).await?,
                };
                request.bearer_auth(token.expose())
            }
        })
    }

    /// Forgets the token: the registry did not take it.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Secret, Instant)>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn current(&self) -> Option<Secret> {
        let token = self.lock();
        token.as_ref().filter(|(_, until)| *until > Instant::now()).map(|(token, _)| token.clone())
    }

    async fn fetch(
        &self,
        http: &reqwest::Client,
        endpoint: &Url,
        (id, secret): (&str, &Secret),
        scope: Option<&str>,
    ) -> Result<Secret> {
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(scope.map(|scope| ("scope", scope)));
        let lost = |error: reqwest::Error| {
            Error::transient(format!("no token from {endpoint}")).with_source(error.without_url())
        };
        let request = http.post(endpoint.clone()).basic_auth(id, Some(secret.expose()));
        let answer = request.form(&form).send().await.map_err(lost)?;
        let status = answer.status();
        if status.is_server_error() {
            return Err(Error::transient(format!("no token from {endpoint}: HTTP {status}")));
        }
        let body = answer.bytes().await.map_err(lost)?;
        let body: Option<TokenBody> =
            serde_json::from_slice(&body).ok().filter(|_| status.is_success());
        let Some(body) = body else {
            return Err(Error::new(
                ErrorKind::Auth,
                format!("no token from {endpoint}: HTTP {status}"),
            )
            .with_remedy("check the client id, its secret and its scope"));
        };
        let token = Secret::new(body.access_token);
        let life = Duration::from_secs(body.expires_in.unwrap_or(300)).saturating_sub(MARGIN);
        *self.lock() = Some((token.clone(), Instant::now() + life));
        Ok(token)
    }
}
