//! Writes what was gathered: tables made and evolved first, then their rows, several tables at a
//! time.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use lattice_core::{
    config::Severity,
    connector::Rejected,
    error::{Error, Result},
    event::{EventBatch, Op, TableSchema},
    progress::{Progress, TableProgress, TableState},
};

use crate::{
    client::{Client, Failure, TOO_MANY_PARTS, literal, quoted},
    config::Settings,
    encode::{
        self,
        rows::{Encoded, Job, Place, Set},
    },
    profile::Profile,
    schema::{self, Plan, Shape, full_name},
    target::Target,
};

/// Tables written at a time.
const TABLES_AT_ONCE: usize = 4;

/// The latency is widened up to here while the server has too many parts.
const WIDEST_LATENCY_MS: u64 = 30_000;

/// Everything that writing needs besides the rows.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) profile: Profile,
    pub(crate) progress: Arc<Progress>,
    /// Names the staging tables of this task.
    pub(crate) task: String,
    /// How long rows wait for others now. Units: ms.
    pub(crate) latency_ms: AtomicU64,
}

/// A topic's table.
struct Table {
    topic: Arc<str>,
    name: String,
    target: Option<Target>,
    plans: HashMap<u64, Arc<Plan>>,
    written: HashMap<i32, i64>,
    truncated: u64,
    enveloped: bool,
    progress: Arc<TableProgress>,
}

/// All tables of a task.
pub(crate) struct Writer {
    context: Arc<Context>,
    tables: HashMap<Arc<str>, Table>,
}

impl Writer {
    /// A writer that knows no table yet.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, tables: HashMap::new() }
    }

    /// Writes all events of `batches`; when it returns they are in the target.
    ///
    /// Errors: `Transient`, `Auth`, `Config`, `Schema`.
    pub(crate) async fn write(&mut self, batches: Vec<EventBatch>) -> Result<Vec<Rejected>> {
        let batches = Arc::new(batches);
        let mut work = Vec::new();
        for (topic, events) in by_topic(&batches) {
            let table = match self.tables.entry(Arc::clone(&topic)) {
                Entry::Occupied(entry) => entry.remove(),
                Entry::Vacant(_) => Table::read(&self.context, topic).await?,
            };
            work.push((table, events));
        }
        let context = &self.context;
        let write = |(mut table, events): (Table, Vec<Place>)| {
            let batches = Arc::clone(&batches);
            async move {
                let written = Box::pin(table.write(context, batches, events)).await;
                if let Err(error) = &written {
                    table.progress.fail(error.chain());
                }
                (table, written)
            }
        };
        let mut writes = stream::iter(work.into_iter().map(write)).buffer_unordered(TABLES_AT_ONCE);
        let mut outcome = Ok(Vec::new());
        while let Some((table, written)) = writes.next().await {
            match (&mut outcome, written) {
                (Ok(all), Ok(rejected)) => all.extend(rejected),
                (Ok(_), Err(error)) => outcome = Err(error),
                (Err(_), _) => {}
            }
            self.tables.insert(Arc::clone(&table.topic), table);
        }
        outcome
    }
}

/// The events of each topic, in order.
fn by_topic(batches: &[EventBatch]) -> Vec<(Arc<str>, Vec<Place>)> {
    let mut topics: Vec<(Arc<str>, Vec<Place>)> = Vec::new();
    for (batch_at, batch) in (0..).zip(batches) {
        let place_of = |topic: &Arc<str>, topics: &mut Vec<(Arc<str>, Vec<Place>)>| {
            topics.iter().position(|(known, _)| known == topic).unwrap_or_else(|| {
                topics.push((Arc::clone(topic), Vec::new()));
                topics.len() - 1
            })
        };
        let places: Vec<usize> =
            batch.topics.iter().map(|topic| place_of(topic, &mut topics)).collect();
        for (event, coordinate) in (0..).zip(&batch.coordinates) {
            if let Some(at) = places.get(coordinate.topic as usize) {
                topics[*at].1.push(Place { batch: batch_at, event });
            }
        }
    }
    topics.retain(|(_, events)| !events.is_empty());
    topics
}

