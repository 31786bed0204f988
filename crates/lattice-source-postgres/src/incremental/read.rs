//! Reads chunks on a connection of its own, and writes the watermarks around them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lattice_core::{Error, ErrorKind, Result, event::Span, progress::Progress};
use tokio::sync::mpsc;

use super::{
    Answer, Chunk, Order, Task, WATERMARK_PREFIX,
    window::{Visible, key_of},
};
use crate::{
    config::{Settings, filter::PatternList},
    connection::{Connection, Purpose, Row, quote_ident, quote_literal},
    discover::{self, Published, qualified},
    position::parse_lsn,
    row::{Field, append_copy_row, fields},
    tables::Tables,
};

/// Begins a window.
pub(super) const LOW: &str = "low";
const HIGH: &str = "high";

/// How long a lost connection waits before it is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// Runs until nobody gives orders any more.
pub(crate) async fn run(
    settings: Arc<Settings>,
    progress: Arc<Progress>,
    mut orders: mpsc::Receiver<Order>,
    answers: mpsc::Sender<Answer>,
) {
    let tables = Tables::new(Arc::clone(&settings), Arc::clone(&progress));
    let mut reader = Reader { settings, tables, connection: None };
    while let Some(order) = orders.recv().await {
        let mut answered = false;
        while let Err(error) = reader.follow(&order, &answers, &mut answered).await {
            reader.connection = None;
            if answers.is_closed() {
                return;
            }
            tracing::warn!(error = error.chain(), "the incremental snapshot is tried again");
            tokio::time::sleep(RETRY).await;
        }
    }
}

struct Reader {
    settings: Arc<Settings>,
    tables: Tables,
    connection: Option<Connection>,
}

impl Reader {
    /// Answers an order once, and then writes its last watermark.
    ///
    /// Errors: `Transient`: to be tried again.
    async fn follow(
        &mut self,
        order: &Order,
        answers: &mpsc::Sender<Answer>,
        answered: &mut bool,
    ) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.settings.target, Purpose::General).await?,
        };
        if !*answered {
            let answer = match self.answer(&mut connection, order).await {
                Err(error) if error.kind() == ErrorKind::Transient => return Err(error),
                Err(error) => Answer::Refused(refusal(order, &error)),
                Ok(answer) => answer,
            };
            if answers.send(answer).await.is_err() {
                return Ok(());
            }
            *answered = true;
        }
        watermark(&mut connection, HIGH, order.number).await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn answer(&mut self, connection: &mut Connection, order: &Order) -> Result<Answer> {
        let published = discover::published(connection, &self.settings).await?;
        let name = |table: &Published| format!("{}.{}", table.schema, table.table);
        match &order.task {
            Task::Resolve(patterns) => {
                let list = PatternList::of(patterns).map_err(Error::config)?;
                let tables: Vec<String> =
                    published.iter().map(name).filter(|name| list.allows(name)).collect();
                if tables.is_empty() {
                    let text = "no captured table of the publication is called so";
                    return Err(Error::config(text));
                }
                Ok(Answer::Tables(tables))
            }
            Task::Read { table, after, limit } => {
                let found = published.into_iter().find(|published| name(published) == *table);
                let published =
                    found.ok_or_else(|| Error::config("it is not in the publication any more"))?;
                let chunk =
                    self.chunk(connection, &published, (after, *limit), order.number).await?;
                Ok(Answer::Chunk(chunk))
            }
        }
    }

    async fn chunk(
        &mut self,
        connection: &mut Connection,
        target: &Published,
        (after, limit): (&[String], usize),
        number: u64,
    ) -> Result<Chunk> {
        let gone = || Error::config("it is not there any more");
        let oid = target.oid;
        let catalog = discover::catalog_table(connection, oid).await?.ok_or_else(gone)?;
        let names: Vec<String> = catalog
            .columns
            .iter()
            .filter(|column| match &target.columns {
                Some(columns) => columns.contains(&column.name),
                None => !column.generated,
            })
            .map(|column| column.name.clone())
            .collect();
        let schema = self.tables.of_catalog(&catalog, &names).await?;
        let key: Vec<&str> = schema
            .key
            .iter()
            .filter_map(|at| schema.columns.get(*at).map(|column| &*column.name))
            .collect();
        if key.is_empty() {
            return Err(Error::config("it has no key to read it by")
                .with_remedy("give it a primary key, or name one in message.key.columns"));
        }
        let places: Vec<usize> =
            key.iter().filter_map(|key| names.iter().position(|name| name == key)).collect();
        let version_lsn = self.version(connection).await?;
        watermark(connection, LOW, number).await?;
        connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let row = connection.query_one("SELECT pg_current_snapshot()").await?;
        let visible = Visible::parse(text(&row)).ok_or_else(|| {
            Error::fatal(format!("the server's snapshot \"{}\" cannot be read", text(&row)))
        })?;
        let sql = select(target, &names, &key, after, limit);
        let read = copy(connection, &sql, names.len()).await;
        connection.query("COMMIT").await?;
        let (data, rows) = read?;
        let keys = rows.iter().map(|span| key_of(span.of(&data), &places));
        let keys = keys.collect::<Option<Vec<_>>>();
        let keys = keys.ok_or_else(|| Error::config("a column of its key is NULL"))?;
        let last = rows.last().map(|span| key_texts(span.of(&data), &places)).unwrap_or_default();
        let complete = rows.len() < limit;
        Ok(Chunk { schema, data, rows, keys, last, complete, visible, version_lsn })
    }

    /// Nothing that the slot has still to send lies below its restart position.
    async fn version(&self, connection: &mut Connection) -> Result<u64> {
        let sql = format!(
            "SELECT restart_lsn FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
            quote_literal(&self.settings.slot)
        );
        let row = connection.query_one(&sql).await?;
        parse_lsn(text(&row)).ok_or_else(|| Error::transient("the slot has no restart position"))
    }
}

