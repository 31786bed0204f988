//! Checks before a start: everything that would stop it, each with the SQL that mends it.

use lattice_core::{
    Error, Result,
    config::{Config, ConfigIssue},
    error::ErrorKind,
};

use crate::{
    config::{PublicationMode, Settings, SnapshotMode},
    connection::{Connection, Purpose, Row, quote_ident, quote_literal},
    discover, prepare,
};

/// All issues of a configuration and of the server that it names.
pub(crate) async fn check(config: &Config) -> Vec<ConfigIssue> {
    let settings = match Settings::from_config(config) {
        Ok(settings) => settings,
        Err(error) => {
            let text = error.to_string();
            let key = text.split('"').nth(1).unwrap_or("");
            return vec![ConfigIssue::of(key, &error)];
        }
    };
    let mut general = match Connection::open(&settings.target, Purpose::General).await {
        Ok(general) => general,
        Err(error) => return vec![ConfigIssue::of(key_of(&error), &error)],
    };
    let mut issues = Vec::new();
    if let Err(error) = prepare::check_server(&mut general).await {
        issues.push(ConfigIssue::of("database.hostname", &error));
    }
    let checks = Box::pin(check_all(&mut general, &settings, &mut issues)).await;
    if let Err(error) = checks {
        issues.push(ConfigIssue::of("database.hostname", &error));
    }
    issues
}

fn key_of(error: &Error) -> &'static str {
    let remedy = error.remedy().unwrap_or("");
    match error.kind() {
        ErrorKind::Auth if remedy.contains("database.password") => "database.password",
        ErrorKind::Auth => "database.user",
        _ if remedy.contains("database.dbname") => "database.dbname",
        _ if remedy.contains("database.sslrootcert") || remedy.contains("database.sslmode") => {
            "database.sslmode"
        }
        _ => "database.hostname",
    }
}

fn text(row: &Row, index: usize) -> &str {
    row.get(index).and_then(Option::as_deref).unwrap_or("")
}

async fn check_all(
    general: &mut Connection,
    settings: &Settings,
    issues: &mut Vec<ConfigIssue>,
) -> Result<()> {
    role(general, settings, issues).await?;
    if settings.snapshot_mode != SnapshotMode::InitialOnly {
        slot(general, settings, issues).await?;
    }
    publication(general, settings, issues).await?;
    tables(general, settings, issues).await
}

async fn role(
    general: &mut Connection,
    settings: &Settings,
    issues: &mut Vec<ConfigIssue>,
) -> Result<()> {
    let sql = "SELECT r.rolreplication OR r.rolsuper OR EXISTS (SELECT FROM pg_catalog.pg_roles g \
               WHERE g.rolname IN ('rds_replication', 'rdsadmin', 'rds_superuser', 'rdsrepladmin') \
               AND pg_has_role(r.oid, g.oid, 'MEMBER')), \
               EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'rds_replication') \
               FROM pg_catalog.pg_roles r WHERE r.rolname = current_user";
    let row = general.query_one(sql).await?;
    if text(&row, 0) != "t" {
        let user = quote_ident(&settings.target.user);
        let remedy = if text(&row, 1) == "t" {
            format!("GRANT rds_replication TO {user};")
        } else {
            format!("ALTER ROLE {user} WITH REPLICATION;")
        };
        let message = format!("the role \"{}\" may not replicate", settings.target.user);
        issues.push(ConfigIssue::error("database.user", message).remedy(&remedy));
    }
    Ok(())
}

