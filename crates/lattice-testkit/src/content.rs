//! Comparison of a PostgreSQL table with its ClickHouse table by content.
//!
//! Both sides are asked for text in one common form (numbers without trailing zeros, times as
//! microseconds since 1970, floats as their bits, bytes as hexadecimal digits), so that equal lines mean
//! equal values. Pure: this module makes the queries and compares the answers; it talks to nobody.

use std::{cmp::Ordering, fmt};

/// A column as the source has it.
#[derive(Clone, Debug)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// Its type as `format_type` writes it, domains resolved.
    pub data_type: String,
    /// Whether it is a part of the primary key.
    pub key: bool,
}

/// The query that gives name, type and key membership of a table's columns, key columns first.
///
/// `schema` and `table` are plain names. Generated columns are left out: PostgreSQL does not publish them.
pub fn source_columns(schema: &str, table: &str) -> String {
    format!(
        "SELECT a.attname, format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid), \
         CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END), (i.indkey IS NOT NULL)::int \
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_type t ON t.oid = a.atttypid \
         LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey) \
         WHERE n.nspname = {} AND c.relname = {} AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' \
         ORDER BY i.indkey IS NULL, a.attnum",
        literal(schema),
        literal(table)
    )
}

/// What is known of the target table.
#[derive(Clone, Debug, Default)]
pub struct TargetShape {
    /// The table's engine.
    pub engine: String,
    /// Each column's name and type.
    pub columns: Vec<(String, String)>,
}

impl TargetShape {
    /// Reads the answer to [`target_columns`]; `None` if there is no such table.
    pub fn parse(answer: &str) -> Option<Self> {
        let mut shape = Self::default();
        for line in answer.lines() {
            let mut values =
                line.split('\t').map(|value| common_escapes(value).replace("\\\\", "\\"));
            shape.engine = values.next().unwrap_or_default();
            shape.columns.push((values.next()?, values.next()?));
        }
        (!shape.columns.is_empty()).then_some(shape)
    }

    fn type_of(&self, name: &str) -> Option<&str> {
        self.columns
            .iter()
            .find(|(column, _)| column == name)
            .map(|(_, data_type)| data_type.as_str())
    }

    /// ` FINAL WHERE is_deleted = 0`, as far as the engine and the columns allow.
    fn live_clause(&self) -> String {
        let replaces = self.engine.contains("Replacing");
        let deleted = ["is_deleted", "_is_deleted", "_deleted"]
            .into_iter()
            .find(|name| self.type_of(name).is_some());
        let mut clause = String::new();
        if replaces {
            clause.push_str(" FINAL");
        }
        if let (true, Some(name)) = (replaces, deleted) {
            clause.push_str(&format!(" WHERE {name} = 0"));
        }
        clause
    }
}

/// The query that gives a target table's engine, once per column, with the column's name and type.
pub fn target_columns(database: &str, table: &str) -> String {
    format!(
        "SELECT (SELECT engine FROM system.tables WHERE database = {0} AND name = {1}), name, type \
         FROM system.columns WHERE database = {0} AND table = {1} FORMAT TabSeparated",
        ch_literal(database),
        ch_literal(table)
    )
}

/// The query for the number of rows that readers see.
pub fn target_count(database: &str, table: &str, shape: &TargetShape) -> String {
    format!("SELECT count() FROM {}.{}{}", ch_name(database), ch_name(table), shape.live_clause())
}

/// Both queries for the content of one table, and the columns that the target lacks.
#[derive(Debug)]
pub struct Queries {
    /// For `COPY (…) TO STDOUT`.
    pub source: String,
    /// Answered as TabSeparated.
    pub target: String,
    /// How many of the leading columns are the key.
    pub key: usize,
    /// The compared columns, in order.
    pub columns: Vec<String>,
    /// Columns of the source that the target does not have.
    pub missing: Vec<String>,
}

/// Makes the two queries for a table.
pub fn queries(
    (schema, table): (&str, &str),
    columns: &[SourceColumn],
    (database, target): (&str, &str),
    shape: &TargetShape,
) -> Queries {
    let (mut source, mut wanted, mut names, mut missing) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for column in columns {
        let Some(target_type) = shape.type_of(&column.name) else {
            missing.push(column.name.clone());
            continue;
        };
        let (of_source, of_target) = expressions(column, target_type);
        source.push(of_source);
        wanted.push(of_target);
        names.push(column.name.clone());
    }
    Queries {
        source: format!("SELECT {} FROM {}.{}", source.join(", "), pg_name(schema), pg_name(table)),
        target: format!(
            "SELECT {} FROM {}.{}{} FORMAT TabSeparated",
            wanted.join(", "),
            ch_name(database),
            ch_name(target),
            shape.live_clause()
        ),
        key: columns.iter().filter(|column| column.key && !missing.contains(&column.name)).count(),
        columns: names,
        missing,
    }
}

