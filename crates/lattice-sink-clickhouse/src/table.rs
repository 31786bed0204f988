//! A topic's table: made and evolved for the structures that come, and what is gathered for it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use lattice_core::{
    config::Severity,
    error::{Error, Result},
    event::{EventBatch, Op, TableSchema},
    progress::TableProgress,
    value::Value,
};

use crate::{
    client::literal,
    encode::{
        rows::{Pile, Rules},
        step::Place,
    },
    schema::{self, Plan, Shape, full_name},
    target::Target,
    write::{Context, Load},
};

/// A topic's table.
pub(crate) struct Table {
    target: Option<Arc<Target>>,
    plans: HashMap<u64, Arc<Plan>>,
    rules: Rules,
    pile: Pile,
    /// Up to which offsets a table without a key may have records, by partition, when the task
    /// was opened.
    written: HashMap<i32, i64>,
    /// Events that are in the pile, or meant nothing.
    events: u64,
    /// Source time of the newest event. Units: ms since the Unix epoch; 0: no event.
    last_ms: i64,
    progress: Arc<TableProgress>,
}

impl Table {
    /// Reads the table as it is. Errors: as the client's.
    pub(crate) async fn read(context: &Context, topic: &Arc<str>) -> Result<Self> {
        let settings = &context.settings;
        let mut table = Self {
            target: None,
            plans: HashMap::new(),
            rules: Rules {
                topic: Arc::clone(topic),
                table: settings.table_of(topic),
                delete_mode: settings.delete_mode,
                replaces: false,
                versioned: false,
                enveloped: false,
                truncated: 0,
                present: HashSet::new(),
            },
            pile: Pile::default(),
            written: HashMap::new(),
            events: 0,
            last_ms: 0,
            progress: context.progress.table(topic),
        };
        table.reread(context).await?;
        if table.target.as_ref().is_some_and(|target| !target.replaces && target.has_place()) {
            table.read_written(context).await?;
        }
        Ok(table)
    }

    async fn reread(&mut self, context: &Context) -> Result<()> {
        let database = &context.settings.database;
        let target =
            Target::read(&context.client, &context.profile, database, &self.rules.table).await?;
        self.plans.clear();
        self.pile.forget_ready();
        if let Some(target) = &target {
            self.rules.replaces = target.replaces;
            self.rules.versioned = target.replaces && target.version.is_some();
            self.rules.truncated = self.rules.truncated.max(target.truncated());
        }
        self.target = target.map(Arc::new);
        Ok(())
    }

    async fn read_written(&mut self, context: &Context) -> Result<()> {
        let sql = format!(
            "SELECT _partition, max(_offset) FROM {} WHERE _topic = {} GROUP BY _partition",
            full_name(&context.settings, &self.rules.table),
            literal(&self.rules.topic)
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

    /// Rows without a key are told apart by their records: those that are there are not written
    /// again. Each is looked for by itself, since one that the server refused is not there though
    /// later ones are: it must come to the same end again.
    pub(crate) async fn find_present(&mut self, context: &Context, range: &Range) -> Result<()> {
        let Some(last) = self.written.get(&range.partition) else { return Ok(()) };
        if range.first > *last {
            self.written.remove(&range.partition);
            return Ok(());
        }
        let sql = format!(
            "SELECT _offset FROM {} WHERE _topic = {} AND _partition = {} AND _offset >= {} AND \
             _offset <= {}",
            full_name(&context.settings, &self.rules.table),
            literal(&self.rules.topic),
            range.partition,
            range.first,
            range.last
        );
        for row in context.client.rows(&sql).await? {
            if let Some(offset) = row.first().and_then(|offset| offset.parse().ok()) {
                self.rules.present.insert(Place { partition: range.partition, offset });
            }
        }
        Ok(())
    }

    /// Takes an event of `batch`.
    pub(crate) fn take<'b>(
        &mut self,
        batch: &'b EventBatch,
        at: usize,
        values: &mut Vec<Value<'b>>,
    ) {
        let Some(event) = batch.events.get(at) else { return };
        self.events += 1;
        self.last_ms = self.last_ms.max(event.origin.ts_us / 1000);
        if self.target.is_none() {
            return; // nothing can be deleted from a table that is not
        }
        match (event.op, event.origin.lsn) {
            (Op::Truncate, Some(version)) => {
                // A table of events keeps them.
                if self.rules.replaces && version > self.rules.truncated {
                    self.pile.truncate(version);
                    self.rules.truncated = version;
                }
            }
            _ => {
                let plans = &self.plans;
                let plan_of = |uid| plans.get(&uid).cloned();
                self.pile.take(&self.rules, plan_of, batch, at, values);
            }
        }
    }

    /// What the batch before was looked up for is done.
    pub(crate) fn forget_present(&mut self) {
        self.rules.present.clear();
    }

    /// Tombstones of a topic with envelopes say nothing new.
    pub(crate) fn note_envelope(&mut self) {
        self.rules.enveloped = true;
    }

    /// Rows and bytes that are gathered.
    pub(crate) fn gathered(&self) -> (usize, usize) {
        (self.pile.rows(), self.pile.bytes())
    }

    /// What is gathered, to be written; `None`: nothing.
    pub(crate) fn seal(&mut self) -> Option<Load> {
        if self.events == 0 && self.pile.is_empty() {
            return None;
        }
        Some(Load {
            topic: Arc::clone(&self.rules.topic),
            table: self.rules.table.clone(),
            target: self.target.clone(),
            sealed: self.pile.seal(),
            events: std::mem::take(&mut self.events),
            last_ms: self.last_ms,
            progress: Arc::clone(&self.progress),
        })
    }

    /// Plans all structures of a write. One that evolves the table makes the plans before it
    /// void, so those are made again; the table then has every column, and nothing evolves.
    pub(crate) async fn prepare_all(
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
            self.rules.topic, self.rules.table
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
            None if settings.auto_create => {
                schema::create(settings, &self.rules.table, &shape, profile)
            }
            None => {
                let name = full_name(settings, &self.rules.table);
                return Err(Error::config(format!(
                    "table {name} of topic {} does not exist",
                    self.rules.topic
                ))
                .with_remedy("create it, or set auto.create to true"));
            }
            Some(target) if row && settings.evolve => {
                schema::evolve(settings, &self.rules.table, target, &shape, profile)
            }
            Some(_) => Vec::new(),
        };
        let evolved = self.target.is_some();
        if !statements.is_empty() {
            for statement in &statements {
                context.client.query(statement).await?;
            }
            tracing::info!(
                table = self.rules.table,
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
                self.rules.table
            )));
        };
        let mut plan = schema::plan(settings, &self.rules.table, target, &shape, profile);
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
        for statement in
            schema::live_view(&context.settings, &self.rules.table, &names, &context.profile)
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
            tracing::warn!(table = self.rules.table, "{}", warnings.join("; "));
            self.progress.set_message(Some(warnings.join("; ")));
        }
        Ok(())
    }
}

/// Offsets of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
}
