//! The connection to a deployment.

use lattice_core::{Error, Result};
use mongodb::{
    Client,
    bson::{Document, doc},
    options::{ClientOptions, Credential, Tls, TlsOptions},
};

use crate::{
    config::Target,
    error::{explain, standalone_remedy},
};

/// Wire version of MongoDB 6.0, the first that sends `wallTime`.
const WALL_TIME: i32 = 17;

/// A deployment, and what it says of itself.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The driver's client.
    pub client: Client,
    /// Replica set's name, or that of the cluster's router.
    pub name: String,
    /// Changes have `wallTime`.
    pub wall_time: bool,
}

/// Connects and checks that changes can be captured at all.
///
/// Errors: `Config` for a wrong connection string or a standalone server, `Auth`, `Transient`.
pub async fn connect(target: &Target) -> Result<Deployment> {
    let mut options = ClientOptions::parse(target.uri.expose())
        .await
        .map_err(|error| masked(target, &explain("read \"mongodb.connection.string\"", &error)))?;
    options.app_name.get_or_insert_with(|| "lattice".to_owned());
    options.connect_timeout.get_or_insert(target.connect_timeout);
    options.server_selection_timeout.get_or_insert(target.selection_timeout);
    options.heartbeat_freq.get_or_insert(target.heartbeat_frequency);
    if options.credential.is_none()
        && let Some((user, password)) = &target.user
    {
        let credential = Credential::builder()
            .username(user.clone())
            .password(password.expose().to_owned())
            .source(target.auth_source.clone())
            .build();
        options.credential = Some(credential);
    }
    if target.tls && !matches!(options.tls, Some(Tls::Enabled(_))) {
        options.tls = Some(Tls::Enabled(TlsOptions::default()));
    }
    if let (Some(path), Some(Tls::Enabled(tls))) = (&target.authorities, &mut options.tls) {
        tls.ca_file_path.get_or_insert_with(|| path.into());
    }
    let client = Client::with_options(options)
        .map_err(|error| explain("set up the connection to MongoDB", &error))?;
    let hello = client
        .database("admin")
        .run_command(doc! {"hello": 1})
        .await
        .map_err(|error| masked(target, &explain("connect to MongoDB", &error)))?;
    let name = deployment_name(&hello)?;
    let wire = hello.get_i32("maxWireVersion").unwrap_or(0);
    Ok(Deployment { client, name, wall_time: wire >= WALL_TIME })
}

fn deployment_name(hello: &Document) -> Result<String> {
    if let Ok(name) = hello.get_str("setName") {
        return Ok(name.to_owned());
    }
    if hello.get_str("msg").is_ok_and(|text| text == "isdbgrid") {
        return Ok("cluster".to_owned());
    }
    Err(Error::config("the server is standalone, not a member of a replica set")
        .with_remedy(standalone_remedy()))
}

/// The same error without the connection string's password, should the driver have quoted it.
fn masked(target: &Target, error: &Error) -> Error {
    let uri = target.uri.expose();
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let secret = rest
        .rsplit_once('@')
        .and_then(|(login, _)| login.split_once(':'))
        .map(|(_, password)| password)
        .filter(|password| !password.is_empty());
    let clean = |text: &str| match secret {
        Some(secret) => text.replace(uri, "<connection string>").replace(secret, "********"),
        None => text.to_owned(),
    };
    let cleaned = Error::new(error.kind(), clean(&error.to_string()));
    match error.remedy() {
        Some(remedy) => cleaned.with_remedy(clean(remedy)),
        None => cleaned,
    }
}
