//! Truncation: rows older than it are gone, in whatever order partitions bring them.

use lattice_core::error::Result;

use crate::{
    client::{literal, quoted},
    schema::full_name,
    target::Target,
    write::Context,
};

/// Takes all rows of smaller versions away, and remembers the version with the table, so that
/// older rows that come after a restart are known as such.
///
/// Errors: as the client's.
pub(crate) async fn truncate(
    context: &Context,
    name: &str,
    target: &Target,
    version: u64,
) -> Result<()> {
    let table = full_name(&context.settings, name);
    let sync = if context.profile.legacy { "" } else { " SETTINGS mutations_sync = 1" };
    let sql = match (&target.version, target.mark()) {
        (Some(column), Some(mark)) => mark_older(&table, target, column, mark, version),
        (Some(column), None) => {
            format!("ALTER TABLE {table} DELETE WHERE {} < {version}{sync}", quoted(column))
        }
        (None, _) => format!("TRUNCATE TABLE {table}"),
    };
    context.client.query(&sql).await?;
    // Servers of 2018 have no comments: there the task alone remembers.
    if target.version.is_some()
        && !context.profile.legacy
        && let Err(error) = remember(context, name, version).await
    {
        tracing::warn!(
            table = name,
            error = error.chain(),
            "the truncation is remembered only until the task ends"
        );
    }
    Ok(())
}

async fn remember(context: &Context, name: &str, version: u64) -> Result<()> {
    let (client, settings) = (&context.client, &context.settings);
    // Read anew: its owner may have commented it meanwhile.
    let target = Target::read(client, &context.profile, &settings.database, name).await?;
    if let Some(target) = target.filter(|target| target.truncated() < version) {
        let comment = literal(&target.comment_with_truncation(version));
        let table = full_name(settings, name);
        client.query(&format!("ALTER TABLE {table} MODIFY COMMENT {comment}")).await?;
    }
    Ok(())
}

fn mark_older(table: &str, target: &Target, column: &str, mark: &str, version: u64) -> String {
    let mut names = vec![quoted(column), quoted(mark)];
    let mut values = vec![version.to_string(), "1".to_owned()];
    for column in target.columns.iter().filter(|column| column.insertable()) {
        let name = quoted(&column.name);
        if !names.contains(&name) {
            values.push(name.clone());
            names.push(name);
        }
    }
    let (names, values) = (names.join(", "), values.join(", "));
    let (column, mark) = (quoted(column), quoted(mark));
    format!(
        "INSERT INTO {table} ({names}) SELECT {values} FROM {table} FINAL \
         WHERE {column} < {version} AND {mark} = 0"
    )
}
