//! All tables of a task: made and changed for what comes, and the plans of their rows.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::TableSchema,
    progress::{Progress, TableProgress, TableState},
};

use crate::{
    config::Settings,
    layout::{Layout, Plan, Slot},
    names::TableName,
    structure::{self, Shape},
    table::Table,
    target::Target,
};

/// A table of a task.
pub(crate) struct Known {
    pub(crate) name: TableName,
    /// `None`: there is none (yet).
    pub(crate) table: Option<Arc<Table>>,
    pub(crate) progress: Arc<TableProgress>,
    layouts: Vec<Arc<Layout>>,
}

/// How events of one structure are written; an error is each such record's own.
pub(crate) type Planned = Result<Plan, Arc<Error>>;

/// All tables of a task.
pub(crate) struct Tables {
    settings: Arc<Settings>,
    progress: Arc<Progress>,
    pub(crate) known: Vec<Known>,
    by_name: HashMap<TableName, usize>,
    /// By topic and structure: its table.
    by_structure: HashMap<(Arc<str>, u64), usize>,
    rows: HashMap<(usize, u64), Arc<Planned>>,
    keys: HashMap<(usize, u64), Arc<Planned>>,
    next_layout: usize,
}

impl Tables {
    pub(crate) fn new(settings: Arc<Settings>, progress: Arc<Progress>) -> Self {
        Self {
            settings,
            progress,
            known: Vec::new(),
            by_name: HashMap::new(),
            by_structure: HashMap::new(),
            rows: HashMap::new(),
            keys: HashMap::new(),
            next_layout: 0,
        }
    }

    /// The table of a topic's structure, if it was met before.
    pub(crate) fn of(&self, topic: &Arc<str>, structure: &TableSchema) -> Option<usize> {
        self.by_structure.get(&(Arc::clone(topic), structure.uid)).copied()
    }

    /// How whole rows (`key`: keys alone) of a structure are written, if that is known.
    pub(crate) fn plan(
        &self,
        table: usize,
        structure: &TableSchema,
        key: bool,
    ) -> Option<&Arc<Planned>> {
        let plans = if key { &self.keys } else { &self.rows };
        plans.get(&(table, structure.uid))
    }

    /// Finds or makes the table of a topic's structure.
    ///
    /// Errors: any; none of them is one record's own.
    pub(crate) async fn find(
        &mut self,
        target: &mut Target,
        topic: &Arc<str>,
        structure: &TableSchema,
    ) -> Result<usize> {
        if let Some(known) = self.of(topic, structure) {
            return Ok(known);
        }
        let name = self.settings.naming.table(topic).map_err(|reason| {
            Error::config(format!("topic {topic}: {reason}"))
                .with_remedy("give its table a name by collection.name.format (table.name.format)")
        })?;
        let at = match self.by_name.get(&name) {
            Some(at) => *at,
            None => {
                let table = target.table(&name).await?.map(Arc::new);
                let progress = self.progress.table(topic);
                progress.set_state(TableState::Streaming);
                self.known.push(Known { name: name.clone(), table, progress, layouts: Vec::new() });
                self.by_name.insert(name, self.known.len() - 1);
                self.known.len() - 1
            }
        };
        self.by_structure.insert((Arc::clone(topic), structure.uid), at);
        Ok(at)
    }

    /// Whether rows of a structure need statements that change the table before they are planned.
    ///
    /// Errors: `Config`.
    pub(crate) fn statements(
        &self,
        at: usize,
        topic: &str,
        structure: &TableSchema,
    ) -> Result<Vec<String>> {
        let Some(known) = self.known.get(at) else { return Ok(Vec::new()) };
        let Ok(shape) = Shape::of_rows(&self.settings, topic, structure) else {
            return Ok(Vec::new());
        };
        match &known.table {
            None if self.settings.creates => {
                Ok(vec![structure::create(&self.settings, &known.name, &shape)?])
            }
            None => {
                let message = format!("table {} of topic {topic} does not exist", known.name);
                Err(Error::config(message).with_remedy(
                    "create it, or set schema.evolution to basic (auto.create to true)",
                ))
            }
            Some(table) if self.settings.evolves => {
                structure::evolve(&self.settings, table, &shape)
            }
            Some(_) => Ok(Vec::new()),
        }
    }

