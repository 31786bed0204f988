//! Tables' structures: from relation messages (as a change had it) and from the catalog (as it is
//! now), into schemas with compiled decoders.

use std::{collections::HashMap, sync::Arc, time::Duration};

use lattice_core::{
    Result,
    event::{Column, TableId, TableSchema},
    progress::Progress,
    schema::Schema,
};

use crate::{
    config::{Settings, rules::Rule},
    connection::{Connection, Purpose, Row},
    discover::{self, CatalogColumn, CatalogTable},
    protocol::pgoutput::Relation,
    row::{TupleDecoder, WireColumn},
    types::{
        self,
        catalog::{Catalog, describe},
        change::{Change, ColumnChange},
    },
};

/// A column as far as its schema and decoder depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShapeColumn {
    name: String,
    type_oid: u32,
    typmod: i32,
    optional: bool,
    default: Option<String>,
}

/// What a table's schema is made from: equal shapes have one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    schema: String,
    table: String,
    columns: Vec<ShapeColumn>,
    key: Vec<String>,
}

/// Gives tables' schemas, and keeps them.
#[derive(Debug)]
pub struct Tables {
    settings: Arc<Settings>,
    database: Arc<str>,
    progress: Arc<Progress>,
    connection: Option<Connection>,
    catalog: Catalog,
    /// By relation OID.
    known: HashMap<u32, (Shape, Arc<TableSchema>)>,
}

impl Tables {
    /// Connects when it first must.
    #[must_use]
    pub fn new(settings: Arc<Settings>, progress: Arc<Progress>) -> Self {
        let database = settings.target.database.as_str().into();
        let (catalog, known) = (Catalog::default(), HashMap::new());
        Self { settings, database, progress, connection: None, catalog, known }
    }

    /// Runs `query` on the connection for look-ups; one that was lost is opened anew once.
    async fn look_up(&mut self, oid: u32) -> Result<Option<CatalogTable>> {
        if let Some(mut connection) = self.connection.take()
            && let Ok(found) = discover::catalog_table(&mut connection, oid).await
        {
            self.connection = Some(connection);
            return Ok(found);
        }
        let mut connection = Connection::open(&self.settings.target, Purpose::General).await?;
        let found = discover::catalog_table(&mut connection, oid).await?;
        self.connection = Some(connection);
        Ok(found)
    }

    /// The first row of a query on the connection for look-ups.
    ///
    /// Errors: the server's.
    pub async fn select(&mut self, sql: &str) -> Result<Option<Row>> {
        if let Some(mut connection) = self.connection.take()
            && let Ok(rows) = connection.query(sql).await
        {
            self.connection = Some(connection);
            return Ok(rows.into_iter().next());
        }
        let mut connection = Connection::open(&self.settings.target, Purpose::General).await?;
        let rows = connection.query(sql).await?;
        self.connection = Some(connection);
        Ok(rows.into_iter().next())
    }

    /// Waits until a transaction that the log told of is visible to look-ups.
    ///
    /// The log has a commit a moment before other sessions see it (with synchronous replication:
    /// until a standby answers). A look-up in between finds the catalog without the transaction's
    /// own statements: no such table, or a column that may still be NULL, and a schema made of that
    /// is incompatible with the right one later.
    ///
    /// Errors: the server's. When it takes longer than ten seconds, the catalog is taken as it is.
    pub async fn await_visible(&mut self, xid: u32) -> Result<()> {
        // 32 bits of a 64-bit number: the half of its range nearest to the snapshot's end.
        let sql = format!(
            "SELECT txid_visible_in_snapshot(CASE WHEN id - ends > 2147483648 THEN id - 4294967296 \
             ELSE id END, now) FROM (SELECT now, txid_snapshot_xmax(now) AS ends, \
             (txid_snapshot_xmax(now) >> 32 << 32) + {xid} AS id \
             FROM txid_current_snapshot() AS now) AS snapshot"
        );
        for attempt in 0..200_u64 {
            let row = self.select(&sql).await?;
            let visible = row.as_ref().and_then(|row| row.first()?.as_deref());
            if visible == Some("t") {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(2 + attempt / 2)).await;
        }
        tracing::warn!(xid, "a committed transaction is not visible yet; the catalog may be older");
        Ok(())
    }

