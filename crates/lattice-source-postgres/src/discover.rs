//! What the server's catalog says: tables, their columns and keys, what is published.

use lattice_core::{Result, config::ConfigIssue, connector::TableInfo};

use crate::{
    config::Settings,
    connection::{Connection, Row, quote_ident, quote_literal},
    types::{self, catalog::Catalog},
};

/// A column as the catalog has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: u32,
    /// Its type's modifier.
    pub typmod: i32,
    /// Its type in SQL.
    pub type_name: String,
    /// Whether it is NOT NULL.
    pub not_null: bool,
    /// Its default's expression.
    pub default: Option<String>,
    /// Whether it is generated.
    pub generated: bool,
}

/// A table as the catalog has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogTable {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// Its replica identity: `d`, `n`, `f`, `i`; 0: unknown.
    pub identity: u8,
    /// Its columns, in order.
    pub columns: Vec<CatalogColumn>,
    /// Its primary key's columns, in order.
    pub primary: Option<Vec<String>>,
    /// Its replica identity index's columns.
    pub identity_index: Option<Vec<String>>,
    /// The columns of a unique index without NULLs.
    pub unique: Option<Vec<String>>,
}

impl CatalogTable {
    /// The key's columns: the primary key's, else a unique index's. `by_identity`: rows are
    /// identified by an index; when it does not hold the primary key, deletes could not be keyed
    /// by that, so its own columns are the key.
    #[must_use]
    pub fn key(&self, by_identity: bool) -> Vec<String> {
        let key = self.primary.as_ref().or(self.unique.as_ref()).cloned().unwrap_or_default();
        match &self.identity_index {
            Some(index) if by_identity && !key.iter().all(|name| index.contains(name)) => {
                index.clone()
            }
            Some(index) if by_identity && key.is_empty() => index.clone(),
            _ => key,
        }
    }
}

fn text(row: &Row, index: usize) -> &str {
    row.get(index).and_then(Option::as_deref).unwrap_or("")
}

fn number<T: std::str::FromStr + Default>(row: &Row, index: usize) -> T {
    text(row, index).parse().unwrap_or_default()
}

fn names(row: &Row, index: usize) -> Vec<String> {
    serde_json::from_str(text(row, index)).unwrap_or_default()
}

/// The table of this OID, if it is still there.
///
/// Errors: the server's.
pub async fn catalog_table(connection: &mut Connection, oid: u32) -> Result<Option<CatalogTable>> {
    let sql = format!(
        "SELECT n.nspname, c.relname, c.relreplident FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {oid}"
    );
    let Some(row) = connection.query(&sql).await?.into_iter().next() else { return Ok(None) };
    let mut table = CatalogTable {
        oid,
        schema: text(&row, 0).to_owned(),
        table: text(&row, 1).to_owned(),
        identity: text(&row, 2).bytes().next().unwrap_or(0),
        ..CatalogTable::default()
    };
    let sql = format!(
        "SELECT a.attname, a.atttypid, a.atttypmod, pg_catalog.format_type(a.atttypid, a.atttypmod), \
         a.attnotnull, pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attgenerated <> '' \
         FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d \
         ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
         WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    );
    for row in connection.query(&sql).await? {
        let generated = text(&row, 6) == "t";
        table.columns.push(CatalogColumn {
            name: text(&row, 0).to_owned(),
            type_oid: number(&row, 1),
            typmod: text(&row, 2).parse().unwrap_or(-1),
            type_name: text(&row, 3).to_owned(),
            not_null: text(&row, 4) == "t",
            default: row.get(5).cloned().flatten().filter(|_| !generated),
            generated,
        });
    }
    // Only indexes that hold for every row and have no expression.
    let sql = format!(
        "SELECT i.indisprimary, i.indisreplident, \
         (SELECT json_agg(a.attname ORDER BY k.n) FROM unnest(i.indkey::int2[]) \
          WITH ORDINALITY k(attnum, n) JOIN pg_catalog.pg_attribute a \
          ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE k.n <= i.indnkeyatts) \
         FROM pg_catalog.pg_index i WHERE i.indrelid = {oid} AND i.indisunique AND i.indisvalid \
         AND (i.indimmediate OR i.indisprimary) AND i.indpred IS NULL AND i.indexprs IS NULL \
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid \
          AND a.attnum = ANY (i.indkey) AND NOT a.attnotnull) ORDER BY i.indexrelid"
    );
    for row in connection.query(&sql).await? {
        let columns = names(&row, 2);
        if text(&row, 1) == "t" {
            table.identity_index = Some(columns.clone());
        }
        if text(&row, 0) == "t" {
            table.primary = Some(columns);
        } else if table.unique.is_none() {
            table.unique = Some(columns);
        }
    }
    Ok(Some(table))
}

/// A table of the publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// The published columns; `None`: all that are not generated.
    pub columns: Option<Vec<String>>,
    /// The publication's condition on rows.
    pub filter: Option<String>,
    /// Whether it is a partitioned table.
    pub partitioned: bool,
    /// Rows, by the server's estimate.
    pub rows: u64,
}

