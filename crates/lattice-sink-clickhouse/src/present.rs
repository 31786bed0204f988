//! Rows with values that the source did not send take these from the table's present row.

use bytes::Bytes;

use crate::{
    client::{Failure, quoted},
    encode::step::Set,
    schema::full_name,
    write::Context,
};

/// Inserts a set whose holes are filled by the server: the rows go to a staging table of this
/// task, and from there, joined with what is there, to the table.
pub(crate) async fn insert(
    context: &Context,
    table: &str,
    replaces: bool,
    set: &Set,
    names: &str,
    chunks: &[Bytes],
) -> Result<(), Failure> {
    let (client, settings) = (&context.client, &context.settings);
    let stage = full_name(settings, &format!("lattice_stage_{}_{table}", context.task));
    let table = full_name(settings, table);
    let list =
        |columns: &[String]| columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let (key, holes) = (list(&set.key), list(&set.holes));
    let last = if replaces { "FINAL" } else { "" };
    client.query(&format!("DROP TABLE IF EXISTS {stage}")).await?;
    let make =
        format!("CREATE TABLE {stage} ENGINE = Memory AS SELECT {names} FROM {table} WHERE 0");
    client.query(&make).await?;
    let fill = format!("INSERT INTO {stage} ({names}) FORMAT Native");
    let mut sent = client.insert(&fill, chunks, context.profile.insert).await;
    if sent.is_ok() {
        let join = format!(
            "INSERT INTO {table} ({names}, {holes}) SELECT {names}, {holes} \
             FROM (SELECT {names} FROM {stage}) AS sent ANY LEFT JOIN \
             (SELECT {key}, {holes} FROM {table} {last} WHERE ({key}) IN (SELECT {key} FROM {stage})) AS present \
             USING ({key})"
        );
        sent = client.query(&join).await.map(|_| ());
    }
    client.query(&format!("DROP TABLE IF EXISTS {stage}")).await?;
    sent
}
