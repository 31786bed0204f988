//! Tables as the server's catalog has them.

use lattice_core::error::Result;

use super::Mysql;
use crate::{
    names::{TableName, existing},
    table::{Column, Table},
    url::Dialect,
    value::fit::{Form, Range},
};

/// The years 1 to 9999.
const DATES: Range = Range::days(-719_162, 2_932_896, false);
/// The same. Units: µs.
const DATETIMES: Range =
    Range { low: -62_135_596_800_000_000, high: 253_402_300_799_999_999, infinite: false };
/// From 1970 to January 2038.
const TIMESTAMPS: Range = Range { low: 1_000_000, high: 2_147_483_647_999_999, infinite: false };

/// A table; `None`: there is none.
pub(crate) async fn table(mysql: &mut Mysql, wanted: &TableName) -> Result<Option<Table>> {
    let literal = |text: &str| Dialect::Mysql.literal(text);
    let schema = wanted.schema.as_ref().map_or("DATABASE()".to_owned(), |schema| literal(schema));
    let found = mysql
        .query(&format!(
            "SELECT table_name, table_schema FROM information_schema.tables \
             WHERE table_schema = {schema} AND lower(table_name) = lower({})",
            literal(&wanted.name)
        ))
        .await?;
    let names: Vec<String> = found.iter().map(|row| text(row, 0)).collect();
    let Some(name) = existing(&wanted.name, names.iter().map(String::as_str)) else {
        return Ok(None);
    };
    let schema = found.iter().find(|row| text(row, 0) == name).map(|row| text(row, 1));
    let place = format!(
        "table_schema = {} AND table_name = {}",
        literal(schema.as_deref().unwrap_or_default()),
        literal(name)
    );
    let columns = mysql
        .query(&format!(
            "SELECT column_name, data_type, column_type, is_nullable, numeric_precision, numeric_scale, extra \
             FROM information_schema.columns WHERE {place} ORDER BY ordinal_position"
        ))
        .await?;
    let uniques = mysql
        .query(&format!(
            "SELECT index_name, column_name, sub_part FROM information_schema.statistics \
             WHERE {place} AND non_unique = 0 ORDER BY index_name <> 'PRIMARY', index_name, seq_in_index"
        ))
        .await?;
    let parents = mysql
        .query(&format!(
            "SELECT DISTINCT referenced_table_schema, referenced_table_name \
             FROM information_schema.key_column_usage WHERE {place} AND referenced_table_name IS NOT NULL"
        ))
        .await?;
    let name = TableName { schema, name: name.to_owned() };
    let parent =
        |row: &Vec<Option<String>>| TableName { schema: Some(text(row, 0)), name: text(row, 1) };
    let parents = parents.iter().map(parent).filter(|parent| *parent != name).collect();
    let columns = columns.iter().map(|row| column(row)).collect();
    Ok(Some(Table { name, columns, uniques: indexes(&uniques), parents }))
}

fn text(row: &[Option<String>], at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

/// Column sets by index. Of an index over a part of a column's text or over an expression, the set is
/// none that rows could be found by.
fn indexes(rows: &[Vec<Option<String>>]) -> Vec<Vec<String>> {
    let mut sets: Vec<Vec<String>> = Vec::new();
    let mut last = None;
    for row in rows {
        if last.as_ref() != Some(&text(row, 0)) {
            sets.push(Vec::new());
            last = Some(text(row, 0));
        }
        if let Some(set) = sets.last_mut() {
            let part = if text(row, 2).is_empty() { "" } else { "(…)" };
            set.push(format!("{}{part}", text(row, 1)));
        }
    }
    sets
}

fn column(row: &[Option<String>]) -> Column {
    let (kind, full) = (text(row, 1).to_ascii_lowercase(), text(row, 2).to_ascii_lowercase());
    let digits = |at: usize| text(row, at).parse::<u32>().unwrap_or(0);
    Column {
        name: text(row, 0),
        form: form(&kind, full.contains("unsigned"), digits(4), digits(5)),
        type_text: full,
        cast: kind,
        nullable: text(row, 3) == "YES",
        generated: text(row, 6).to_ascii_uppercase().contains(" GENERATED"),
    }
}

fn form(kind: &str, unsigned: bool, precision: u32, scale: u32) -> Form {
    let whole = |bits: u32| match unsigned {
        true => Form::Int(0, (1 << bits) - 1),
        false => Form::Int(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    match kind {
        "tinyint" => whole(8),
        "smallint" => whole(16),
        "mediumint" => whole(24),
        "int" => whole(32),
        "bigint" => whole(64),
        "year" => Form::Int(1901, 2155),
        "float" => Form::Float32 { nan: false, infinite: false },
        "double" => Form::Float64 { nan: false, infinite: false },
        "decimal" => Form::Decimal(Some((precision.saturating_sub(scale), scale))),
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Form::Bytes,
        "date" => Form::Date(DATES),
        "time" => Form::Time,
        "datetime" => Form::Timestamp(DATETIMES),
        "timestamp" => Form::Zoned(TIMESTAMPS),
        "json" => Form::Json,
        "uuid" => Form::Uuid,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" => {
            Form::Text
        }
        _ => Form::Other,
    }
}
