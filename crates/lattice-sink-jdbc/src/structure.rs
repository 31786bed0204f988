//! From a topic's structure to its table: statements that make and change it, and the plan by which
//! rows fill it.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    event::TableSchema,
    schema::Schema,
};

use crate::{
    config::{KeyMode, Settings},
    layout::{Slot, Source},
    names::{TableName, existing},
    table::Table,
    url::Dialect,
    value::{Kind, Meaning},
};

/// Names of the key's columns when the record's place is the key.
const PLACE: [&str; 3] = ["__connect_topic", "__connect_partition", "__connect_offset"];

/// A structure as a mapping sees it.
pub(crate) struct Shape {
    /// The key's first.
    pub(crate) fields: Vec<ShapeField>,
    /// How many are the key.
    pub(crate) keys: usize,
}

/// What a column is made of.
pub(crate) struct ShapeField {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) meaning: Meaning,
}

impl Shape {
    /// Of whole rows of this structure.
    ///
    /// Errors: `Data` when the rows do not have the key that is configured.
    pub(crate) fn of_rows(
        settings: &Settings,
        topic: &str,
        structure: &TableSchema,
    ) -> Result<Self> {
        let columns: Vec<(&str, &Arc<Schema>)> =
            structure.columns.iter().map(|column| (&*column.name, &column.schema)).collect();
        Self::of(settings, topic, &columns, &structure.key)
    }

    /// Of rows with these columns, and the positions of the record key's among them.
    ///
    /// Errors: as `of_rows`.
    pub(crate) fn of(
        settings: &Settings,
        topic: &str,
        columns: &[(&str, &Arc<Schema>)],
        record_key: &[usize],
    ) -> Result<Self> {
        let key = match settings.key_mode {
            KeyMode::None | KeyMode::Kafka => Vec::new(),
            KeyMode::RecordKey => chosen(settings, topic, columns, record_key)?,
            KeyMode::RecordValue => {
                let all: Vec<usize> = (0..columns.len()).collect();
                chosen(settings, topic, columns, &all)?
            }
        };
        let field = |at: usize| {
            let (name, schema) = columns.get(at)?;
            let (source, meaning) = (Source::Field(at), Meaning::of(schema));
            Some(ShapeField { name: (*name).to_owned(), source, meaning })
        };
        let mut fields: Vec<ShapeField> = key.iter().filter_map(|at| field(*at)).collect();
        if settings.key_mode == KeyMode::Kafka {
            fields.extend(place(settings));
        }
        let keys = fields.len();
        let takes = |at: &usize| {
            let name = columns.get(*at).map_or("", |(name, _)| *name);
            !key.contains(at) && settings.fields.takes(topic, name)
        };
        fields.extend((0..columns.len()).filter(takes).filter_map(field));
        Ok(Self { fields, keys })
    }

    /// Of a record's key alone, with the columns that whole rows have as their key.
    ///
    /// Errors: `Data`.
    pub(crate) fn of_key(settings: &Settings, topic: &str, key: &TableSchema) -> Result<Self> {
        let columns: Vec<(&str, &Arc<Schema>)> =
            key.columns.iter().map(|column| (&*column.name, &column.schema)).collect();
        let all: Vec<usize> = (0..columns.len()).collect();
        let mut shape = Self::of(settings, topic, &columns, &all)?;
        shape.fields.truncate(shape.keys);
        Ok(shape)
    }
}

/// The key's columns among those that may be it.
fn chosen(
    settings: &Settings,
    topic: &str,
    columns: &[(&str, &Arc<Schema>)],
    candidates: &[usize],
) -> Result<Vec<usize>> {
    let name = |at: &usize| columns.get(*at).map_or("", |(name, _)| *name);
    if settings.key_fields.is_empty() {
        if candidates.is_empty() {
            return Err(Error::data(format!("records of topic {topic} have no key whose fields are in their rows"))
                .with_remedy(
                    "give the source table a primary key, or name the key's fields by record_value and \
                     primary.key.fields (pk.fields), or write the topic by a connector of its own with key mode none",
                ));
        }
        return Ok(candidates.to_vec());
    }
    let find = |field: &String| {
        candidates.iter().find(|at| name(at) == field).copied().ok_or_else(|| {
            let known: Vec<&str> = candidates.iter().map(name).collect();
            Error::data(format!("records of topic {topic} have no field \"{field}\" to be the key"))
                .with_remedy(format!("the fields are: {}", known.join(", ")))
        })
    };
    settings.key_fields.iter().map(find).collect()
}

