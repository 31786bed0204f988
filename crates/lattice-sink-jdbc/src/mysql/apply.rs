//! Runs: statements of many rows where one says it, else row after row.

use lattice_core::error::{Error, Result};

use super::Mysql;
use crate::{
    layout::{Fields, Layout, Slot},
    pile::Pile,
    reduce::{Action, Run},
    table::Table,
    target::Failure,
    url::Dialect::Mysql as SQL,
};

/// A statement is sent when it has become this long. Units: bytes.
const STATEMENT_BYTES: usize = 1 << 20;

/// Does what a run says.
pub(crate) async fn apply(
    mysql: &mut Mysql,
    pile: &Pile,
    run: &Run,
    table: &Table,
) -> Result<(), Failure> {
    let name = SQL.table(&table.name);
    let Some(layout) = &run.layout else {
        // TRUNCATE would end the transaction.
        return mysql.execute(&format!("DELETE FROM {name}")).await.map(drop);
    };
    let key = layout.key_names();
    // An upsert of these databases takes any unique index for the key, and would change another row.
    let only_unique =
        layout.table.is_unique_by(&key)
            && layout.table.uniques.iter().all(|unique| {
                unique.len() == key.len() && unique.iter().all(|one| key.contains(one))
            });
    match run.action {
        Action::Truncate => Ok(()),
        Action::Update if layout.slots.len() == layout.keys => Ok(()),
        Action::Delete => {
            let columns = SQL.list(layout.key());
            let head = format!("DELETE FROM {name} WHERE ({columns}) IN (");
            many(mysql, pile, run, layout.keys, (&head, ")")).await
        }
        Action::Insert => {
            many(mysql, pile, run, layout.slots.len(), (&insert(&name, layout), "")).await
        }
        Action::Upsert if layout.full && only_unique => {
            let end = on_duplicate(mysql.alias, layout);
            many(mysql, pile, run, layout.slots.len(), (&insert(&name, layout), &end)).await
        }
        Action::Update | Action::Upsert => one_by_one(mysql, pile, run, layout, &name).await,
    }
}

fn insert(table: &str, layout: &Layout) -> String {
    let names = SQL.list(layout.slots.iter().map(|slot| slot.name.as_str()));
    format!("INSERT INTO {table} ({names}) VALUES ")
}

fn on_duplicate(alias: bool, layout: &Layout) -> String {
    let set = |slot: &Slot| {
        let name = SQL.quoted(&slot.name);
        if alias { format!("{name} = new_row.{name}") } else { format!("{name} = VALUES({name})") }
    };
    // A row of nothing but its key is set to what it is.
    let skipped = if layout.slots.len() == layout.keys { 0 } else { layout.keys };
    let set: Vec<String> = layout.slots.iter().skip(skipped).map(set).collect();
    let alias = if alias { " AS new_row" } else { "" };
    format!("{alias} ON DUPLICATE KEY UPDATE {}", set.join(", "))
}

/// Statements of many rows: what stands before the rows and after them.
async fn many(
    mysql: &mut Mysql,
    pile: &Pile,
    run: &Run,
    slots: usize,
    (head, end): (&str, &str),
) -> Result<(), Failure> {
    let most = STATEMENT_BYTES.min(mysql.longest / 2);
    let mut sql = Vec::with_capacity(most + (most >> 2));
    let mut rows = 0;
    for op in run.ops.iter().filter_map(|at| pile.ops.get(*at)) {
        sql.extend_from_slice(if rows == 0 { head.as_bytes() } else { b"," });
        sql.push(b'(');
        for (at, field) in Fields(pile.row(op)).take(slots).enumerate() {
            if at > 0 {
                sql.push(b',');
            }
            sql.extend_from_slice(field.unwrap_or(b"NULL"));
        }
        sql.push(b')');
        rows += 1;
        if sql.len() >= most {
            send(mysql, &mut sql, end, rows).await?;
            rows = 0;
        }
    }
    if rows > 0 {
        send(mysql, &mut sql, end, rows).await?;
    }
    Ok(())
}

async fn send(mysql: &mut Mysql, sql: &mut Vec<u8>, end: &str, rows: usize) -> Result<(), Failure> {
    sql.extend_from_slice(end.as_bytes());
    if sql.len() > mysql.longest {
        // The server would close the connection. Rows beside it are written when it is looked for.
        return Err(Failure::Row(
            Error::data(format!(
                "{rows} rows have {} bytes, more than the server's max_allowed_packet takes ({})",
                sql.len(),
                mysql.longest
            ))
            .with_remedy("raise max_allowed_packet of the server"),
        ));
    }
    let text =
        std::str::from_utf8(sql).map_err(|_| Failure::Row(Error::data("a text is no UTF-8")))?;
    mysql.execute(text).await?;
    sql.clear();
    Ok(())
}

/// Updates each row, and (`Upsert`) inserts those that are not there.
async fn one_by_one(
    mysql: &mut Mysql,
    pile: &Pile,
    run: &Run,
    layout: &Layout,
    table: &str,
) -> Result<(), Failure> {
    let insert = insert(table, layout);
    for op in run.ops.iter().filter_map(|at| pile.ops.get(*at)) {
        let values = Fields(pile.row(op)).map(|field| match field {
            Some(literal) => String::from_utf8_lossy(literal).into_owned(),
            None => "NULL".to_owned(),
        });
        let values: Vec<String> = values.collect();
        let pairs: Vec<String> = layout
            .slots
            .iter()
            .zip(&values)
            .map(|(slot, value)| format!("{} = {value}", SQL.quoted(&slot.name)))
            .collect();
        let (key, rest) = pairs.split_at_checked(layout.keys).unwrap_or((&pairs, &[]));
        // A row of nothing but its key is set to what it is.
        let set = if rest.is_empty() { key.join(", ") } else { rest.join(", ") };
        let found =
            mysql.execute(&format!("UPDATE {table} SET {set} WHERE {}", key.join(" AND "))).await?;
        if found == 0 && run.action == Action::Upsert {
            mysql.execute(&format!("{insert}({})", values.join(", "))).await?;
        }
    }
    Ok(())
}