impl Table {
    async fn read(context: &Context, topic: Arc<str>) -> Result<Self> {
        let name = context.settings.table_of(&topic);
        let progress = context.progress.table(&topic);
        let mut table = Self {
            topic,
            name,
            target: None,
            plans: HashMap::new(),
            written: HashMap::new(),
            truncated: 0,
            enveloped: false,
            progress,
        };
        table.reread(context).await?;
        if table.target.as_ref().is_some_and(|target| !target.replaces && target.has_place()) {
            table.read_written(context).await?;
        }
        Ok(table)
    }

    async fn reread(&mut self, context: &Context) -> Result<()> {
        let database = &context.settings.database;
        self.target = Target::read(&context.client, database, &self.name).await?;
        self.plans.clear();
        Ok(())
    }

    /// Rows without a key are told apart by their records: those that are there are not written again.
    async fn read_written(&mut self, context: &Context) -> Result<()> {
        let sql = format!(
            "SELECT _partition, max(_offset) FROM {} WHERE _topic = {} GROUP BY _partition",
            full_name(&context.settings, &self.name),
            literal(&self.topic)
        );
        for row in context.client.rows(&sql).await? {
            if let [partition, offset] = row.as_slice()
                && let (Ok(partition), Ok(offset)) = (partition.parse(), offset.parse())
            {
                self.written.insert(partition, offset);
            }
        }
        Ok(())
    }

    async fn write(
        &mut self,
        context: &Context,
        batches: Arc<Vec<EventBatch>>,
        events: Vec<Place>,
    ) -> Result<Vec<Rejected>> {
        let mut changing = false;
        let mut structures: Vec<(&Arc<TableSchema>, bool)> = Vec::new();
        let (mut last_ms, mut truncated, mut keyed) = (0, None, false);
        for place in &events {
            let batch = &batches[place.batch as usize];
            let Some(event) = batch.events.get(place.event as usize) else { continue };
            changing |= !matches!(event.op, Op::Read | Op::Create);
            self.enveloped |= event.origin.lsn.is_some();
            last_ms = last_ms.max(event.origin.ts_us / 1000);
            let after = match event.op {
                Op::Read | Op::Create | Op::Update => true,
                Op::Truncate => {
                    truncated = truncated.max(event.origin.lsn);
                    continue;
                }
                Op::Delete | Op::Tombstone => false,
                Op::Message => continue,
            };
            let key = batch.keys.get(place.event as usize).and_then(Option::as_ref);
            let table = batch.tables.get(event.table as usize).map(|(_, table)| table);
            if let Some(structure) = key.filter(|_| !after).or(table) {
                keyed |= !structure.key.is_empty();
                let row = key.is_none() || after;
                if !structures.iter().any(|(known, _)| known.uid == structure.uid) {
                    structures.push((structure, row));
                }
            }
        }
        self.prepare_all(context, &structures).await?;
        let Some(target) = &self.target else { return Ok(Vec::new()) };
        let replaces = target.replaces;
        if let Some(version) = truncated.filter(|version| *version > self.truncated) {
            self.truncate(context, version).await?;
        }
        let count = events.len() as u64;
        let job = Job {
            topic: Arc::clone(&self.topic),
            table: self.name.clone(),
            batches,
            events,
            plans: self.plans.clone(),
            delete_mode: context.settings.delete_mode,
            reduce: changing && replaces && keyed,
            replaces,
            enveloped: self.enveloped,
            truncated: self.truncated,
            written: self.written.clone(),
        };
        let rejected = self.send(context, job).await?;
        self.progress.events.fetch_add(count - rejected.len() as u64, Ordering::Relaxed);
        self.progress.errors.fetch_add(rejected.len() as u64, Ordering::Relaxed);
        if last_ms > 0 {
            self.progress.last_event_ms.store(last_ms, Ordering::Relaxed);
        }
        self.progress.set_state(TableState::Streaming);
        Ok(rejected)
    }

