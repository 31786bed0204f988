//! From a topic's structure to its table: statements that make and evolve it, and the plan by
//! which rows become columns.

use std::sync::Arc;

use lattice_core::{
    config::{ConfigIssue, Severity},
    event::TableSchema,
    schema::{Field, Schema, Type},
};

use crate::{
    client::quoted,
    config::Settings,
    encode::builder::Builder,
    profile::Profile,
    target::{DELETED, OP, PLACE, Target, TargetColumn, VERSION},
    types::{self, ChType},
};

/// What a column is filled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The row's value of this index.
    Field(usize),
    /// The row's version.
    Version,
    /// Whether the row is deleted.
    Deleted,
    /// The same, as `true` or `false`.
    DeletedText,
    /// Debezium's letter.
    Op,
    /// When it was committed, in ms.
    SourceMs,
    /// The record's topic.
    Topic,
    /// The record's partition.
    Partition,
    /// The record's offset.
    Offset,
}

/// A column of an insert.
#[derive(Debug, Clone)]
pub(crate) struct PlanColumn {
    pub(crate) name: String,
    pub(crate) wire: String,
    pub(crate) fill: Fill,
    pub(crate) empty: Builder,
}

/// How rows of one structure become an insert.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<PlanColumn>,
    /// Target columns of the key, in key order.
    pub(crate) key: Vec<String>,
    /// Columns that nothing fills: the server gives them their defaults.
    pub(crate) others: Vec<String>,
    /// What a person should know; errors forbid writing.
    pub(crate) issues: Vec<ConfigIssue>,
}

impl Plan {
    /// Whether an inserted row can say that it is deleted.
    pub(crate) fn marks_deletes(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.fill, Fill::Deleted | Fill::DeletedText))
    }

    /// Whether an inserted row tells its operation.
    pub(crate) fn tells_op(&self) -> bool {
        self.columns.iter().any(|column| column.fill == Fill::Op)
    }
}

/// The row's structure as a mapping sees it.
pub(crate) struct Shape<'a> {
    pub(crate) fields: Vec<(&'a str, &'a Arc<Schema>)>,
    pub(crate) key: Vec<usize>,
}

impl<'a> Shape<'a> {
    /// Of a table's version.
    pub(crate) fn of_table(table: &'a TableSchema) -> Self {
        let fields = table.columns.iter().map(|column| (&*column.name, &column.schema)).collect();
        Self { fields, key: table.key.clone() }
    }

    /// Of a struct schema and key names.
    pub(crate) fn of_struct(row: &'a Schema, key: &[String]) -> Self {
        let field = |field: &'a Field| (&*field.name, &field.schema);
        let fields: Vec<_> = row.fields.iter().map(field).collect();
        let place = |name: &String| fields.iter().position(|(field, _)| field == name);
        let key = key.iter().filter_map(place).collect();
        Self { fields, key }
    }

    fn column_name(&self, at: usize, profile: &Profile) -> String {
        let Some((name, schema)) = self.fields.get(at) else { return String::new() };
        let managed = [VERSION, DELETED, OP].contains(name) || PLACE.contains(name);
        if managed {
            return format!("src_{name}");
        }
        // Arrays whose names share a part before a dot would be one Nested group.
        let is_array = types::chosen(schema, false, profile).starts_with("Array(");
        if is_array { name.replace('.', "_") } else { (*name).to_owned() }
    }
}

/// Columns (names and types) and engine clause of the table that is made for rows of this shape.
fn design(shape: &Shape<'_>, profile: &Profile) -> (Vec<(String, String)>, String) {
    let mut columns = Vec::new();
    for (at, (_, schema)) in shape.fields.iter().enumerate() {
        let kind = types::chosen(schema, shape.key.contains(&at), profile);
        columns.push((shape.column_name(at, profile), kind));
    }
    let mut add = |name: &str, kind: &str| columns.push((name.to_owned(), kind.to_owned()));
    if shape.key.is_empty() {
        add(OP, "String");
        add(PLACE[0], "String");
        add(PLACE[1], "Int32");
        add(PLACE[2], "Int64");
        let order = PLACE.map(quoted).join(", ");
        return (columns, format!("MergeTree ORDER BY ({order})"));
    }
    add(VERSION, "UInt64");
    add(DELETED, "UInt8");
    let key = shape.key.iter().map(|at| quoted(&shape.column_name(*at, profile)));
    let order = key.collect::<Vec<_>>().join(", ");
    let mark = if profile.deletes_in_engine { format!(", {DELETED}") } else { String::new() };
    (columns, format!("ReplacingMergeTree({VERSION}{mark}) ORDER BY ({order})"))
}

/// The table that would be made for rows of this shape.
pub(crate) fn designed(shape: &Shape<'_>, profile: &Profile) -> Target {
    let (columns, engine) = design(shape, profile);
    let column = |(name, type_text): (String, String)| TargetColumn {
        name,
        kind: ChType::parse(&type_text),
        type_text,
        default_kind: String::new(),
    };
    Target::new(columns.into_iter().map(column).collect(), &engine)
}

