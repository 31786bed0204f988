//! Checks before a start: everything that would stop it, each with the command that mends it.

use lattice_core::{
    Error, ErrorKind,
    config::{Config, ConfigIssue},
};

use crate::{
    client::{self, Deployment},
    config::Settings,
    discover,
    error::explain,
    stream,
};

/// All issues of a configuration and of the deployment that it names.
pub(crate) async fn check(config: &Config) -> Vec<ConfigIssue> {
    let settings = match Settings::from_config(config) {
        Ok(settings) => settings,
        Err(error) => {
            let text = error.to_string();
            let key = text.split('"').nth(1).unwrap_or("");
            return vec![issue(key, &error)];
        }
    };
    let checks = Box::pin(connected(&settings));
    match tokio::time::timeout(settings.validation_timeout, checks).await {
        Ok(issues) => issues,
        Err(_) => vec![
            ConfigIssue::error(
                "mongodb.connection.string",
                "MongoDB did not answer within connection.validation.timeout.ms",
            )
            .remedy("check the hosts in \"mongodb.connection.string\""),
        ],
    }
}

fn issue(key: &str, error: &Error) -> ConfigIssue {
    let issue = ConfigIssue::error(key, error.to_string());
    match error.remedy() {
        Some(remedy) => issue.remedy(remedy),
        None => issue,
    }
}

fn key_of(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Auth => "mongodb.user",
        _ => "mongodb.connection.string",
    }
}

async fn connected(settings: &Settings) -> Vec<ConfigIssue> {
    let deployment = match client::connect(&settings.target).await {
        Ok(deployment) => deployment,
        Err(error) => return vec![issue(key_of(&error), &error)],
    };
    let mut issues = Vec::new();
    if let Err(error) = stream::open(&deployment, settings, None).await {
        let error = explain("open the change stream", &error);
        issues.push(issue(stream_key(&error), &error));
    }
    collections(&deployment, settings, &mut issues).await;
    issues
}

fn stream_key(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Auth => "mongodb.user",
        ErrorKind::Config if error.to_string().contains("SplitLargeEvent") => {
            "cursor.oversize.handling.mode"
        }
        _ => "capture.scope",
    }
}

async fn collections(deployment: &Deployment, settings: &Settings, issues: &mut Vec<ConfigIssue>) {
    let found = match discover::all(deployment, settings).await {
        Ok(found) => found,
        Err(error) => return issues.push(issue(key_of(&error), &error)),
    };
    let captured: Vec<_> = found
        .iter()
        .filter(|found| settings.filter.allows(&found.database, &found.collection))
        .collect();
    if captured.is_empty() {
        let text = "no collection matches yet; those that are made later and match are captured";
        issues.push(
            ConfigIssue::warning("collection.include.list", text)
                .remedy("check the lists: they match \"<database>.<collection>\" as a whole"),
        );
    }
    if settings.pre_image {
        let without = captured.iter().filter(|found| !found.pre_images);
        issues.extend(without.map(|found| discover::missing_images(found)));
    }
}
