//! Before a batch's rows are taken: its tables are found, made and changed, its partitions taken over.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    sync::Arc,
};

use lattice_core::{
    error::Result,
    event::{EventBatch, Op, TableSchema},
};

use crate::{gather::Gather, offsets::Offsets, target::Target};

/// What a batch needs of one structure.
struct Need<'b> {
    topic: &'b Arc<str>,
    /// The structure that tells the table's name.
    structure: &'b Arc<TableSchema>,
    /// Whole rows of it are written.
    rows: bool,
    /// Whole rows of it are known of what is deleted.
    before: bool,
    /// Keys alone of these structures are deleted.
    keys: Vec<&'b Arc<TableSchema>>,
}

/// Whether the target has to be asked or changed before a batch can be taken.
pub(crate) fn is_ready(gather: &Gather, batch: &EventBatch, offsets: bool) -> bool {
    let claimed = |(topic, partition): &(u32, i32)| match batch.topics.get(*topic as usize) {
        Some(topic) => gather.claims.contains_key(&(Arc::clone(topic), *partition)),
        None => true,
    };
    if offsets && !partitions(batch).iter().all(claimed) {
        return false;
    }
    needs(batch).iter().all(|need| {
        let Some(table) = gather.tables.of(need.topic, need.structure) else { return false };
        let exists = gather.tables.known.get(table).is_some_and(|known| known.table.is_some());
        let planned =
            |structure: &TableSchema, key| gather.tables.plan(table, structure, key).is_some();
        let rows = !need.rows || planned(need.structure, false);
        let rest = (!need.before || planned(need.structure, false))
            && need.keys.iter().all(|key| planned(key, true));
        rows && (rest || !exists)
    })
}

/// Statements that change tables for a batch.
pub(crate) struct Changes(Vec<(usize, Vec<String>)>);

impl Changes {
    /// Whether what is gathered has to be written first, since its bytes are those of the tables as
    /// they are.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Finds the tables of a batch and takes its partitions over. Gives what has to be changed.
///
/// Errors: any but `Data`.
pub(crate) async fn find(
    gather: &mut Gather,
    target: &mut Target,
    batch: &EventBatch,
    offsets: Option<&Offsets>,
) -> Result<Changes> {
    if let Some(offsets) = offsets {
        for (topic, partition) in partitions(batch) {
            let Some(topic) = batch.topics.get(topic as usize) else { continue };
            let place = (Arc::clone(topic), partition);
            if let Entry::Vacant(unclaimed) = gather.claims.entry(place) {
                unclaimed.insert(offsets.claim(target, topic, partition).await?);
            }
        }
    }
    let mut changes = Vec::new();
    for need in needs(batch) {
        let table = gather.tables.find(target, need.topic, need.structure).await?;
        if need.rows && gather.tables.plan(table, need.structure, false).is_none() {
            let statements = gather.tables.statements(table, need.topic, need.structure)?;
            if !statements.is_empty() {
                changes.push((table, statements));
            }
        }
    }
    Ok(Changes(changes))
}

/// Changes tables.
///
/// Errors: any but `Data`.
pub(crate) async fn change(
    gather: &mut Gather,
    target: &mut Target,
    changes: &Changes,
) -> Result<()> {
    for (table, statements) in &changes.0 {
        gather.tables.change(target, *table, statements).await?;
    }
    Ok(())
}

/// Plans how the batch's rows are written.
pub(crate) fn plan(gather: &mut Gather, batch: &EventBatch) {
    for need in needs(batch) {
        let Some(table) = gather.tables.of(need.topic, need.structure) else { continue };
        let whole = need.rows || need.before;
        if whole && gather.tables.plan(table, need.structure, false).is_none() {
            gather.tables.make_plan(table, need.topic, need.structure, false);
        }
        for key in need.keys {
            if gather.tables.plan(table, key, true).is_none() {
                gather.tables.make_plan(table, need.topic, key, true);
            }
        }
    }
}

fn partitions(batch: &EventBatch) -> BTreeSet<(u32, i32)> {
    let mut all = BTreeSet::new();
    let mut last = None;
    for coordinate in &batch.coordinates {
        let place = (coordinate.topic, coordinate.partition);
        if last != Some(place) {
            all.insert(place);
            last = Some(place);
        }
    }
    all
}

fn needs(batch: &EventBatch) -> Vec<Need<'_>> {
    let mut needs: Vec<Need<'_>> = Vec::with_capacity(batch.tables.len());
    let mut used = vec![false; batch.tables.len()];
    for (topic, structure) in &batch.tables {
        let Some(topic) = batch.topics.get(*topic as usize) else { continue };
        needs.push(Need { topic, structure, rows: false, before: false, keys: Vec::new() });
    }
    for (event, key) in batch.events.iter().zip(&batch.keys) {
        let at = event.table as usize;
        let (Some(need), Some(used)) = (needs.get_mut(at), used.get_mut(at)) else { continue };
        *used |= event.op != Op::Message;
        match (event.op, key) {
            (Op::Read | Op::Create | Op::Update, _) => need.rows = true,
            (Op::Delete | Op::Tombstone, Some(key)) => {
                if !need.keys.iter().any(|known| known.uid == key.uid) {
                    need.keys.push(key);
                }
            }
            (Op::Delete | Op::Tombstone, None) => need.before = true,
            (Op::Truncate | Op::Message, _) => {}
        }
    }
    let mut used = used.into_iter();
    needs.retain(|_| used.next().unwrap_or(false));
    // Rows first: they make the table that a key alone cannot.
    needs.sort_by_key(|need| !need.rows);
    needs
}
