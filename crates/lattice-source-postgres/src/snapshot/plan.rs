//! Which parts of which tables are read.

use std::{collections::BTreeMap, sync::Arc};

use lattice_core::{Result, event::TableSchema};

use crate::{
    config::Settings,
    connection::{Connection, quote_ident},
    discover::{self, Published, qualified},
    position::{SnapshotProgress, UnitProgress},
    tables::Tables,
};

/// A table on the server's disk: an ordinary table, or a part of a partitioned one.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Its quoted name, by which its progress is kept.
    pub key: String,
    /// The schema of its rows' events.
    pub table: Arc<TableSchema>,
    /// `SELECT … FROM ONLY …`, without a range.
    pub select: String,
    /// The publication's condition on rows, if there is one.
    pub filter: Option<String>,
    /// How many columns a row has.
    pub columns: usize,
    /// Pages in a range.
    pub pages: u64,
    /// How many ranges.
    pub chunks: u32,
    /// Which ranges an earlier attempt has done.
    pub done: Vec<u32>,
    /// Estimated rows.
    pub rows: u64,
}

pub(super) struct Planned {
    pub(super) units: Vec<Unit>,
    pub(super) progress: BTreeMap<String, UnitProgress>,
}

/// A part's OID, quoted name, file, size in pages, and whether it has pages of its own.
struct Part {
    name: String,
    file: u64,
    pages: u64,
    ranges: bool,
}

pub(super) async fn plan(
    general: &mut Connection,
    tables: &mut Tables,
    settings: &Settings,
    published: &[Published],
    earlier: Option<&SnapshotProgress>,
) -> Result<Planned> {
    let mut planned = Planned { units: Vec::new(), progress: BTreeMap::new() };
    for table in published {
        let name = format!("{}.{}", table.schema, table.table);
        if settings.snapshot_tables.as_ref().is_some_and(|list| !list.allows(&name)) {
            continue;
        }
        let Some(catalog) = discover::catalog_table(general, table.oid).await? else { continue };
        let names: Vec<String> = catalog
            .columns
            .iter()
            .filter(|column| match &table.columns {
                Some(columns) => columns.contains(&column.name),
                None => !column.generated,
            })
            .map(|column| column.name.clone())
            .collect();
        let schema = tables.of_catalog(&catalog, &names).await?;
        let list: Vec<String> = names.iter().map(|name| quote_ident(name)).collect();
        for part in parts(general, table.oid).await? {
            let select = format!("SELECT {} FROM ONLY {}", list.join(", "), part.name);
            let earlier = earlier.and_then(|earlier| earlier.units.get(&part.name));
            let progress = cut(settings, &part, earlier);
            planned.units.push(Unit {
                key: part.name.clone(),
                table: Arc::clone(&schema),
                select,
                filter: table.filter.clone(),
                columns: names.len(),
                pages: progress.pages,
                chunks: progress.chunks,
                done: progress.done.clone(),
                rows: table.rows,
            });
            planned.progress.insert(part.name, progress);
        }
    }
    Ok(planned)
}

/// Ranges of an earlier attempt hold as long as the table's file is the same: rewriting it moves
/// every row.
fn cut(settings: &Settings, part: &Part, earlier: Option<&UnitProgress>) -> UnitProgress {
    if let Some(earlier) = earlier.filter(|earlier| earlier.file == part.file) {
        return earlier.clone();
    }
    const PAGE: u64 = 8192;
    let pages = (settings.snapshot_chunk_bytes / PAGE).max(1);
    let chunks = if part.ranges { part.pages.div_ceil(pages).max(1) } else { 1 };
    let chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
    UnitProgress { file: part.file, pages, chunks, done: Vec::new() }
}

async fn parts(general: &mut Connection, oid: u32) -> Result<Vec<Part>> {
    // Ranges of row ids are scanned as ranges since PostgreSQL 14; before, each would read all.
    let by_range = general.version() >= 140_000;
    let sql = format!(
        "SELECT n.nspname, c.relname, coalesce(pg_catalog.pg_relation_filenode(c.oid), 0), \
         CASE c.relkind WHEN 'r' THEN pg_catalog.pg_relation_size(c.oid) ELSE 0 END \
         / current_setting('block_size')::int, c.relkind \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = {oid} AND c.relkind <> 'p' OR c.oid IN (SELECT relid FROM \
         pg_catalog.pg_partition_tree({oid}) WHERE isleaf AND relid <> {oid}) ORDER BY 1, 2"
    );
    let rows = general.query(&sql).await?;
    let part = |row: Vec<Option<String>>| {
        let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
        Part {
            name: qualified(text(0), text(1)),
            file: text(2).parse().unwrap_or(0),
            pages: text(3).parse().unwrap_or(0),
            ranges: by_range && text(4) == "r",
        }
    };
    Ok(rows.into_iter().map(part).collect())
}
