//! Runs: rows by binary COPY into a staging table of the session, and from there into the table.

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use lattice_core::error::{Error, Result};

use super::Postgres;
use crate::{
    layout::{Layout, Slot},
    pile::Pile,
    reduce::{Action, Run},
    table::Table,
    target::Failure,
    url::Dialect::Postgres as SQL,
};

/// How much is sent at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Does what a run says.
pub(crate) async fn apply(
    postgres: &mut Postgres,
    pile: &Pile,
    run: &Run,
    table: &Table,
) -> Result<(), Failure> {
    let Some(layout) = &run.layout else {
        let name = SQL.table(&table.name);
        return postgres.execute(&format!("TRUNCATE TABLE {name}")).await.map(drop);
    };
    let (layout, name) = (&**layout, SQL.table(&layout.table.name));
    let keys_only = run.action == Action::Delete;
    let slots = if keys_only { layout.keys } else { layout.slots.len() };
    let stage = stage(postgres, layout, keys_only, slots).await?;
    copy(postgres, pile, run, layout, &stage, slots).await?;
    for sql in statements(run.action, layout, &name, &stage) {
        postgres.execute(&sql).await?;
    }
    Ok(())
}

/// An empty staging table for rows of this layout.
async fn stage(
    postgres: &mut Postgres,
    layout: &Layout,
    keys_only: bool,
    slots: usize,
) -> Result<String, Failure> {
    let name = format!("_lattice_{}{}", layout.id, if keys_only { "k" } else { "" });
    if !postgres.stages.contains(&name) {
        let column = |(at, slot): (usize, &Slot)| format!("c{at} {}", slot.stage);
        let columns: Vec<String> =
            layout.slots.iter().take(slots).enumerate().map(column).collect();
        let end = if postgres.pooled { "DROP" } else { "DELETE ROWS" };
        // It may be there: made before the point in the transaction that was come back to.
        let sql = format!(
            "CREATE TEMP TABLE IF NOT EXISTS {name} ({}) ON COMMIT {end}",
            columns.join(", ")
        );
        postgres.execute(&sql).await?;
        postgres.stages.insert(name.clone());
        postgres.new_stages.insert(name.clone());
    }
    if postgres.filled.contains(&name) {
        postgres.execute(&format!("DELETE FROM {name}")).await?;
    }
    postgres.filled.insert(name.clone());
    Ok(name)
}

async fn copy(
    postgres: &Postgres,
    pile: &Pile,
    run: &Run,
    layout: &Layout,
    stage: &str,
    slots: usize,
) -> Result<(), Failure> {
    let sql = format!("COPY {stage} FROM STDIN (FORMAT binary)");
    let sink = postgres.within(postgres.client.copy_in::<_, Bytes>(&sql)).await?;
    let mut sink = std::pin::pin!(sink);
    let count = i16::try_from(slots).map_err(|_| {
        Failure::Other(Error::config(format!("table {} has too many columns", layout.table.name)))
    })?;
    let mut buffer = BytesMut::with_capacity(CHUNK_BYTES + (CHUNK_BYTES >> 2));
    buffer.put_slice(b"PGCOPY\n\xff\r\n\0");
    buffer.put_slice(&[0; 8]);
    for at in &run.ops {
        let Some(op) = pile.ops.get(*at) else { continue };
        buffer.put_i16(count);
        buffer.put_slice(if slots == layout.keys { pile.key(op) } else { pile.row(op) });
        if buffer.len() >= CHUNK_BYTES {
            postgres.within(sink.send(buffer.split().freeze())).await?;
            buffer.reserve(CHUNK_BYTES + (CHUNK_BYTES >> 2));
        }
    }
    buffer.put_i16(-1);
    postgres.within(sink.send(buffer.freeze())).await?;
    postgres.within(sink.finish()).await.map(drop)
}

/// What brings the staged rows into the table.
fn statements(action: Action, layout: &Layout, table: &str, stage: &str) -> Vec<String> {
    let value = |(at, slot): (usize, &Slot)| match &slot.cast {
        Some(cast) => format!("CAST(s.c{at} AS {cast})"),
        None => format!("s.c{at}"),
    };
    let values: Vec<String> = layout.slots.iter().enumerate().map(value).collect();
    let names =
        |slots: &mut dyn Iterator<Item = &Slot>| SQL.list(slots.map(|slot| slot.name.as_str()));
    let all = names(&mut layout.slots.iter());
    let matches: Vec<String> = layout
        .key()
        .zip(&values)
        .map(|(name, value)| format!("t.{} = {value}", SQL.quoted(name)))
        .collect();
    let matches = matches.join(" AND ");
    let list = values.join(", ");
    let insert =
        format!("INSERT INTO {table} ({all}) OVERRIDING SYSTEM VALUE SELECT {list} FROM {stage} s");
    let absent = format!("{insert} WHERE NOT EXISTS (SELECT FROM {table} t WHERE {matches})");
    let set = |value: &dyn Fn(usize, &Slot) -> String| {
        let pair = |(at, slot): (usize, &Slot)| {
            format!("{} = {}", SQL.quoted(&slot.name), value(at + layout.keys, slot))
        };
        layout.rest().enumerate().map(pair).collect::<Vec<_>>().join(", ")
    };
    let update = || {
        let set = set(&|at, _| values.get(at).cloned().unwrap_or_default());
        format!("UPDATE {table} t SET {set} FROM {stage} s WHERE {matches}")
    };
    let only_keys = layout.slots.len() == layout.keys;
    match action {
        Action::Truncate => Vec::new(),
        Action::Delete => vec![format!("DELETE FROM {table} t USING {stage} s WHERE {matches}")],
        Action::Insert => vec![insert],
        Action::Update if only_keys => Vec::new(),
        Action::Update => vec![update()],
        // A row without all its values must not be refused for those that the table has already.
        Action::Upsert if only_keys && !layout.full => vec![absent],
        Action::Upsert if !layout.full || !layout.table.is_unique_by(&layout.key_names()) => {
            if only_keys {
                vec![absent]
            } else {
                vec![update(), absent]
            }
        }
        Action::Upsert => {
            let key = names(&mut layout.slots.iter().take(layout.keys));
            let end = match only_keys {
                true => "DO NOTHING".to_owned(),
                false => {
                    let set = set(&|_, slot| format!("EXCLUDED.{}", SQL.quoted(&slot.name)));
                    format!("DO UPDATE SET {set}")
                }
            };
            vec![format!("{insert} ON CONFLICT ({key}) {end}")]
        }
    }
}