/// The statements that make a table for rows of this shape, and its view.
pub(crate) fn create(
    settings: &Settings,
    table: &str,
    shape: &Shape<'_>,
    profile: &Profile,
) -> Vec<String> {
    let (columns, engine) = design(shape, profile);
    let lines = columns.iter().map(|(name, kind)| format!("{} {kind}", quoted(name)));
    let mut statements = vec![format!(
        "CREATE TABLE IF NOT EXISTS {} ({}) ENGINE = {engine}",
        full_name(settings, table),
        lines.collect::<Vec<_>>().join(", ")
    )];
    if !shape.key.is_empty() {
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        statements.extend(live_view(settings, table, &names, profile));
    }
    statements
}

/// The statements that make the view of a table's live rows.
pub(crate) fn live_view(
    settings: &Settings,
    table: &str,
    columns: &[String],
    profile: &Profile,
) -> Vec<String> {
    let view = full_name(settings, &format!("{table}_live"));
    let shown = columns.iter().filter(|name| *name != VERSION && *name != DELETED);
    let shown = shown.map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let from = full_name(settings, table);
    let select = format!("SELECT {shown} FROM {from} FINAL WHERE {DELETED} = 0");
    if profile.legacy {
        return vec![
            format!("DROP TABLE IF EXISTS {view}"),
            format!("CREATE VIEW {view} AS {select}"),
        ];
    }
    vec![format!("CREATE OR REPLACE VIEW {view} AS {select}")]
}

/// The statements that add and widen columns for rows of this shape.
pub(crate) fn evolve(
    settings: &Settings,
    table: &str,
    target: &Target,
    shape: &Shape<'_>,
    profile: &Profile,
) -> Vec<String> {
    let mut changes = Vec::new();
    let own = target.is_own();
    for (at, (name, schema)) in shape.fields.iter().enumerate() {
        let key = shape.key.contains(&at);
        let wanted = types::chosen(schema, key, profile);
        match column_of(target, shape, at, profile) {
            None if key || target.column(name).is_some() => {}
            None => {
                // Rows that are there already have no value of it.
                let mut optional = Schema::clone(schema);
                optional.optional = true;
                let kind = types::chosen(&optional, false, profile);
                let name = quoted(&shape.column_name(at, profile));
                let exists = if profile.legacy { "" } else { "IF NOT EXISTS " };
                changes.push(format!("ADD COLUMN {exists}{name} {kind}"));
            }
            Some(column) if own && !key => {
                let wanted_kind = ChType::parse(&wanted);
                let nullable = column.kind.base().1 && !wanted_kind.base().1;
                let wanted = if nullable && !wanted.starts_with("Array(") {
                    format!("Nullable({wanted})")
                } else {
                    wanted
                };
                if column.kind.widens_to(&ChType::parse(&wanted)) {
                    changes.push(format!("MODIFY COLUMN {} {wanted}", quoted(&column.name)));
                }
            }
            Some(_) => {}
        }
    }
    if changes.is_empty() {
        return Vec::new();
    }
    vec![format!("ALTER TABLE {} {}", full_name(settings, table), changes.join(", "))]
}

/// `database.table`, quoted.
pub(crate) fn full_name(settings: &Settings, table: &str) -> String {
    format!("{}.{}", quoted(&settings.database), quoted(table))
}

/// The insertable column of a field.
fn column_of<'t>(
    target: &'t Target,
    shape: &Shape<'_>,
    at: usize,
    profile: &Profile,
) -> Option<&'t TargetColumn> {
    let (name, _) = shape.fields.get(at)?;
    let engine = [target.deleted.as_deref(), Some(VERSION).filter(|_| target.is_own())];
    let column = match engine.contains(&Some(*name)) || (target.is_own() && *name == DELETED) {
        true => None,
        false => target.column(name),
    };
    let column = column.or_else(|| target.column(&shape.column_name(at, profile)));
    column.filter(|column| column.insertable())
}