async fn slot(
    general: &mut Connection,
    settings: &Settings,
    issues: &mut Vec<ConfigIssue>,
) -> Result<()> {
    let sql = "SELECT current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_catalog.pg_replication_slots), \
               current_setting('max_wal_senders')::int - (SELECT count(*) FROM pg_catalog.pg_stat_replication), \
               current_setting('max_replication_slots'), current_setting('max_wal_senders')";
    let row = general.query_one(sql).await?;
    let free = |index: usize| text(&row, index).parse::<i64>().unwrap_or(1);
    let found = prepare::slot(general, &settings.slot).await?;
    if found.is_none() && free(0) <= 0 {
        let message = format!("all {} replication slots of the server are in use", text(&row, 2));
        issues.push(ConfigIssue::error("slot.name", message).remedy(
            "ALTER SYSTEM SET max_replication_slots = 20; then restart the server; or drop a slot that nobody uses: SELECT pg_drop_replication_slot('name');",
        ));
    }
    if free(1) <= 0 {
        let message =
            format!("all {} replication connections of the server are in use", text(&row, 3));
        issues.push(
            ConfigIssue::error("database.hostname", message)
                .remedy("ALTER SYSTEM SET max_wal_senders = 20; then restart the server"),
        );
    }
    let Some(found) = found else { return Ok(()) };
    if let Err(error) = prepare::check_slot(&found, settings) {
        issues.push(ConfigIssue::of("slot.name", &error));
    }
    if found.wal_status == "lost" {
        let message = format!("replication slot \"{}\" is lost", settings.slot);
        let remedy = format!(
            "SELECT pg_drop_replication_slot({}); and take a new snapshot",
            quote_literal(&settings.slot)
        );
        issues.push(ConfigIssue::warning("slot.name", message).remedy(&remedy));
    }
    if let Some(pid) = found.active_pid {
        let message = format!("replication slot \"{}\" is in use by process {pid}", settings.slot);
        issues.push(ConfigIssue::warning("slot.name", message).remedy(
            "it is this connector's own, or stop the other client, or choose another \"slot.name\"",
        ));
    }
    Ok(())
}

async fn publication(
    general: &mut Connection,
    settings: &Settings,
    issues: &mut Vec<ConfigIssue>,
) -> Result<()> {
    let name = &settings.publication;
    let sql = format!(
        "SELECT (SELECT puballtables FROM pg_catalog.pg_publication WHERE pubname = {}), rolsuper \
         FROM pg_catalog.pg_roles WHERE rolname = current_user",
        quote_literal(name)
    );
    let row = general.query_one(&sql).await?;
    let exists = row.first().is_some_and(Option::is_some);
    let quoted = quote_ident(name);
    if !exists && settings.publication_mode == PublicationMode::Disabled {
        let message = format!("publication \"{name}\" does not exist");
        let remedy = format!(
            "CREATE PUBLICATION {quoted} FOR TABLE …; or set \"publication.autocreate.mode\" to filtered"
        );
        issues.push(ConfigIssue::error("publication.name", message).remedy(&remedy));
    }
    if !exists && settings.publication_mode == PublicationMode::AllTables && text(&row, 1) != "t" {
        let message = "only a superuser may make a publication for all tables".to_owned();
        let remedy = format!(
            "set \"publication.autocreate.mode\" to filtered; or as a superuser: CREATE PUBLICATION {quoted} FOR ALL TABLES;"
        );
        issues.push(ConfigIssue::error("publication.autocreate.mode", message).remedy(&remedy));
    }
    if exists {
        let published = discover::published(general, settings).await?;
        for (schema, table) in discover::captured(general, settings).await? {
            let is_in =
                published.iter().any(|found| found.schema == schema && found.table == table);
            if !is_in && settings.publication_mode != PublicationMode::Filtered {
                let message =
                    format!("{schema}.{table} is captured but not in publication \"{name}\"");
                let remedy = format!(
                    "ALTER PUBLICATION {quoted} ADD TABLE {};",
                    discover::qualified(&schema, &table)
                );
                issues.push(ConfigIssue::warning("publication.name", message).remedy(&remedy));
            }
        }
    }
    Ok(())
}

async fn tables(
    general: &mut Connection,
    settings: &Settings,
    issues: &mut Vec<ConfigIssue>,
) -> Result<()> {
    let infos = discover::table_infos(general, settings).await?;
    let key = "table.include.list";
    let names: Vec<_> = infos.iter().map(|info| info.name.clone()).collect();
    let unmatched = settings.tables.unmatched(&names);
    let mut idle: Vec<_> =
        unmatched.map(|pattern| format!("\"{pattern}\" matches no table")).collect();
    let captured: Vec<_> = infos.into_iter().filter(|info| info.captured).collect();
    if captured.is_empty() && idle.is_empty() {
        idle.push("no table is captured".to_owned());
    }
    let remedy = "it has regular expressions on schema.table, which match a whole name; a table that \
                  is made later is captured then";
    issues.extend(idle.into_iter().map(|idle| ConfigIssue::warning(key, idle).remedy(remedy)));
    issues.extend(captured.into_iter().flat_map(|info| info.issues));
    Ok(())
}
