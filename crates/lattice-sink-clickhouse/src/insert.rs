//! Writes what was gathered, several tables at a time, and finds the rows that a server refuses.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use lattice_core::{
    connector::Rejected,
    error::{Error, Result},
    progress::TableState,
};

use crate::{
    client::{Failure, TOO_MANY_PARTS, quoted},
    encode::{
        self,
        rows::{Sealed, remedy},
        step::{Deletes, Set, Step},
    },
    present,
    schema::full_name,
    target::Target,
    truncate,
    write::{Context, Load},
};

/// Tables written at a time.
const TABLES_AT_ONCE: usize = 4;

/// Writes everything; when it returns it is in the target, save what was rejected.
///
/// Errors: `Transient`, `Auth`, `Config`.
pub(crate) async fn write_all(context: &Context, loads: Vec<Load>) -> Result<Vec<Rejected>> {
    let writes = loads.into_iter().map(|load| Box::pin(write(context, load)));
    let mut writes = stream::iter(writes).buffer_unordered(TABLES_AT_ONCE);
    let mut outcome = Ok(Vec::new());
    while let Some(written) = writes.next().await {
        match (&mut outcome, written) {
            (Ok(all), Ok(rejected)) => all.extend(rejected),
            (Ok(_), Err(error)) => outcome = Err(error),
            (Err(_), _) => {}
        }
    }
    outcome
}