fn place(settings: &Settings) -> impl Iterator<Item = ShapeField> {
    let names: Vec<String> = match settings.key_fields.as_slice() {
        [] => PLACE.map(str::to_owned).to_vec(),
        names => names.to_vec(),
    };
    let sources = [
        (Source::Topic, Meaning::Text(Kind::Plain)),
        (Source::Partition, Meaning::Int(32)),
        (Source::Offset, Meaning::Int(64)),
    ];
    names.into_iter().zip(sources).map(|(name, (source, meaning))| ShapeField {
        name,
        source,
        meaning,
    })
}

/// The statement that makes a table for rows of this shape.
///
/// Errors: `Config`, for names that the database would not keep.
pub(crate) fn create(settings: &Settings, name: &TableName, shape: &Shape) -> Result<String> {
    let dialect = settings.address.dialect();
    let mut lines = Vec::new();
    let mut key = Vec::new();
    for (at, field) in shape.fields.iter().enumerate() {
        let column = settings.naming.column(&field.name);
        check_name(dialect, &column)?;
        let is_key = at < shape.keys;
        let kind = dialect.type_for(&field.meaning, is_key);
        let end = if is_key { " NOT NULL" } else { "" };
        lines.push(format!("{} {kind}{end}", dialect.quoted(&column)));
        if is_key {
            key.push(dialect.quoted(&column));
        }
    }
    if !key.is_empty() {
        lines.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    Ok(format!(
        "CREATE TABLE IF NOT EXISTS {} ({}){}",
        dialect.table(name),
        lines.join(", "),
        dialect.table_options()
    ))
}

fn check_name(dialect: Dialect, name: &str) -> Result<()> {
    match dialect.check_name(name) {
        Some(reason) => Err(Error::config(reason)
            .with_remedy("make the table by hand with a shorter name, or leave the field out by field.exclude.list")),
        None => Ok(()),
    }
}

/// The statements that add and widen columns for rows of this shape.
///
/// Errors: `Config`, as `create`.
pub(crate) fn evolve(settings: &Settings, table: &Table, shape: &Shape) -> Result<Vec<String>> {
    let dialect = settings.address.dialect();
    let name = dialect.table(&table.name);
    let mut statements = Vec::new();
    for (at, field) in shape.fields.iter().enumerate() {
        let wanted = settings.naming.column(&field.name);
        match find(table, &wanted) {
            None => {
                check_name(dialect, &wanted)?;
                let kind = dialect.type_for(&field.meaning, at < shape.keys);
                statements.push(format!(
                    "ALTER TABLE {name} ADD COLUMN {} {kind}",
                    dialect.quoted(&wanted)
                ));
            }
            Some(column) => {
                if let Some(kind) = dialect.wider(column, &field.meaning) {
                    statements.push(dialect.alter_type(&name, column, &kind));
                }
            }
        }
    }
    Ok(statements)
}

/// The column that is meant, whatever its case.
pub(crate) fn find<'t>(table: &'t Table, wanted: &str) -> Option<&'t crate::table::Column> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    existing(wanted, names).and_then(|name| table.column(name))
}

/// The columns that rows of this shape fill.
///
/// Errors: `Schema`.
pub(crate) fn slots(
    settings: &Settings,
    topic: &str,
    table: &Table,
    shape: &Shape,
) -> Result<Vec<(Slot, Source, Meaning)>> {
    let dialect = settings.address.dialect();
    let mut slots: Vec<(Slot, Source, Meaning)> = Vec::new();
    let mut missing = Vec::new();
    for (at, field) in shape.fields.iter().enumerate() {
        let wanted = settings.naming.column(&field.name);
        match find(table, &wanted) {
            // The database computes it; what the source has cannot be written.
            Some(column) if column.generated && at >= shape.keys => {}
            Some(column) => {
                if let Some((other, ..)) = slots.iter().find(|(slot, ..)| slot.name == column.name)
                {
                    return Err(Error::schema(format!(
                        "two fields of topic {topic} are meant for column {} of table {}",
                        other.name, table.name
                    ))
                    .with_remedy("leave one out by field.exclude.list (fields.whitelist)"));
                }
                slots.push((
                    dialect.slot(column, &field.meaning),
                    field.source,
                    field.meaning.clone(),
                ));
            }
            None => missing.push(wanted),
        }
    }
    if missing.is_empty() {
        return Ok(slots);
    }
    Err(Error::schema(format!("table {} has no column {} for fields of topic {topic}", table.name, missing.join(", ")))
        .with_remedy(
            "add the columns, or set schema.evolution to basic (auto.evolve to true), or leave the fields out by \
             field.exclude.list (fields.whitelist)",
        ))
}