    /// Plans all structures of a write. One that evolves the table makes the plans before it
    /// void, so those are made again; the table then has every column, and nothing evolves.
    async fn prepare_all(
        &mut self,
        context: &Context,
        structures: &[(&Arc<TableSchema>, bool)],
    ) -> Result<()> {
        for _round in 0..3 {
            for (structure, row) in structures {
                if !self.plans.contains_key(&structure.uid) {
                    self.prepare(context, structure, *row).await?;
                }
            }
            let planned = |(structure, _): &(&Arc<TableSchema>, bool)| {
                self.target.is_none() || self.plans.contains_key(&structure.uid)
            };
            if structures.iter().all(planned) {
                return Ok(());
            }
        }
        Err(Error::schema(format!(
            "records of topic {} need columns of table {} that exclude each other",
            self.topic, self.name
        ))
        .with_remedy("write the topic's versions into tables of their own"))
    }

    /// Makes or evolves the table for rows of this structure, and plans how they are written.
    async fn prepare(
        &mut self,
        context: &Context,
        structure: &Arc<TableSchema>,
        row: bool,
    ) -> Result<()> {
        let (settings, profile) = (&*context.settings, &context.profile);
        let shape = Shape::of_table(structure);
        let statements = match &self.target {
            None if !row => return Ok(()), // nothing can be deleted from a table that is not
            None if settings.auto_create => schema::create(settings, &self.name, &shape, profile),
            None => {
                let name = full_name(settings, &self.name);
                return Err(Error::config(format!(
                    "table {name} of topic {} does not exist",
                    self.topic
                ))
                .with_remedy("create it, or set auto.create to true"));
            }
            Some(target) if row && settings.evolve => {
                schema::evolve(settings, &self.name, target, &shape, profile)
            }
            Some(_) => Vec::new(),
        };
        let evolved = self.target.is_some();
        if !statements.is_empty() {
            for statement in &statements {
                context.client.query(statement).await?;
            }
            tracing::info!(
                table = self.name,
                statements = statements.len(),
                "table made or evolved"
            );
            self.reread(context).await?;
            if evolved {
                self.renew_view(context).await?;
            }
        }
        let Some(target) = &self.target else {
            return Err(Error::transient(format!(
                "table {} vanished after it was made",
                self.name
            )));
        };
        let mut plan = schema::plan(settings, &self.name, target, &shape, profile);
        if !row {
            // A key alone: what it lacks is not a mismatch.
            plan.issues.retain(|issue| issue.severity == Severity::Error);
        }
        self.report(&plan)?;
        self.plans.insert(structure.uid, Arc::new(plan));
        Ok(())
    }

    async fn renew_view(&self, context: &Context) -> Result<()> {
        let Some(target) = self.target.as_ref().filter(|target| target.replaces && target.is_own())
        else {
            return Ok(());
        };
        let names: Vec<String> = target.columns.iter().map(|column| column.name.clone()).collect();
        for statement in schema::live_view(&context.settings, &self.name, &names, &context.profile)
        {
            context.client.query(&statement).await?;
        }
        Ok(())
    }

    /// Errors forbid writing; warnings are shown with the table.
    fn report(&self, plan: &Plan) -> Result<()> {
        let errors: Vec<_> =
            plan.issues.iter().filter(|issue| issue.severity == Severity::Error).collect();
        if let Some(first) = errors.first() {
            let messages: Vec<&str> = errors.iter().map(|issue| issue.message.as_str()).collect();
            let error = Error::config(messages.join("; "));
            return Err(match &first.remedy {
                Some(remedy) => error.with_remedy(remedy),
                None => error,
            });
        }
        let warnings: Vec<&str> = plan.issues.iter().map(|issue| issue.message.as_str()).collect();
        if !warnings.is_empty() {
            tracing::warn!(table = self.name, "{}", warnings.join("; "));
            self.progress.set_message(Some(warnings.join("; ")));
        }
        Ok(())
    }

