//! Comparing real tables, on top of [`crate::content`].

use std::time::{Duration, Instant};

use crate::{
    ClickHouseDatabase, PostgresDatabase,
    content::{self, Diff, SourceColumn, TargetShape},
};

/// Compares a source table (`schema.table`) with its target by content.
///
/// The target counts as empty while it does not exist.
pub async fn compare_tables(
    source: &PostgresDatabase,
    table: &str,
    target: &ClickHouseDatabase,
    target_table: &str,
) -> Diff {
    let (schema, name) = table.split_once('.').unwrap_or(("public", table));
    let rows = source.query(&content::source_columns(schema, name)).await;
    assert!(!rows.is_empty(), "the source has no table {table}");
    let columns: Vec<SourceColumn> = rows.iter().map(|row| source_column(row)).collect();
    let shape = target_shape(target, target_table).await.unwrap_or_default();
    let queries = content::queries((schema, name), &columns, (target.name(), target_table), &shape);
    if shape.columns.is_empty() {
        let count = source
            .value(&format!("SELECT count(*) FROM {schema}.{name}"))
            .await
            .parse()
            .unwrap_or(0);
        return Diff::of_absent_target(count, queries.missing);
    }
    let of_source = source.copy_out(&queries.source).await;
    let of_target = target.lines(&queries.target).await;
    Diff::of(&queries, of_source, of_target)
}

/// Panics, showing the rows that differ, unless source and target are equal.
pub async fn assert_same_content(
    source: &PostgresDatabase,
    table: &str,
    target: &ClickHouseDatabase,
    target_table: &str,
) {
    let diff = compare_tables(source, table, target, target_table).await;
    assert!(diff.is_empty(), "{table} differs from {target_table}: {diff}");
}

/// Waits until source and target are equal. Panics, showing the rows that differ, if they are not within `deadline`.
///
/// The source must be at rest: a table that goes on changing is never equal for long.
pub async fn wait_until_same_content(
    deadline: Duration,
    source: &PostgresDatabase,
    table: &str,
    target: &ClickHouseDatabase,
    target_table: &str,
) {
    let start = Instant::now();
    loop {
        let diff = compare_tables(source, table, target, target_table).await;
        if diff.is_empty() {
            return;
        }
        let waited = start.elapsed();
        assert!(
            waited < deadline,
            "{table} still differs from {target_table} after {waited:?}: {diff}"
        );
        // A comparison reads both tables whole: leave the machine to what is being waited for.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A row of [`content::source_columns`].
fn source_column(row: &[Option<String>]) -> SourceColumn {
    let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    SourceColumn { name: text(0), data_type: text(1), key: text(2) == "1" }
}

/// The engine and columns of a table; `None` if there is no such table.
pub(crate) async fn target_shape(target: &ClickHouseDatabase, table: &str) -> Option<TargetShape> {
    let text = target.try_query(&content::target_columns(target.name(), table)).await.ok()?;
    content::TargetShape::parse(&text)
}
