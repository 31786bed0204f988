//! Tables as the file has them.

use lattice_core::error::Result;

use super::Sqlite;
use crate::{
    names::{TableName, existing},
    table::{Column, Table},
    url::Dialect,
    value::fit::Form,
};

/// A table; `None`: there is none.
pub(crate) async fn table(sqlite: &Sqlite, wanted: &TableName) -> Result<Option<Table>> {
    let text =
        |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let literal = |text: &str| Dialect::Sqlite.literal(text);
    let found = sqlite
        .query(&format!(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower({})",
            literal(&wanted.name)
        ))
        .await?;
    let names: Vec<String> = found.iter().map(|row| text(row, 0)).collect();
    let Some(name) = existing(&wanted.name, names.iter().map(String::as_str)) else {
        return Ok(None);
    };
    let of = literal(name);
    let columns = sqlite
        .query(&format!(
            "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo({of}) ORDER BY cid"
        ))
        .await?;
    let mut table = Table {
        name: TableName { schema: None, name: name.to_owned() },
        columns: Vec::new(),
        uniques: Vec::new(),
        parents: Vec::new(),
    };
    let mut key: Vec<(i64, String)> = Vec::new();
    for row in &columns {
        let (name, type_text, position) = (text(row, 0), text(row, 1), text(row, 3));
        if position != "0" {
            key.push((position.parse().unwrap_or(0), name.clone()));
        }
        table.columns.push(Column {
            name,
            form: form(&type_text),
            cast: type_text.clone(),
            type_text,
            nullable: text(row, 2) == "0",
            generated: matches!(text(row, 4).as_str(), "2" | "3"),
        });
    }
    key.sort();
    if !key.is_empty() {
        table.uniques.push(key.into_iter().map(|(_, name)| name).collect());
    }
    let uniques = sqlite
        .query(&format!(
            "SELECT l.name, i.name FROM pragma_index_list({of}) l, pragma_index_info(l.name) i \
             WHERE l.\"unique\" = 1 AND l.partial = 0 ORDER BY l.name, i.seqno"
        ))
        .await?;
    let mut last = String::new();
    for row in &uniques {
        if text(row, 0) != last || table.uniques.is_empty() {
            table.uniques.push(Vec::new());
            last = text(row, 0);
        }
        if let Some(unique) = table.uniques.last_mut() {
            unique.push(text(row, 1));
        }
    }
    let parents = sqlite
        .query(&format!(
            "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list({of}) WHERE \"table\" <> {of}"
        ))
        .await?;
    table.parents =
        parents.iter().map(|row| TableName { schema: None, name: text(row, 0) }).collect();
    Ok(Some(table))
}

/// What a column of this declared type holds, by SQLite's rules of affinity.
fn form(declared: &str) -> Form {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    match () {
        () if has(&["INT"]) => Form::Int(i64::MIN.into(), i64::MAX.into()),
        () if has(&["CHAR", "CLOB", "TEXT"]) => Form::Text,
        () if declared.is_empty() || has(&["BLOB"]) => Form::Bytes,
        () if has(&["REAL", "FLOA", "DOUB"]) => Form::Float64 { nan: false, infinite: true },
        () => Form::Digits(15),
    }
}