async fn write(context: &Context, load: Load) -> Result<Vec<Rejected>> {
    let Load { topic, table, target, sealed, events, last_ms, progress } = load;
    let Some(target) = target else { return Ok(Vec::new()) };
    let Sealed { steps, mut rejected, coerced, bytes } = sealed;
    let insert = Insert { context, topic: &topic, table: &table, target: &target };
    for step in steps {
        let done = match step {
            Step::Rows(set) => insert.rows(set, &mut rejected).await,
            Step::Delete(deletes) => insert.delete(&deletes).await,
            Step::Truncate(version) => truncate::truncate(context, &table, &target, version).await,
        };
        if let Err(error) = done {
            progress.fail(error.chain());
            return Err(error);
        }
    }
    if coerced > 0 {
        let gauge = context.progress.gauge("sink_coerced_values");
        gauge.fetch_add(i64::try_from(coerced).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
    let refused = rejected.len() as u64;
    progress.bytes.fetch_add(bytes, Ordering::Relaxed);
    progress.events.fetch_add(events.saturating_sub(refused), Ordering::Relaxed);
    progress.errors.fetch_add(refused, Ordering::Relaxed);
    if last_ms > 0 {
        progress.last_event_ms.store(last_ms, Ordering::Relaxed);
    }
    progress.set_state(TableState::Streaming);
    Ok(rejected)
}

/// One table's write.
struct Insert<'a> {
    context: &'a Context,
    topic: &'a Arc<str>,
    table: &'a str,
    target: &'a Target,
}

impl Insert<'_> {
    /// Inserts a set; when the server refuses its data, halves of it, down to the row at fault.
    async fn rows(&self, set: Set, rejected: &mut Vec<Rejected>) -> Result<()> {
        let mut waiting = vec![(0, set.rows.len())];
        while let Some((start, end)) = waiting.pop() {
            let Err(failure) = self.insert(&set, (start, end)).await else { continue };
            if failure.is_shape() {
                return Err(self.shape(failure).await);
            }
            if !failure.is_data() {
                return Err(failure.into());
            }
            if end - start == 1 {
                if let Some(place) = set.rows.get(start) {
                    rejected.push(Rejected {
                        topic: Arc::clone(self.topic),
                        partition: place.partition,
                        offset: place.offset,
                        error: failure.error.with_remedy(remedy(self.target.replaces)),
                    });
                }
                continue;
            }
            let middle = start + (end - start) / 2;
            waiting.push((middle, end));
            waiting.push((start, middle));
        }
        Ok(())
    }

    /// Inserts rows of a set, trying again while that may help and changes nothing.
    async fn insert(&self, set: &Set, (start, end): (usize, usize)) -> Result<(), Failure> {
        let context = self.context;
        let whole = start == 0 && end == set.rows.len();
        let columns = set.columns.iter().map(|column| encode::BlockColumn {
            values: if whole { column.values.clone() } else { column.values.slice(start, end) },
            ..column.clone()
        });
        let chunks = encode::block(&columns.collect::<Vec<_>>(), end - start);
        let token = self.token(set, start, end);
        let mut settings = context.profile.insert.to_vec();
        if let Some(token) = &token {
            settings.push(("insert_deduplication_token", token));
        }
        let mut attempt = 0;
        loop {
            let Err(failure) = self.send(set, &chunks, &settings).await else {
                context.narrow();
                return Ok(());
            };
            let crowded = failure.code == TOO_MANY_PARTS;
            // A repeat is harmless where rows replace each other, or if nothing was written.
            let harmless = self.target.replaces || crowded || failure.is_shape();
            let passing = failure.is_transient() || failure.is_shape();
            if !passing || !harmless || attempt >= context.settings.retries {
                return Err(failure);
            }
            if crowded {
                context.widen();
            }
            tracing::warn!(table = self.table, attempt, error = %failure.error, "insert is tried again");
            tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
            attempt += 1;
        }
    }

    async fn send(
        &self,
        set: &Set,
        chunks: &[Bytes],
        settings: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let names: Vec<String> = set.columns.iter().map(|column| quoted(&column.name)).collect();
        let names = names.join(", ");
        if !set.holes.is_empty() {
            let replaces = self.target.replaces;
            return present::insert(self.context, self.table, replaces, set, &names, chunks).await;
        }
        let table = full_name(&self.context.settings, self.table);
        let sql = format!("INSERT INTO {table} ({names}) FORMAT Native");
        self.context.client.insert(&sql, chunks, settings).await
    }

    /// Tells the server which records an insert without versions is of, so that it knows a repeat.
    fn token(&self, set: &Set, start: usize, end: usize) -> Option<String> {
        if self.target.replaces || self.target.has_place() || !self.context.profile.tokens {
            return None;
        }
        let (first, last) = (set.rows.get(start)?, set.rows.get(end.checked_sub(1)?)?);
        Some(format!(
            "{}-{}-{}-{}-{}-{}",
            self.topic,
            first.partition,
            first.offset,
            last.partition,
            last.offset,
            end - start
        ))
    }

    /// The server says that the table is not what the rows were made for. If it has changed, the
    /// task is opened anew and makes them for what it is now; if not, waiting does not help.
    async fn shape(&self, failure: Failure) -> Error {
        let (context, table) = (self.context, self.table);
        let database = &context.settings.database;
        match Target::read(&context.client, &context.profile, database, table).await {
            Ok(Some(now)) if now.is_shaped_like(self.target) => Error::config(format!(
                "table {table} cannot be written, though its columns are what they were"
            ))
            .with_remedy(
                "mend what the server names, often a materialized view on the table whose own \
                 target was changed or dropped; then restart the task",
            )
            .with_source(failure.error),
            Ok(_) => Error::transient(format!("table {table} is not what it was"))
                .with_remedy("its columns are read again when the task is opened anew")
                .with_source(failure.error),
            Err(error) => error,
        }
    }

    /// Deletes by statement, in tables whose rows cannot be marked. A row that is newer than its
    /// delete stays, so a delete that comes again does not take a row that was made after it.
    async fn delete(&self, deletes: &Deletes) -> Result<()> {
        if deletes.key.is_empty() {
            return Ok(());
        }
        let (context, table) = (self.context, full_name(&self.context.settings, self.table));
        let key = deletes.key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let sync = if context.profile.legacy { "" } else { " SETTINGS mutations_sync = 1" };
        let version = self.target.version.as_deref().map(quoted);
        for group in deletes.tuples.chunks(500) {
            let condition = match &version {
                Some(version) => {
                    let one = |(tuple, at): &(String, u64)| {
                        format!("(({key}) IN ({tuple}) AND {version} <= {at})")
                    };
                    group.iter().map(one).collect::<Vec<_>>().join(" OR ")
                }
                None => {
                    let tuples: Vec<&str> = group.iter().map(|(tuple, _)| &**tuple).collect();
                    format!("({key}) IN ({})", tuples.join(", "))
                }
            };
            let sql = format!("ALTER TABLE {table} DELETE WHERE {condition}{sync}");
            context.client.query(&sql).await?;
        }
        Ok(())
    }
}
