//! The Connect schemas of Debezium's envelope and its kin.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    event::{Layout, TableSchema},
    schema::{Field, Schema, Type},
};

use crate::{naming::Adjustment, options::MessageForm};

/// Schemas of one table's records.
pub(crate) struct TableSchemas {
    /// `<topic>.Key`; `None`: the table has no key.
    pub(crate) key: Option<Schema>,
    /// `<topic>.Envelope`
    pub(crate) envelope: Schema,
}

/// Errors: `Schema` when two columns' names become one.
pub(crate) fn of_table(
    table: &TableSchema,
    topic: &str,
    source: &Arc<Schema>,
    schemas: Adjustment,
    fields: Adjustment,
) -> Result<TableSchemas> {
    let mut columns: Vec<Field> = Vec::with_capacity(table.columns.len());
    for (index, column) in table.columns.iter().enumerate() {
        let name = fields.field(&column.name);
        if let Some(other) = columns.iter().position(|field| *field.name == *name) {
            return Err(Error::schema(format!(
                "columns \"{}\" and \"{}\" of table {} both become field \"{name}\"",
                table.columns[other].name, table.columns[index].name, table.id
            ))
            .with_remedy(
                "set \"field.name.adjustment.mode\": \"avro_unicode\", rename one of the columns, \
                 or leave one out by \"column.exclude.list\"",
            ));
        }
        columns.push(Field::new(name, Arc::clone(&column.schema)));
    }
    let named = |part: &str| schemas.schema(&format!("{topic}.{part}"));
    let key_fields: Vec<Field> =
        table.key.iter().filter_map(|index| columns.get(*index).cloned()).collect();
    let key = (!key_fields.is_empty()).then(|| Schema::structure(named("Key"), key_fields));
    if table.layout == Layout::Members {
        let members = columns.into_iter().enumerate();
        let members = members.filter(|(index, _)| !table.key.contains(index));
        let members = members.map(|(_, field)| field).collect();
        let envelope = of_members(named("Envelope"), members, source);
        return Ok(TableSchemas { key, envelope });
    }
    let row = Arc::new(Schema::structure(named("Value"), columns).optional());
    let mut envelope = Schema::structure(
        named("Envelope"),
        vec![
            Field::new("before", Arc::clone(&row)),
            Field::new("after", Arc::clone(&row)),
            Field::new("source", Arc::clone(source)),
            Field::new("transaction", transaction_block()),
            Field::new("op", Schema::new(Type::String)),
            Field::new("ts_ms", Schema::new(Type::Int64).optional()),
            Field::new("ts_us", Schema::new(Type::Int64).optional()),
            Field::new("ts_ns", Schema::new(Type::Int64).optional()),
        ],
    );
    envelope.version = Some(2);
    Ok(TableSchemas { key, envelope })
}

/// The envelope of documents: no version, another order, no `ts_us` and `ts_ns`. Source: Debezium's
/// `MongoDbSchema`, 3.6.
fn of_members(name: String, mut fields: Vec<Field>, source: &Arc<Schema>) -> Schema {
    fields.extend([
        Field::new("source", Arc::clone(source)),
        Field::new("op", Schema::new(Type::String).optional()),
        Field::new("ts_ms", Schema::new(Type::Int64).optional()),
        Field::new("transaction", transaction_block()),
    ]);
    Schema::structure(name, fields)
}

/// The `transaction` member of events.
pub(crate) fn transaction_block() -> Schema {
    let fields = vec![
        Field::new("id", Schema::new(Type::String)),
        Field::new("total_order", Schema::new(Type::Int64)),
        Field::new("data_collection_order", Schema::new(Type::Int64)),
    ];
    Schema { version: Some(1), ..Schema::structure("event.block", fields) }.optional()
}

/// Key and value schema of logical decoding messages.
pub(crate) fn of_messages(source: &Arc<Schema>, form: MessageForm) -> (Schema, Schema) {
    let space = source.semantic().rsplit_once('.').map_or("", |(space, _)| space);
    let named = |name: &str, fields| Schema {
        version: Some(1),
        ..Schema::structure(format!("{space}.{name}"), fields)
    };
    let prefix = || Field::new("prefix", Schema::new(Type::String).optional());
    let content = match form {
        MessageForm::Bytes => Type::Bytes,
        MessageForm::Base64 | MessageForm::Base64Url | MessageForm::Hex => Type::String,
    };
    let content = Field::new("content", Schema::new(content).optional());
    let value = vec![
        Field::new("op", Schema::new(Type::String)),
        Field::new("ts_ms", Schema::new(Type::Int64).optional()),
        Field::new("source", Arc::clone(source)),
        Field::new("transaction", transaction_block()),
        Field::new("message", named("Message", vec![prefix(), content])),
    ];
    (named("MessageKey", vec![prefix()]), named("MessageValue", value))
}
