//! Looks before rows flow: what a configuration points to, and what would be done with a topic.

use std::sync::Arc;

use lattice_core::{
    config::{Config, ConfigIssue},
    connector::MappingPreview,
    error::{ErrorKind, Result},
    schema::Schema,
};

use crate::{
    client::{Client, literal, quoted},
    config::{DATABASE, HOSTNAME, PASSWORD, SSL_CA, Settings, USERNAME},
    profile::Profile,
    schema::{self, Fill, Plan, Shape, described},
    target::Target,
};

/// Checks a configuration against its server. Changes nothing.
pub(crate) async fn validate(config: &Config) -> Vec<ConfigIssue> {
    let settings = match Settings::from_config(config) {
        Ok(settings) => Arc::new(settings),
        Err(error) => return vec![ConfigIssue::of(HOSTNAME.name, &error)],
    };
    let client = match Client::new(Arc::clone(&settings)) {
        Ok(client) => client,
        Err(error) => return vec![ConfigIssue::of(SSL_CA.name, &error)],
    };
    match check(config, &settings, &client).await {
        Ok(issues) => issues,
        Err(error) => {
            let key = match error.kind() {
                ErrorKind::Auth => PASSWORD.name,
                ErrorKind::Config if error.to_string().contains("certificate") => SSL_CA.name,
                ErrorKind::Config => DATABASE.name,
                ErrorKind::Transient | ErrorKind::Data | ErrorKind::Schema | ErrorKind::Fatal => {
                    HOSTNAME.name
                }
            };
            vec![ConfigIssue::of(key, &error)]
        }
    }
}

async fn check(config: &Config, settings: &Settings, client: &Client) -> Result<Vec<ConfigIssue>> {
    // A database that does not exist fails every statement that names it: asked in any case.
    let profile = Profile::detect(client).await?;
    let mut issues = Vec::new();
    let database = literal(&settings.database);
    let databases = format!("SELECT name FROM system.databases WHERE name = {database}");
    if client.rows(&databases).await?.is_empty() {
        let message = format!("database {} does not exist", settings.database);
        let remedy = format!("CREATE DATABASE `{}`", settings.database);
        return Ok(vec![ConfigIssue::error(DATABASE.name, message).remedy(&remedy)]);
    }
    issues.extend(rights(settings, client).await?);
    if profile.legacy && settings.lz4 {
        let message = format!("ClickHouse {} does not read lz4 bodies", profile.version);
        issues.push(ConfigIssue::error("compression", message).remedy("set compression to none"));
    }
    if profile.legacy {
        let message = format!(
            "ClickHouse {} is old: timestamps become Int64 microseconds, dates text",
            profile.version
        );
        issues
            .push(ConfigIssue::warning(HOSTNAME.name, message).remedy("use version 23.3 or later"));
    }
    let topics = config.get("topics").map(lattice_core::config::split_list);
    for topic in topics.into_iter().flatten() {
        let table = settings.table_of(&topic);
        match Target::read(client, &profile, &settings.database, &table).await? {
            None if !settings.auto_create => {
                let message = format!("table {table} of topic {topic} does not exist");
                issues.push(
                    ConfigIssue::error("topics", message)
                        .remedy("create it, or set auto.create to true"),
                );
            }
            Some(target) if target.replaces && target.version.is_none() => {
                let message = format!(
                    "table {table} is a ReplacingMergeTree without a version: the last row inserted \
                     wins, so a redelivery may bring back an old row for a while"
                );
                issues.push(
                    ConfigIssue::warning("topics", message)
                        .remedy("make it ReplacingMergeTree(_version, is_deleted)"),
                );
            }
            _ => {}
        }
    }
    Ok(issues)
}

/// What the user may not do and the sink will have to.
async fn rights(settings: &Settings, client: &Client) -> Result<Vec<ConfigIssue>> {
    let user = &settings.username;
    let sql = "SELECT value FROM system.settings WHERE name = 'readonly'";
    let readonly = client.rows(sql).await?;
    if readonly.first().and_then(|row| row.first()).is_some_and(|value| value != "0") {
        let message = format!("user {user} may only read (its setting readonly is not 0)");
        return Ok(vec![
            ConfigIssue::error(USERNAME.name, message)
                .remedy("give the user a profile without readonly, or use another user"),
        ]);
    }
    let mut wanted = vec!["SELECT", "INSERT", "ALTER DELETE"];
    if settings.auto_create {
        wanted.extend(["CREATE TABLE", "CREATE VIEW", "DROP TABLE", "DROP VIEW"]);
    }
    if settings.evolve {
        wanted.extend(["ALTER ADD COLUMN", "ALTER MODIFY COLUMN"]);
    }
    let database = quoted(&settings.database);
    let mut missing = Vec::new();
    for right in wanted {
        match client.query(&format!("CHECK GRANT {right} ON {database}.*")).await {
            Ok(answer) if answer.trim() == "0" => missing.push(right),
            Ok(_) => {}
            // Servers before 24.11 do not know the statement: the first write will tell.
            Err(_) => return Ok(Vec::new()),
        }
    }
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let missing = missing.join(", ");
    let message = format!("user {user} lacks rights on database {}: {missing}", settings.database);
    let grant = format!("GRANT {missing} ON {database}.* TO {}", quoted(user));
    Ok(vec![ConfigIssue::error(USERNAME.name, message).remedy(&grant)])
}

/// What would be done with a topic's records.
pub(crate) async fn preview(
    config: &Config,
    topic: &str,
    row: &Schema,
    key: &[String],
) -> Result<MappingPreview> {
    let settings = Arc::new(Settings::from_config(config)?);
    let client = Client::new(Arc::clone(&settings))?;
    let profile = Profile::detect(&client).await?;
    let table = settings.table_of(topic);
    let shape = Shape::of_struct(row, key);
    let found = Target::read(&client, &profile, &settings.database, &table).await?;
    let exists = found.is_some();
    let (target, statements) = match found {
        Some(target) if settings.evolve => {
            let statements = schema::evolve(&settings, &table, &target, &shape, &profile);
            (target, statements)
        }
        Some(target) => (target, Vec::new()),
        None => {
            let statements = schema::create(&settings, &table, &shape, &profile);
            (schema::designed(&shape, &profile), statements)
        }
    };
    let mut plan = schema::plan(&settings, &table, &target, &shape, &profile);
    if settings.evolve {
        // Columns that are about to be added are no mismatch.
        plan.issues.retain(|issue| exists && !issue.message.contains("has no column"));
    }
    if !exists && !settings.auto_create {
        plan.issues.push(
            ConfigIssue::error("topics", format!("table {table} does not exist"))
                .remedy("create it, or set auto.create to true"),
        );
    }
    Ok(MappingPreview {
        columns: columns(&shape, &plan, &target),
        table: format!("{}.{table}", settings.database),
        exists,
        statements: if exists || settings.auto_create { statements } else { Vec::new() },
        issues: plan.issues,
    })
}

fn columns(shape: &Shape<'_>, plan: &Plan, target: &Target) -> Vec<[String; 4]> {
    let line = |(at, (name, schema)): (usize, &(&str, &Arc<Schema>))| {
        let column = plan.columns.iter().find(|column| column.fill == Fill::Field(at));
        let column = column.map_or("", |column| column.name.as_str());
        let kind = target.column(column).map_or("", |column| column.type_text.as_str());
        [(*name).to_owned(), described(schema), column.to_owned(), kind.to_owned()]
    };
    shape.fields.iter().enumerate().map(line).collect()
}