fn text(row: &Row) -> &str {
    row.first().and_then(Option::as_deref).unwrap_or_default()
}

fn select(
    target: &Published,
    names: &[String],
    key: &[&str],
    after: &[String],
    limit: usize,
) -> String {
    let list = |names: &mut dyn Iterator<Item = &str>| {
        names.map(quote_ident).collect::<Vec<_>>().join(", ")
    };
    let columns = list(&mut names.iter().map(String::as_str));
    let order = list(&mut key.iter().copied());
    let mut conditions = Vec::new();
    if let Some(filter) = &target.filter {
        conditions.push(format!("({filter})"));
    }
    if after.len() == key.len() {
        let values: Vec<String> = after.iter().map(|text| quote_literal(text)).collect();
        conditions.push(format!("({order}) > ({})", values.join(", ")));
    }
    let clause = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    // A partitioned table has no rows of its own.
    let only = if target.partitioned { "" } else { "ONLY " };
    let table = qualified(&target.schema, &target.table);
    format!(
        "COPY (SELECT {columns} FROM {only}{table}{clause} ORDER BY {order} LIMIT {limit}) TO STDOUT"
    )
}

async fn copy(
    connection: &mut Connection,
    sql: &str,
    columns: usize,
) -> Result<(Bytes, Vec<Span>)> {
    connection.copy_out(sql).await?;
    let (mut data, mut rows, mut bad) = (Vec::new(), Vec::new(), None);
    let more = |row: &[u8]| {
        let start = data.len();
        bad = append_copy_row(row, columns, &mut data).err().or(bad);
        rows.push((start, data.len() - start));
    };
    let mut more = more;
    while connection.copy_rows(&mut more).await? {}
    if let Some(reason) = bad {
        return Err(Error::fatal(format!("a row of COPY cannot be read: {reason}")));
    }
    let span = |(start, len): (usize, usize)| {
        Some(Span { start: u32::try_from(start).ok()?, len: u32::try_from(len).ok()? })
    };
    let rows = rows.into_iter().map(span).collect::<Option<Vec<_>>>();
    let rows = rows.ok_or_else(|| {
        Error::config("a chunk is larger than 4 GiB")
            .with_remedy("lower incremental.snapshot.chunk.size")
    })?;
    Ok((data.into(), rows))
}

fn key_texts(row: &[u8], places: &[usize]) -> Vec<String> {
    let fields = fields(row).unwrap_or_default();
    let text = |place: &usize| match fields.get(*place) {
        Some(Field::Text(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    places.iter().map(text).collect()
}

/// Transactional, since only a commit brings it to the disk, from where it is decoded.
async fn watermark(connection: &mut Connection, side: &str, number: u64) -> Result<()> {
    let sql =
        format!("SELECT pg_logical_emit_message(true, '{WATERMARK_PREFIX}', '{side} {number}')");
    connection.query(&sql).await.map(|_| ())
}

/// What [`watermark`] writes.
pub(super) fn parse_watermark(content: &[u8]) -> Option<(&str, u64)> {
    let (side, number) = std::str::from_utf8(content).ok()?.split_once(' ')?;
    matches!(side, LOW | HIGH).then_some(())?;
    Some((side, number.parse().ok()?))
}

fn refusal(order: &Order, error: &Error) -> String {
    let what = match &order.task {
        Task::Resolve(patterns) => patterns.join(", "),
        Task::Read { table, .. } => table.clone(),
    };
    let remedy = error.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    format!("{what}: {}{remedy}", error.chain())
}