    /// Runs statements that change a table, and looks at it anew. Its plans are void.
    ///
    /// Errors: as statements.
    pub(crate) async fn change(
        &mut self,
        target: &mut Target,
        at: usize,
        statements: &[String],
    ) -> Result<()> {
        let Some(known) = self.known.get_mut(at) else { return Ok(()) };
        for statement in statements {
            target.execute(statement).await.map_err(|failure| {
                let error = Error::from(failure);
                let message = format!("change table {}: {statement}", known.name);
                let kind = match error.kind() {
                    lattice_core::error::ErrorKind::Data => lattice_core::error::ErrorKind::Schema,
                    kind => kind,
                };
                Error::new(kind, message).with_source(error)
            })?;
        }
        tracing::info!(table = %known.name, statements = statements.len(), "table made or changed");
        known.table = target.table(&known.name).await?.map(Arc::new);
        if known.table.is_none() {
            return Err(Error::transient(format!(
                "table {} vanished after it was made",
                known.name
            )));
        }
        known.layouts.clear();
        self.rows.retain(|(table, _), _| *table != at);
        self.keys.retain(|(table, _), _| *table != at);
        Ok(())
    }

    /// Plans rows of a structure, or (`key`) keys alone.
    pub(crate) fn make_plan(&mut self, at: usize, topic: &str, structure: &TableSchema, key: bool) {
        let settings = Arc::clone(&self.settings);
        let shape = match key {
            true => Shape::of_key(&settings, topic, structure),
            false => Shape::of_rows(&settings, topic, structure),
        };
        let table = self.known.get(at).and_then(|known| known.table.clone());
        if table.is_none() && shape.is_ok() {
            return; // nothing can be deleted from a table that is not
        }
        let planned = shape.and_then(|shape| {
            let table = table.ok_or_else(|| Error::data("its table is not known"))?;
            let slots = structure::slots(&settings, topic, &table, &shape)?;
            let mut sources = Vec::with_capacity(slots.len());
            let mut columns = Vec::with_capacity(slots.len());
            for (slot, source, meaning) in slots {
                columns.push(slot);
                sources.push((source, meaning));
            }
            let layout = self.layout(at, &table, columns, shape.keys, true);
            Ok(Plan { layout, sources })
        });
        let plans = if key { &mut self.keys } else { &mut self.rows };
        plans.insert((at, structure.uid), Arc::new(planned.map_err(Arc::new)));
    }

    /// The layout with these columns, made if it is new.
    fn layout(
        &mut self,
        at: usize,
        table: &Arc<Table>,
        slots: Vec<Slot>,
        keys: usize,
        full: bool,
    ) -> Arc<Layout> {
        let id = self.next_layout;
        let made =
            || Arc::new(Layout { table: Arc::clone(table), slots: slots.clone(), keys, full, id });
        let Some(known) = self.known.get_mut(at) else { return made() };
        let alike = known
            .layouts
            .iter()
            .find(|layout| layout.keys == keys && layout.full == full && layout.slots == slots);
        if let Some(layout) = alike {
            return Arc::clone(layout);
        }
        let layout = made();
        self.next_layout += 1;
        known.layouts.push(Arc::clone(&layout));
        layout
    }

    /// A layout without some of its columns.
    pub(crate) fn without(&mut self, at: usize, layout: &Layout, absent: &[usize]) -> Arc<Layout> {
        let kept = layout.slots.iter().enumerate().filter(|(slot, _)| !absent.contains(slot));
        let slots = kept.map(|(_, slot)| slot.clone()).collect();
        self.layout(at, &layout.table, slots, layout.keys, false)
    }

    /// The layout of a layout's key alone.
    pub(crate) fn key_of(&mut self, at: usize, layout: &Layout) -> Arc<Layout> {
        let slots = layout.slots.iter().take(layout.keys).cloned().collect();
        self.layout(at, &layout.table, slots, layout.keys, true)
    }

    /// By table: how many tables stand between it and those that refer to nothing.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.known.len()];
        let place: HashMap<&TableName, usize> = self
            .known
            .iter()
            .enumerate()
            .filter_map(|(at, known)| known.table.as_ref().map(|table| (&table.name, at)))
            .collect();
        // As often as there are tables: then it is settled, or goes round in a circle.
        for _ in 0..self.known.len() {
            for (at, known) in self.known.iter().enumerate() {
                let parents = known.table.iter().flat_map(|table| &table.parents);
                let above =
                    parents.filter_map(|parent| place.get(parent)).filter_map(|at| ranks.get(*at));
                let least = above.map(|rank| rank + 1).max().unwrap_or(0);
                if let Some(rank) = ranks.get_mut(at) {
                    *rank = least.min(self.known.len());
                }
            }
        }
        ranks
    }
}