/// Whether the target keeps this column's values as they are named: `Nullable(Decimal(10, 2))` is a `Decimal`.
fn is_type(data_type: &str, name: &str) -> bool {
    inner_type(data_type).starts_with(name)
}

fn inner_type(data_type: &str) -> &str {
    let mut inner = data_type;
    while let Some(rest) =
        inner.strip_prefix("Nullable(").or_else(|| inner.strip_prefix("LowCardinality("))
    {
        inner = rest;
    }
    inner
}

/// The common form of one column on both sides.
fn expressions(column: &SourceColumn, target_type: &str) -> (String, String) {
    let (p, c) = (pg_name(&column.name), ch_name(&column.name));
    let text = (format!("{p}::text"), format!("toString({c})"));
    let base = column.data_type.split('(').next().unwrap_or_default().trim();
    if column.data_type.ends_with("[]") {
        return if matches!(target_type, "Array(String)" | "Array(Nullable(String))") {
            text_array(&p, &c)
        } else if is_type(target_type, "Array") {
            (format!("coalesce(array_to_json({p})::text, '[]')"), format!("toJSONString({c})"))
        } else {
            (format!("array_to_json({p})::text"), format!("toString({c})"))
        };
    }
    if is_type(target_type, "String") && !matches!(base, "bytea") {
        return text;
    }
    match base {
        "boolean" => (format!("{p}::int::text"), format!("toUInt8({c})")),
        "real" => (format!("encode(float4send({p}), 'hex')"), float_bits(&c)),
        "double precision" => (format!("encode(float8send({p}), 'hex')"), float_bits(&c)),
        "numeric" => (format!("trim_scale({p})::text"), decimal(&c)),
        "money" => (format!("trim_scale({p}::numeric)::text"), decimal(&c)),
        "bytea" => (format!("encode({p}, 'hex')"), format!("lower(hex({c}))")),
        "date" => (format!("({p} - date '1970-01-01')::text"), format!("toInt32({c})")),
        _ if base.starts_with("timestamp") => {
            let micros = format!("(extract(epoch FROM {p}) * 1000000)::bigint::text");
            (micros, ch_micros(&c, target_type))
        }
        _ if base.starts_with("time") && is_type(target_type, "Int64") => {
            (format!("(extract(epoch FROM {p}) * 1000000)::bigint::text"), c)
        }
        _ if base.starts_with("time") => {
            (format!("to_char({p}, 'HH24:MI:SS.US')"), format!("toString({c})"))
        }
        "interval" if is_type(target_type, "Int64") => (interval_micros(&p), c),
        _ => text,
    }
}

/// A list of texts as their bytes' digits, each behind an `x`: old servers have no `toJSONString`.
fn text_array(p: &str, c: &str) -> (String, String) {
    let source = format!(
        "(SELECT coalesce(string_agg('x' || coalesce(upper(encode(convert_to(v::text, 'UTF8'), 'hex')), 'NULL'), ',' \
         ORDER BY n), '') FROM unnest({p}) WITH ORDINALITY AS list (v, n))"
    );
    let target =
        format!("arrayStringConcat(arrayMap(v -> concat('x', ifNull(hex(v), 'NULL')), {c}), ',')");
    (source, target)
}

/// The bits of a float, most significant byte first, as PostgreSQL's binary format has them.
fn float_bits(c: &str) -> String {
    format!("lower(hex(reverse(reinterpretAsFixedString({c}))))")
}

/// A decimal without trailing zeros, whatever the server's settings say.
fn decimal(c: &str) -> String {
    let text = format!("toString({c})");
    format!("if(position({text}, '.') > 0, replaceRegexpOne({text}, '\\\\.?0+$', ''), {text})")
}

fn ch_micros(c: &str, target_type: &str) -> String {
    match inner_type(target_type) {
        inner if inner.starts_with("DateTime64") => {
            format!("toUnixTimestamp64Micro(CAST({c} AS {}))", {
                if target_type.starts_with("Nullable") {
                    "Nullable(DateTime64(6, 'UTC'))"
                } else {
                    "DateTime64(6, 'UTC')"
                }
            })
        }
        inner if inner.starts_with("DateTime") => {
            format!("toInt64(toUnixTimestamp({c})) * 1000000")
        }
        _ => format!("toString({c})"),
    }
}