/// The plan for rows of this shape into this table.
pub(crate) fn plan(
    settings: &Settings,
    table: &str,
    target: &Target,
    shape: &Shape<'_>,
    profile: &Profile,
) -> Plan {
    let mut plan =
        Plan { columns: Vec::new(), key: Vec::new(), others: Vec::new(), issues: Vec::new() };
    let mut mapped = Vec::new();
    for (at, (name, schema)) in shape.fields.iter().enumerate() {
        let Some(column) = column_of(target, shape, at, profile) else {
            plan.issues.push(unmapped(settings, table, target, name, shape.key.contains(&at)));
            continue;
        };
        mapped.push(column.name.clone());
        match Builder::new(schema, &column.kind, profile, settings.out_of_range) {
            Some(empty) => {
                warn_of_nulls(&mut plan.issues, table, column, schema);
                let (name, wire) = (column.name.clone(), column.kind.wire());
                plan.columns.push(PlanColumn { name, wire, fill: Fill::Field(at), empty });
            }
            None => plan.issues.push(impossible(table, name, schema, column, profile)),
        }
    }
    for at in &shape.key {
        if let Some(column) = column_of(target, shape, *at, profile) {
            plan.key.push(column.name.clone());
        }
    }
    for column in target.columns.iter().filter(|column| column.insertable()) {
        if mapped.contains(&column.name) {
            continue;
        }
        match managed(target, column) {
            Some((fill, schema)) => {
                let schema = Arc::new(schema);
                match Builder::new(&schema, &column.kind, profile, settings.out_of_range) {
                    Some(empty) => {
                        let (name, wire) = (column.name.clone(), column.kind.wire());
                        plan.columns.push(PlanColumn { name, wire, fill, empty });
                    }
                    None => {
                        plan.issues.push(impossible(table, &column.name, &schema, column, profile));
                    }
                }
            }
            None if column.default_kind.is_empty() && !column.kind.base().1 => {
                plan.others.push(column.name.clone());
                let message = format!(
                    "column {} of table {table} has neither a field nor a default: rows get its \
                     type's zero",
                    column.name
                );
                plan.issues.push(
                    ConfigIssue::warning("topics", message)
                        .remedy("give the column a DEFAULT or make it Nullable"),
                );
            }
            None => plan.others.push(column.name.clone()),
        }
    }
    plan
}

/// What a column that is no field is filled from, by its name or its part in the engine.
fn managed(target: &Target, column: &TargetColumn) -> Option<(Fill, Schema)> {
    let name = column.name.as_str();
    let int = Schema::new(Type::Int64);
    let text = Schema::new(Type::String);
    let mark = if matches!(column.kind.base().0, ChType::Bool | ChType::Int { .. }) {
        (Fill::Deleted, Schema::new(Type::Boolean))
    } else {
        (Fill::DeletedText, text.clone())
    };
    if target.version.as_deref() == Some(name) && !name.ends_with("source_ts_ms") {
        let moment = int.clone().named("io.debezium.time.Timestamp", 1);
        return Some(match column.kind.base().0 {
            ChType::Int { .. } => (Fill::Version, int),
            _ => (Fill::SourceMs, moment),
        });
    }
    if target.deleted.as_deref() == Some(name) {
        return Some(mark);
    }
    Some(match name {
        "_version" => (Fill::Version, int),
        "is_deleted" | "_is_deleted" | "__deleted" | "_deleted" => mark,
        "op" | "__op" | "_op" => (Fill::Op, text),
        "source_ts_ms" | "__source_ts_ms" => match column.kind.base().0 {
            ChType::Int { .. } => (Fill::SourceMs, int),
            _ => (Fill::SourceMs, int.named("io.debezium.time.Timestamp", 1)),
        },
        "__lsn" | "source_lsn" | "__source_lsn" => (Fill::Version, int),
        "_topic" => (Fill::Topic, text),
        "_partition" => (Fill::Partition, int),
        "_offset" => (Fill::Offset, int),
        _ => return None,
    })
}

fn unmapped(
    settings: &Settings,
    table: &str,
    target: &Target,
    name: &str,
    key: bool,
) -> ConfigIssue {
    let computed = target.column(name).is_some_and(|column| !column.insertable());
    let reason = if computed { "a column that is computed" } else { "no column" };
    let message = format!("field {name} has {reason} in table {table}");
    let severity = if key || (settings.unmapped_fails && !computed) {
        Severity::Error
    } else {
        Severity::Warning
    };
    let remedy = "add the column to the table, or set schema.evolution to basic";
    match severity {
        Severity::Error => ConfigIssue::error("topics", message).remedy(remedy),
        Severity::Warning => {
            ConfigIssue::warning("topics", format!("{message}: it is left out")).remedy(remedy)
        }
    }
}

fn warn_of_nulls(
    issues: &mut Vec<ConfigIssue>,
    table: &str,
    column: &TargetColumn,
    schema: &Schema,
) {
    let holds_null =
        column.kind.base().1 || matches!(column.kind.base().0, ChType::Array(_) | ChType::Map(..));
    if schema.optional && !holds_null {
        let message = format!(
            "field {} may be NULL, and its column in table {table} is {}: rows with NULL are rejected",
            column.name, column.type_text
        );
        issues.push(
            ConfigIssue::warning("topics", message)
                .remedy(&format!("make the column Nullable({})", column.type_text)),
        );
    }
}

fn impossible(
    table: &str,
    name: &str,
    schema: &Schema,
    column: &TargetColumn,
    profile: &Profile,
) -> ConfigIssue {
    let message = format!(
        "column {} of table {table} is {}, which cannot hold field {name} of type {}",
        column.name,
        column.type_text,
        described(schema)
    );
    let fitting = types::chosen(schema, false, profile);
    ConfigIssue::error("topics", message)
        .remedy(&format!("make the column {fitting}, or map the topic to another table"))
}

/// A schema in a few words.
pub(crate) fn described(schema: &Schema) -> String {
    let kind = format!("{:?}", schema.kind).to_uppercase();
    match schema.semantic() {
        "" => kind,
        name => format!("{kind} ({name})"),
    }
}