    /// Marks all rows older than the truncation as deleted; later arrivals of older rows are dropped.
    async fn truncate(&mut self, context: &Context, version: u64) -> Result<()> {
        let Some(target) = self.target.as_ref().filter(|target| target.replaces) else {
            return Ok(()); // a table of events keeps them
        };
        let table = full_name(&context.settings, &self.name);
        let sql = match (&target.version, target.column("is_deleted")) {
            (Some(column), Some(mark)) => {
                let mut names = vec![quoted(column), quoted(&mark.name)];
                let mut values = vec![version.to_string(), "1".to_owned()];
                for column in target.columns.iter().filter(|column| column.insertable()) {
                    let name = quoted(&column.name);
                    if !names.contains(&name) {
                        values.push(name.clone());
                        names.push(name);
                    }
                }
                let (names, values) = (names.join(", "), values.join(", "));
                let (column, mark) = (quoted(column), quoted(&mark.name));
                format!(
                    "INSERT INTO {table} ({names}) SELECT {values} FROM {table} FINAL \
                     WHERE {column} < {version} AND {mark} = 0"
                )
            }
            _ => format!("TRUNCATE TABLE {table}"),
        };
        context.client.query(&sql).await?;
        self.truncated = version;
        Ok(())
    }

    async fn send(&mut self, context: &Context, job: Job) -> Result<Vec<Rejected>> {
        let job = Arc::new(job);
        let shared = Arc::clone(&job);
        let encoded = tokio::task::spawn_blocking(move || encode::rows::encode(&shared)).await;
        let encoded = encoded.map_err(|error| Error::fatal("encode rows").with_source(error))?;
        let Encoded { sets, mut rejected, deletes, coerced, bytes } = encoded;
        self.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
        if coerced > 0 {
            let gauge = context.progress.gauge("sink_coerced_values");
            gauge.fetch_add(i64::try_from(coerced).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
        for set in sets {
            self.send_set(context, &job, set, &mut rejected).await?;
        }
        self.delete(context, &deletes).await?;
        if job.replaces {
            return Ok(rejected);
        }
        for place in &job.events {
            let batch = &job.batches[place.batch as usize];
            if let Some(at) = batch.coordinates.get(place.event as usize)
                && self.target.as_ref().is_some_and(Target::has_place)
            {
                let last = self.written.entry(at.partition).or_insert(at.offset);
                *last = at.offset.max(*last);
            }
        }
        Ok(rejected)
    }

    /// Sends a set; when the server refuses its data, halves of it, down to the row at fault.
    async fn send_set(
        &self,
        context: &Context,
        job: &Job,
        set: Set,
        rejected: &mut Vec<Rejected>,
    ) -> Result<()> {
        let mut waiting = vec![(0, set.rows.len())];
        while let Some((start, end)) = waiting.pop() {
            let Err(failure) = self.insert(context, job, &set, (start, end)).await else {
                continue;
            };
            if failure.is_shape() {
                return Err(Error::transient(format!("table {} is not what it was", self.name))
                    .with_remedy("its columns are read again when the task is opened anew")
                    .with_source(failure.error));
            }
            if !failure.is_data() {
                return Err(failure.into());
            }
            if end - start == 1 {
                let place = set.rows[start];
                let batch = &job.batches[place.batch as usize];
                if let Some(at) = batch.coordinates.get(place.event as usize) {
                    rejected.push(Rejected {
                        topic: Arc::clone(&self.topic),
                        partition: at.partition,
                        offset: at.offset,
                        error: failure.error,
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
    async fn insert(
        &self,
        context: &Context,
        job: &Job,
        set: &Set,
        (start, end): (usize, usize),
    ) -> Result<(), Failure> {
        let whole = start == 0 && end == set.rows.len();
        let columns: Vec<_> = set
            .columns
            .iter()
            .map(|column| encode::BlockColumn {
                values: if whole { column.values.clone() } else { column.values.slice(start, end) },
                ..column.clone()
            })
            .collect();
        let chunks = encode::block(&columns, end - start);
        let token = self.token(context, job, &set.rows[start..end]);
        let mut settings = context.profile.insert.to_vec();
        if let Some(token) = &token {
            settings.push(("insert_deduplication_token", token));
        }
        let names =
            columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
        let table = full_name(&context.settings, &self.name);
        let sql = format!("INSERT INTO {table} ({names}) FORMAT Native");
        let mut attempt = 0;
        loop {
            let sent = match set.holes.is_empty() {
                true => context.client.insert(&sql, &chunks, &settings).await,
                false => self.insert_with_holes(context, set, &names, &chunks).await,
            };
            let Err(failure) = sent else { return Ok(()) };
            let harmless = job.replaces || failure.code == TOO_MANY_PARTS;
            if !failure.is_transient() || !harmless || attempt >= context.settings.retries {
                return Err(failure);
            }
            if failure.code == TOO_MANY_PARTS {
                let now = context.latency_ms.load(Ordering::Relaxed);
                let wider = now.saturating_mul(2).min(WIDEST_LATENCY_MS);
                context.latency_ms.store(wider, Ordering::Relaxed);
                context
                    .progress
                    .gauge("sink_batch_latency_ms")
                    .store(wider as i64, Ordering::Relaxed);
            }
            tracing::warn!(table = self.name, attempt, error = %failure.error, "insert is tried again");
            tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
            attempt += 1;
        }
    }

    /// Tells the server which records an insert without versions is of, so that it knows a repeat.
    fn token(&self, context: &Context, job: &Job, rows: &[Place]) -> Option<String> {
        let place = self.target.as_ref().is_some_and(Target::has_place);
        if job.replaces || place || !context.profile.tokens {
            return None;
        }
        let at = |place: &Place| {
            let batch = &job.batches[place.batch as usize];
            let at = batch.coordinates.get(place.event as usize);
            at.map_or((0, 0), |at| (at.partition, at.offset))
        };
        let (first, last) = (at(rows.first()?), at(rows.last()?));
        Some(format!("{}-{}-{}-{}-{}-{}", self.topic, first.0, first.1, last.0, last.1, rows.len()))
    }

    /// Rows with values that the source did not send take these from the table's present row.
    async fn insert_with_holes(
        &self,
        context: &Context,
        set: &Set,
        names: &str,
        chunks: &[bytes::Bytes],
    ) -> Result<(), Failure> {
        let (client, settings) = (&context.client, &context.settings);
        let table = full_name(settings, &self.name);
        let stage = full_name(settings, &format!("lattice_stage_{}_{}", context.task, self.name));
        let list = |columns: &[String]| {
            columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        };
        let (key, holes) = (list(&set.key), list(&set.holes));
        let last =
            if self.target.as_ref().is_some_and(|target| target.replaces) { "FINAL" } else { "" };
        client.query(&format!("DROP TABLE IF EXISTS {stage}")).await?;
        let make =
            format!("CREATE TABLE {stage} ENGINE = Memory AS SELECT {names} FROM {table} WHERE 0");
        client.query(&make).await?;
        let fill = format!("INSERT INTO {stage} ({names}) FORMAT Native");
        let mut sent = client.insert(&fill, chunks, context.profile.insert).await;
        if sent.is_ok() {
            let join = format!(
                "INSERT INTO {table} ({names}, {holes}) SELECT {names}, {holes} \
                 FROM (SELECT {names} FROM {stage}) AS sent ANY LEFT JOIN \
                 (SELECT {key}, {holes} FROM {table} {last} WHERE ({key}) IN (SELECT {key} FROM {stage})) AS present \
                 USING ({key})"
            );
            sent = client.query(&join).await.map(|_| ());
        }
        client.query(&format!("DROP TABLE IF EXISTS {stage}")).await?;
        sent
    }

    /// Deletes by statement, in tables whose rows cannot be marked.
    async fn delete(
        &self,
        context: &Context,
        deletes: &[(Vec<String>, String, u64)],
    ) -> Result<()> {
        for group in deletes.chunks(1000) {
            let Some((key, _, _)) = group.first().filter(|(key, _, _)| !key.is_empty()) else {
                continue;
            };
            let key = key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
            let tuples: Vec<&str> = group.iter().map(|(_, tuple, _)| tuple.as_str()).collect();
            let sync = if context.profile.legacy { "" } else { " SETTINGS mutations_sync = 1" };
            let table = full_name(&context.settings, &self.name);
            let tuples = tuples.join(", ");
            let sql = format!("ALTER TABLE {table} DELETE WHERE ({key}) IN ({tuples}){sync}");
            context.client.query(&sql).await?;
        }
        Ok(())
    }
}