/// As Debezium counts an interval in microseconds: a month is a twelfth of 365.25 days.
fn interval_micros(p: &str) -> String {
    format!(
        "round(((extract(year FROM {p}) * 12 + extract(month FROM {p})) * 2629800 + extract(day FROM {p}) * 86400 \
         + extract(hour FROM {p}) * 3600 + extract(minute FROM {p}) * 60 + extract(second FROM {p})) * 1000000)::bigint::text"
    )
}

/// How the rows of source and target differ.
#[derive(Debug, Default)]
pub struct Diff {
    /// Rows of the source.
    pub source_rows: usize,
    /// Rows of the target.
    pub target_rows: usize,
    /// Rows that only the source has (by key, where there is one).
    pub missing: usize,
    /// Rows that only the target has.
    pub extra: usize,
    /// Rows whose key both have, with other values.
    pub changed: usize,
    /// Columns that the target lacks.
    pub missing_columns: Vec<String>,
    examples: Vec<String>,
}

/// So many differing rows are shown; more only hide what is common to them.
const EXAMPLES: usize = 10;

impl Diff {
    /// Compares two tables' rows, each a TSV line with the key's columns first.
    pub fn of(queries: &Queries, source: Vec<String>, target: Vec<String>) -> Self {
        let (source, target) = (sorted(source), sorted(target));
        let mut diff = Self {
            source_rows: source.len(),
            target_rows: target.len(),
            missing_columns: queries.missing.clone(),
            ..Self::default()
        };
        let (mut left, mut right) = (source.iter().peekable(), target.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(s), Some(t)) => key_of(s, queries.key).cmp(key_of(t, queries.key)),
            };
            match order {
                Ordering::Less => diff.only_source(left.next()),
                Ordering::Greater => diff.only_target(right.next()),
                Ordering::Equal => diff.same_key(queries, left.next(), right.next()),
            }
        }
        diff
    }

    /// All of the source's rows are missing: there is no target table.
    pub fn of_absent_target(rows: usize, missing_columns: Vec<String>) -> Self {
        Self { source_rows: rows, missing: rows, missing_columns, ..Self::default() }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.missing + self.extra + self.changed == 0 && self.missing_columns.is_empty()
    }

    fn only_source(&mut self, row: Option<&String>) {
        self.missing += 1;
        self.example(|| format!("missing in the target: {}", row.map_or("", |row| row)));
    }

    fn only_target(&mut self, row: Option<&String>) {
        self.extra += 1;
        self.example(|| format!("only in the target:    {}", row.map_or("", |row| row)));
    }

    fn same_key(&mut self, queries: &Queries, source: Option<&String>, target: Option<&String>) {
        let (Some(source), Some(target)) = (source, target) else { return };
        if source == target {
            return;
        }
        self.changed += 1;
        self.example(|| {
            let values = source.split('\t').zip(target.split('\t')).zip(&queries.columns);
            let changed = values
                .filter(|((s, t), _)| s != t)
                .map(|((s, t), name)| format!("{name}: {s} ≠ {t}"));
            let changed = changed.collect::<Vec<_>>().join(", ");
            format!("differs at key {}: {changed}", key_of(source, queries.key).replace('\t', ", "))
        });
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(text());
        }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_rows, target_rows, missing, extra, changed, .. } = self;
        if self.is_empty() {
            return write!(f, "{source_rows} rows, equal");
        }
        write!(
            f,
            "source {source_rows} rows, target {target_rows}: {missing} missing, {extra} extra, {changed} changed"
        )?;
        if !self.missing_columns.is_empty() {
            write!(f, "\n  columns missing in the target: {}", self.missing_columns.join(", "))?;
        }
        for example in &self.examples {
            write!(f, "\n  {example}")?;
        }
        Ok(())
    }
}

/// The leading `columns` values of a TSV line; the whole line where there is no key.
fn key_of(line: &str, columns: usize) -> &str {
    if columns == 0 {
        return line;
    }
    line.match_indices('\t').nth(columns - 1).map_or(line, |(end, _)| &line[..end])
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    for line in &mut lines {
        if line.contains('\\') {
            *line = common_escapes(line);
        }
    }
    lines.sort_unstable();
    lines
}

/// PostgreSQL and ClickHouse escape the same characters in TSV but for these: `\'` and `\0` are
/// ClickHouse's alone, `\v` is PostgreSQL's.
fn common_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('\'') => out.push('\''),
            Some('v') => out.push('\u{b}'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn ch_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn pg_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn ch_name(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

#[cfg(test)]
mod tests;
