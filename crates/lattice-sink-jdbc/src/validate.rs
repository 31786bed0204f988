//! Looks before rows flow: what a configuration points to, and what would be done with a topic.

use std::sync::Arc;

use lattice_core::{
    config::{Config, ConfigIssue},
    connector::MappingPreview,
    error::{Error, ErrorKind, Result},
    schema::Schema,
};

use crate::{
    config::{InsertMode, KeyMode, Settings, Vendor, keys},
    structure::{self, Shape},
    target::Target,
};

/// Checks a configuration against its target. Changes nothing.
pub(crate) async fn validate(config: &Config, vendor: Vendor) -> Vec<ConfigIssue> {
    let settings = match Settings::from_config(config, vendor) {
        Ok(settings) => settings,
        Err(error) => return vec![ConfigIssue::of(named_key(&error), &error)],
    };
    let mut issues = advice(config, &settings, vendor);
    match check(config, &settings).await {
        Ok(found) => issues.extend(found),
        Err(error) => {
            let key =
                if error.kind() == ErrorKind::Auth { keys::PASSWORD.name } else { keys::URL.name };
            issues.push(ConfigIssue::of(key, &error));
        }
    }
    issues
}

/// The key that an error of the settings names.
fn named_key(error: &Error) -> &'static str {
    let text = error.to_string();
    let tables = [keys::DEBEZIUM, keys::CONFLUENT];
    let named = |key: &&lattice_core::config::Key| text.contains(&format!("\"{}\"", key.name));
    tables.into_iter().flatten().find(named).map_or(keys::URL.name, |key| key.name)
}

/// What is allowed and rarely meant.
fn advice(config: &Config, settings: &Settings, vendor: Vendor) -> Vec<ConfigIssue> {
    let mut issues = Vec::new();
    let mode =
        if vendor == Vendor::Debezium { keys::DBZ_KEY_MODE.name } else { keys::CFL_KEY_MODE.name };
    if settings.insert_mode == InsertMode::Insert && config.get(keys::INSERT_MODE.name).is_none() {
        let message = "updates of a source's rows are inserted as further rows";
        let remedy = format!(
            "set insert.mode to upsert and {mode} to record_key to keep the table equal to its source"
        );
        issues.push(ConfigIssue::warning(keys::INSERT_MODE.name, message).remedy(&remedy));
    }
    let keyed = matches!(settings.key_mode, KeyMode::RecordKey | KeyMode::RecordValue);
    if keyed && !settings.deletes && config.get(keys::DELETE.name).is_none() {
        let message = "rows that are deleted at the source stay in the target";
        issues.push(
            ConfigIssue::warning(keys::DELETE.name, message)
                .remedy("set delete.enabled to true to delete them"),
        );
    }
    issues
}

async fn check(config: &Config, settings: &Settings) -> Result<Vec<ConfigIssue>> {
    let mut target = Target::connect(settings).await?;
    let mut issues = Vec::new();
    let topics = config.get("topics").map(lattice_core::config::split_list);
    for topic in topics.into_iter().flatten() {
        let name = match settings.naming.table(&topic) {
            Ok(name) => name,
            Err(reason) => {
                issues.push(ConfigIssue::error("topics", format!("topic {topic}: {reason}")));
                continue;
            }
        };
        let found = target.table(&name).await?;
        if found.is_none() && (settings.must_exist || !settings.creates) {
            let message = format!("table {name} of topic {topic} does not exist");
            let create = ConfigIssue::error("topics", message);
            issues.push(
                create.remedy("create it, or set schema.evolution to basic (auto.create to true)"),
            );
        }
    }
    Ok(issues)
}

/// What would be done with a topic's records.
pub(crate) async fn preview(
    config: &Config,
    vendor: Vendor,
    topic: &str,
    row: &Schema,
    key: &[String],
) -> Result<MappingPreview> {
    let settings = Settings::from_config(config, vendor)?;
    let dialect = settings.address.dialect();
    let mut target = Target::connect(&settings).await?;
    let columns: Vec<(&str, &Arc<Schema>)> =
        row.fields.iter().map(|field| (&*field.name, &field.schema)).collect();
    let place = |name: &String| columns.iter().position(|(field, _)| field == name);
    let key: Vec<usize> = key.iter().filter_map(place).collect();
    let shape = Shape::of(&settings, topic, &columns, &key)?;
    let name = settings.naming.table(topic).map_err(Error::config)?;
    let found = target.table(&name).await?;
    let mut preview = MappingPreview {
        table: name.to_string(),
        exists: found.is_some(),
        ..MappingPreview::default()
    };
    match &found {
        None if settings.creates => {
            preview.statements = vec![structure::create(&settings, &name, &shape)?];
        }
        None => preview.issues.push(
            ConfigIssue::error("topics", format!("table {name} does not exist"))
                .remedy("create it, or set schema.evolution to basic (auto.create to true)"),
        ),
        Some(table) if settings.evolves => {
            preview.statements = structure::evolve(&settings, table, &shape)?;
        }
        Some(table) => {
            if let Err(error) = structure::slots(&settings, topic, table, &shape) {
                preview.issues.push(ConfigIssue::of("topics", &error));
            }
        }
    }
    for (at, field) in shape.fields.iter().enumerate() {
        let column = settings.naming.column(&field.name);
        let known = found.as_ref().and_then(|table| structure::find(table, &column));
        let (column, kind) = match known {
            Some(known) => (known.name.clone(), known.type_text.clone()),
            None => (column, dialect.type_for(&field.meaning, at < shape.keys)),
        };
        preview.columns.push([field.name.clone(), field.meaning.described(), column, kind]);
    }
    Ok(preview)
}