    /// The structure that a relation message tells; `None`: the table is not captured.
    ///
    /// Names, types and their modifiers are the message's, as they were when the change was made.
    /// Whether a column may be NULL, its default and (where the message cannot say) the key are
    /// today's catalog's, for columns that are still the same.
    ///
    /// Errors: the server's.
    pub async fn of_relation(&mut self, relation: &Relation) -> Result<Option<Arc<TableSchema>>> {
        let schema = if relation.schema.is_empty() { "pg_catalog" } else { &relation.schema };
        if !self.settings.tables.allows(schema, &relation.table) {
            return Ok(None);
        }
        let today = self.look_up(relation.oid).await?.unwrap_or_default();
        let columns: Vec<ShapeColumn> = relation
            .columns
            .iter()
            .map(|column| {
                let same =
                    |c: &&CatalogColumn| c.name == column.name && c.type_oid == column.type_oid;
                let today = today.columns.iter().find(same);
                ShapeColumn {
                    name: column.name.clone(),
                    type_oid: column.type_oid,
                    typmod: column.typmod,
                    optional: today.is_none_or(|column| !column.not_null),
                    default: today.and_then(|column| column.default.clone()),
                }
            })
            .collect();
        let key = self.key_then(relation, &today);
        let table = relation.table.clone();
        let shape = Shape { schema: schema.to_owned(), table, columns, key };
        self.build(relation.oid, shape).await.map(Some)
    }

    /// The key as it was when the change was made.
    fn key_then(&self, relation: &Relation, today: &CatalogTable) -> Vec<String> {
        let has = |name: &str| relation.columns.iter().any(|column| column.name == name);
        if let Some(columns) = self.settings.key_columns.of(&relation.schema, &relation.table) {
            return columns.into_iter().filter(|name| has(name)).map(str::to_owned).collect();
        }
        let flagged: Vec<String> = relation
            .columns
            .iter()
            .filter(|column| column.identity)
            .map(|column| column.name.clone())
            .collect();
        let same_set = |key: &[String]| {
            key.len() == flagged.len() && key.iter().all(|name| flagged.contains(name))
        };
        let catalog = today.key(false);
        match relation.identity {
            // The flags are the primary key's; the catalog may know its order.
            b'd' if same_set(&catalog) => catalog,
            b'd' if flagged.is_empty() && today.primary.is_some() => Vec::new(),
            b'd' if !flagged.is_empty() => flagged,
            b'i' if !catalog.is_empty() && catalog.iter().all(|name| flagged.contains(name)) => {
                catalog
            }
            b'i' => flagged,
            _ if catalog.iter().all(|name| has(name)) => catalog,
            _ => self
                .known
                .get(&relation.oid)
                .map(|(shape, _)| shape.key.clone())
                .filter(|key| key.iter().all(|name| has(name)))
                .unwrap_or_default(),
        }
    }

    /// The structure as the catalog has it now, with only the columns `names`.
    ///
    /// Errors: the server's.
    pub async fn of_catalog(
        &mut self,
        table: &CatalogTable,
        names: &[String],
    ) -> Result<Arc<TableSchema>> {
        let columns: Vec<ShapeColumn> = table
            .columns
            .iter()
            .filter(|column| names.contains(&column.name))
            .map(|column| ShapeColumn {
                name: column.name.clone(),
                type_oid: column.type_oid,
                typmod: column.typmod,
                optional: !column.not_null,
                default: column.default.clone(),
            })
            .collect();
        let key = match self.settings.key_columns.of(&table.schema, &table.table) {
            Some(columns) => columns.into_iter().map(str::to_owned).collect(),
            None => table.key(table.identity == b'i'),
        };
        let key = key.into_iter().filter(|name| names.contains(name)).collect();
        let shape =
            Shape { schema: table.schema.clone(), table: table.table.clone(), columns, key };
        self.build(table.oid, shape).await
    }