/// The publication's tables that the configuration captures.
///
/// Errors: the server's.
pub async fn published(connection: &mut Connection, settings: &Settings) -> Result<Vec<Published>> {
    let details = if connection.version() >= 150_000 {
        "to_json(p.attnames), p.rowfilter"
    } else {
        "NULL, NULL"
    };
    let sql = format!(
        "SELECT c.oid, p.schemaname, p.tablename, c.relkind, greatest(c.reltuples, 0)::bigint, {details} \
         FROM pg_catalog.pg_publication_tables p \
         JOIN pg_catalog.pg_namespace n ON n.nspname = p.schemaname \
         JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename \
         WHERE p.pubname = {} ORDER BY 2, 3",
        quote_literal(&settings.publication)
    );
    let rows = connection.query(&sql).await?;
    let captured =
        rows.into_iter().filter(|row| settings.tables.allows(text(row, 1), text(row, 2)));
    let published = captured.map(|row| Published {
        oid: number(&row, 0),
        schema: text(&row, 1).to_owned(),
        table: text(&row, 2).to_owned(),
        partitioned: text(&row, 3) == "p",
        rows: number(&row, 4),
        columns: row.get(5).cloned().flatten().map(|_| names(&row, 5)),
        filter: row.get(6).cloned().flatten(),
    });
    Ok(published.collect())
}

/// All tables that the configuration captures, published or not: schema and name.
///
/// Errors: the server's.
pub async fn captured(
    connection: &mut Connection,
    settings: &Settings,
) -> Result<Vec<(String, String)>> {
    let sql = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' \
               AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2";
    let rows = connection.query(sql).await?;
    let tables = rows.into_iter().map(|row| (text(&row, 0).to_owned(), text(&row, 1).to_owned()));
    Ok(tables.filter(|(schema, table)| settings.tables.allows(schema, table)).collect())
}

/// `"schema"."table"`
#[must_use]
pub fn qualified(schema: &str, table: &str) -> String {
    format!("{}.{}", quote_ident(schema), quote_ident(table))
}

/// The database's tables, for pickers.
///
/// Errors: the server's.
pub async fn table_infos(
    connection: &mut Connection,
    settings: &Settings,
) -> Result<Vec<TableInfo>> {
    let sql = "SELECT c.oid, greatest(c.reltuples, -1)::bigint, \
               pg_catalog.pg_table_size(c.oid), has_table_privilege(c.oid, 'SELECT') \
               FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' \
               AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
               AND n.nspname NOT LIKE 'pg\\_%' ORDER BY n.nspname, c.relname";
    let mut catalog = Catalog::default();
    let mut infos = Vec::new();
    for row in connection.query(sql).await? {
        let Some(table) = catalog_table(connection, number(&row, 0)).await? else { continue };
        let oids: Vec<u32> = table.columns.iter().map(|column| column.type_oid).collect();
        catalog.load(connection, oids).await?;
        let column = |column: &CatalogColumn| {
            let optional = !column.not_null;
            let (oid, typmod) = (column.type_oid, column.typmod);
            let mapped = types::map_type(&catalog, oid, typmod, &settings.modes, optional)?;
            let schema = if optional { mapped.schema.optional() } else { mapped.schema };
            Some((column.name.clone(), schema.into(), column.type_name.clone()))
        };
        infos.push(TableInfo {
            name: format!("{}.{}", table.schema, table.table),
            columns: table.columns.iter().filter_map(column).collect(),
            key: table.key(table.identity == b'i'),
            rows: u64::try_from(number::<i64>(&row, 1)).ok().filter(|_| text(&row, 1) != "-1"),
            bytes: text(&row, 2).parse().ok(),
            captured: settings.tables.allows(&table.schema, &table.table),
            issues: table_issues(&table, text(&row, 3) == "t", &settings.target.user),
        });
    }
    Ok(infos)
}

/// What a person should know of a table.
#[must_use]
pub fn table_issues(table: &CatalogTable, readable: bool, user: &str) -> Vec<ConfigIssue> {
    let name = qualified(&table.schema, &table.table);
    let mut issues = Vec::new();
    let mut warn = |message: String, remedy: String| {
        issues.push(ConfigIssue::warning("table.include.list", message).remedy(&remedy));
    };
    if !readable {
        let message = format!("the role \"{user}\" may not read {name}");
        let remedy = format!(
            "GRANT USAGE ON SCHEMA {} TO {user}; GRANT SELECT ON {name} TO {user};",
            quote_ident(&table.schema),
            user = quote_ident(user)
        );
        warn(message, remedy);
    }
    if table.identity == b'n' {
        let message = format!(
            "{name} has replica identity nothing: its updates and deletes fail once it is published"
        );
        warn(message, format!("ALTER TABLE {name} REPLICA IDENTITY DEFAULT;"));
    } else if table.primary.is_none() && table.identity == b'd' {
        let message = format!(
            "{name} has no primary key: its updates and deletes fail once it is published, and its records have no key"
        );
        warn(message, format!("add a primary key, or ALTER TABLE {name} REPLICA IDENTITY FULL;"));
    }
    issues
}
