//! Tables as the server's catalog has them.

use lattice_core::error::Result;

use super::Postgres;
use crate::{
    names::{TableName, existing},
    table::{Column, Table},
    target::Rows,
    url::Dialect,
    value::fit::{Form, Range},
};

/// 4713 BC to 5874897. Units: days.
const DATES: Range = Range::days(-2_440_588, 2_145_031_948, true);
/// 4713 BC to the end of what microseconds since 1970 can tell.
const TIMESTAMPS: Range =
    Range { low: -210_866_803_200_000_000, high: i64::MAX - 1, infinite: true };

/// A table; `None`: there is none.
pub(crate) async fn table(postgres: &Postgres, name: &TableName) -> Result<Option<Table>> {
    let literal = |text: &str| Dialect::Postgres.literal(text);
    let place = match &name.schema {
        Some(schema) => format!("lower(n.nspname) = lower({})", literal(schema)),
        None => "pg_table_is_visible(c.oid)".to_owned(),
    };
    let found = postgres
        .query(&format!(
            "SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p', 'v', 'f') AND lower(c.relname) = lower({}) AND {place}",
            literal(&name.name)
        ))
        .await?;
    let Some((oid, name)) = choose(&found, name) else { return Ok(None) };
    let columns = postgres.query(&columns_sql(&oid)).await?;
    let uniques = postgres.query(&uniques_sql(&oid)).await?;
    let parents = postgres
        .query(&format!(
            "SELECT DISTINCT n.nspname, c.relname FROM pg_constraint f JOIN pg_class c ON c.oid = f.confrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE f.conrelid = {oid} AND f.contype = 'f' AND f.confrelid <> f.conrelid"
        ))
        .await?;
    let text =
        |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let mut table = Table { name, columns: Vec::new(), uniques: Vec::new(), parents: Vec::new() };
    table.columns = columns.iter().map(|row| column(row)).collect();
    let mut last = String::new();
    for row in &uniques {
        let index = text(row, 0);
        if index != last {
            table.uniques.push(Vec::new());
            last = index;
        }
        if let Some(unique) = table.uniques.last_mut() {
            unique.push(text(row, 1));
        }
    }
    let parent =
        |row: &Vec<Option<String>>| TableName { schema: Some(text(row, 0)), name: text(row, 1) };
    table.parents = parents.iter().map(parent).collect();
    Ok(Some(table))
}

fn choose(found: &Rows, wanted: &TableName) -> Option<(String, TableName)> {
    let text =
        |row: &Vec<Option<String>>, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let schema = match &wanted.schema {
        Some(schema) => {
            let names: Vec<String> = found.iter().map(|row| text(row, 1)).collect();
            let mut distinct = names.clone();
            distinct.sort();
            distinct.dedup();
            Some(existing(schema, distinct.iter().map(String::as_str))?.to_owned())
        }
        None => None,
    };
    let of_schema =
        |row: &&Vec<Option<String>>| schema.as_ref().is_none_or(|schema| text(row, 1) == *schema);
    let rows: Vec<&Vec<Option<String>>> = found.iter().filter(of_schema).collect();
    let names: Vec<String> = rows.iter().map(|row| text(row, 2)).collect();
    let name = existing(&wanted.name, names.iter().map(String::as_str))?;
    let row = rows.iter().find(|row| text(row, 2) == name)?;
    // The schema it was found in, so that a change of the search path leads nowhere else.
    Some((text(row, 0), TableName { schema: Some(text(row, 1)), name: name.to_owned() }))
}

fn columns_sql(oid: &str) -> String {
    format!(
        "SELECT a.attname, format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid), \
         CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END), \
         format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid), NULL), \
         a.attnotnull OR t.typnotnull, a.attgenerated <> '' \
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
         WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
}

fn uniques_sql(oid: &str) -> String {
    format!(
        "SELECT i.indexrelid, a.attname FROM pg_index i \
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]) \
         WHERE i.indrelid = {oid} AND i.indisunique AND i.indimmediate AND i.indisvalid \
         AND i.indpred IS NULL AND i.indexprs IS NULL ORDER BY i.indisprimary DESC, i.indexrelid"
    )
}

fn column(row: &[Option<String>]) -> Column {
    let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let (type_text, cast) = (text(1), text(2));
    Column {
        name: text(0),
        form: form(&type_text, &cast),
        nullable: text(3) != "t",
        generated: text(4) == "t",
        type_text,
        cast,
    }
}

/// What a column of this type holds.
fn form(type_text: &str, kind: &str) -> Form {
    let float = |single: bool| match single {
        true => Form::Float32 { nan: true, infinite: true },
        false => Form::Float64 { nan: true, infinite: true },
    };
    match kind {
        "boolean" => Form::Bool,
        "smallint" => Form::Int(i16::MIN.into(), i16::MAX.into()),
        "integer" => Form::Int(i32::MIN.into(), i32::MAX.into()),
        "bigint" => Form::Int(i64::MIN.into(), i64::MAX.into()),
        "real" => float(true),
        "double precision" => float(false),
        "numeric" => Form::Decimal(limits(type_text)),
        "text" | "character varying" | "character" => Form::Text,
        "bytea" => Form::Bytes,
        "date" => Form::Date(DATES),
        "time without time zone" => Form::Time,
        "timestamp without time zone" => Form::Timestamp(TIMESTAMPS),
        "timestamp with time zone" => Form::Zoned(TIMESTAMPS),
        "json" | "jsonb" => Form::Json,
        "uuid" => Form::Uuid,
        _ => Form::Other,
    }
}

/// `numeric(p,s)` as digits before and after the point.
fn limits(type_text: &str) -> Option<(u32, u32)> {
    let (_, rest) = type_text.split_once('(')?;
    let (precision, scale) = rest.trim_end_matches(')').split_once(',')?;
    let (precision, scale): (i64, i64) = (precision.parse().ok()?, scale.parse().ok()?);
    let digits = |number: i64| u32::try_from(number).unwrap_or(0);
    Some((digits(precision - scale), digits(scale)))
}