    async fn build(&mut self, oid: u32, shape: Shape) -> Result<Arc<TableSchema>> {
        if let Some((known, schema)) = self.known.get(&oid)
            && *known == shape
        {
            return Ok(Arc::clone(schema));
        }
        let oids: Vec<u32> = shape.columns.iter().map(|column| column.type_oid).collect();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.settings.target, Purpose::General).await?,
        };
        // A new label of an enum comes with no relation message of its own, but a new structure
        // is a good time to look.
        self.catalog.forget_user_types();
        self.catalog.load(&mut connection, oids).await?;
        self.connection = Some(connection);
        let schema = Arc::new(self.compile(&shape));
        self.known.insert(oid, (shape, Arc::clone(&schema)));
        Ok(schema)
    }

    fn compile(&self, shape: &Shape) -> TableSchema {
        let (mut columns, mut wire, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        let modes = &self.settings.modes;
        let chosen = self.settings.key_columns.of(&shape.schema, &shape.table).is_some();
        for column in &shape.columns {
            let is_key = shape.key.contains(&column.name);
            let wanted =
                is_key || self.settings.columns.allows(&shape.schema, &shape.table, &column.name);
            // Columns that the configuration makes a key may hold NULL; a primary key's never do, even where the catalog
            // does not know the table any more.
            let optional = column.optional && (chosen || !is_key);
            let mapped = wanted
                .then(|| {
                    types::map_type(&self.catalog, column.type_oid, column.typmod, modes, optional)
                })
                .flatten();
            let name: Arc<str> = column.name.as_str().into();
            if wanted && mapped.as_ref().is_none_or(|mapped| mapped.unknown) {
                unknown.push(column.name.clone());
            }
            let (mut change, mut missing) = (None, None);
            let decoder = mapped.map(|mut mapped| {
                change = self.treated(shape, column, is_key, &mut mapped);
                let schema = column_schema(&mapped, optional, column.default.as_deref());
                missing =
                    types::zero_text(&mapped).filter(|_| !optional && schema.default.is_none());
                columns.push(Column { name: Arc::clone(&name), schema });
                mapped.decoder
            });
            wire.push(WireColumn { name, decoder, change, missing });
        }
        let id = TableId {
            database: Arc::clone(&self.database),
            schema: shape.schema.as_str().into(),
            table: shape.table.as_str().into(),
        };
        self.warn_of_unknown(&id, &unknown);
        let position = |name: &String| columns.iter().position(|column| &*column.name == name);
        let key = shape.key.iter().filter_map(position).collect();
        let decoder = Arc::new(TupleDecoder::new(id.to_string(), wire));
        TableSchema::new(id, columns, key, decoder)
    }

    /// What the column rules do to a column; its schema tells of it.
    ///
    /// A key's columns stay as they are: a record's key shows them anyway, and rows must not fall together.
    fn treated(
        &self,
        shape: &Shape,
        column: &ShapeColumn,
        is_key: bool,
        mapped: &mut types::Mapped,
    ) -> Option<ColumnChange> {
        let described = describe(&self.catalog, column.type_oid, column.typmod);
        let rule =
            self.settings.rules.of(&shape.schema, &shape.table, &column.name, &described.name)?;
        let mut tell =
            |name: &str, value: &str| mapped.schema.parameters.push((name.into(), value.into()));
        let change = match rule {
            Rule::Propagate | Rule::PropagateType => {
                tell("__debezium.source.column.type", &described.name.to_uppercase());
                for (name, number) in [("length", described.length), ("scale", described.scale)] {
                    if let Some(number) = number {
                        tell(&format!("__debezium.source.column.{name}"), &number.to_string());
                    }
                }
                tell("__debezium.source.column.name", &column.name);
                return None;
            }
            Rule::Change(_) if is_key => {
                tracing::warn!(column = column.name, "a key column is neither masked nor cut");
                return None;
            }
            Rule::Change(change) => change,
        };
        match change {
            Change::Cut(count) => tell("truncateLength", &count.to_string()),
            Change::Stars(_) | Change::Hash { .. } => tell("masked", "true"),
        }
        let is_text = described.is_text;
        let takes = match change {
            // A column that holds no more than stays needs no look.
            Change::Cut(count) => {
                (is_text || described.name == "bytea")
                    && described.length.is_none_or(|length| length > *count as u64)
            }
            Change::Stars(_) | Change::Hash { .. } => is_text,
        };
        let length = described.length.filter(|_| is_text).and_then(|length| length.try_into().ok());
        takes.then(|| ColumnChange { change: change.clone(), length })
    }

    fn warn_of_unknown(&self, id: &TableId, columns: &[String]) {
        if columns.is_empty() {
            return;
        }
        let names = columns.join(", ");
        tracing::warn!(table = %id, columns = names, "columns of types without mapping");
        let message = format!(
            "columns of types without mapping: {names}; their text is used, or they are left out, \
             by include.unknown.datatypes"
        );
        self.progress.table(&id.to_string()).set_message(Some(message));
    }
}

fn column_schema(mapped: &types::Mapped, optional: bool, default: Option<&str>) -> Arc<Schema> {
    let mut schema = mapped.schema.clone();
    // Debezium's geometries are optional whatever the column is.
    let geometry = matches!(mapped.decoder, types::Decoder::Geometry);
    schema.optional = optional || geometry;
    if let Some(default) = default {
        schema.default = types::default_value(mapped, default);
    }
    Arc::new(schema)
}
