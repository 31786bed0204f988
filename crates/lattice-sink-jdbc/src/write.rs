//! One transaction: what was gathered, and the offsets with it. A row that the target refuses is
//! found by halves, and left out.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use lattice_core::error::{Error, Result};

use crate::{
    config::Settings,
    layout::Place,
    offsets::{Offsets, Stored},
    pile::{Pile, Refused},
    reduce::{self, Run},
    table::Table,
    target::{Failure, Target},
};

/// What is written, and what it needs.
pub(crate) struct Load {
    pub(crate) settings: Arc<Settings>,
    pub(crate) pile: Pile,
    /// By table.
    pub(crate) tables: Vec<Option<Arc<Table>>>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) offsets: Option<Arc<Offsets>>,
    /// What the target knows of the pile's partitions.
    pub(crate) claims: Vec<Stored>,
    /// Records refused before, which may not be dead letters yet.
    pub(crate) untold: Vec<Place>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) refused: Vec<Refused>,
    /// What the target knows of the pile's partitions now.
    pub(crate) claims: Vec<Stored>,
    pub(crate) counts: BTreeMap<usize, (u64, u64, i64)>,
}

/// Writes a load. All of it, save what is refused, is committed when this returns.
///
/// Errors: any but `Data`; nothing is committed then, as far as is known: where the target stands is
/// read from it when the task is opened anew.
pub(crate) async fn write(target: &mut Target, mut load: Load) -> Result<Written> {
    let mut refused = std::mem::take(&mut load.pile.refused);
    let mut tries = 0;
    loop {
        let failure = match transaction(target, &load, &mut refused).await {
            Ok(claims) => return Ok(Written { refused, claims, counts: load.pile.counts }),
            Err(failure) => failure,
        };
        let error = match failure {
            Failure::Again(error) => error,
            Failure::Other(error) => return Err(error),
            // No row alone: the constraint was checked at the transaction's end.
            Failure::Row(error) => {
                return Err(Error::fatal(format!("end the transaction: {error}")).with_remedy(
                    "do rows of other topics come first that this connector does not write?",
                ));
            }
        };
        target.rollback().await?;
        tries += 1;
        if tries > load.settings.retries {
            return Err(error);
        }
        tracing::warn!(error = error.chain(), tries, "the transaction is tried again");
        tokio::time::sleep(load.settings.retry_pause).await;
    }
}

/// `refused` grows by the rows that the target refuses.
async fn transaction(
    target: &mut Target,
    load: &Load,
    refused: &mut Vec<Refused>,
) -> Result<Vec<Stored>, Failure> {
    let chosen = chosen(load, refused);
    if refused.is_empty() {
        target.begin(true).await?;
        let written = match apply(target, load, &chosen).await {
            Ok(()) => match store(target, load, refused).await {
                Ok(claims) => target.commit().await.map(|()| claims),
                Err(failure) => Err(failure),
            },
            Err(failure) => Err(failure),
        };
        match written {
            Err(Failure::Row(error)) => {
                tracing::debug!(error = error.chain(), "a row is refused: it is looked for");
                target.rollback().await?;
            }
            other => return other,
        }
    }
    loop {
        let known = refused.len();
        target.begin(false).await?;
        let chosen = self::chosen(load, refused);
        bisect(target, load, chosen, refused).await?;
        // One that stops the task takes what follows in its partition with it, which is written by now.
        if load.settings.tolerant || refused.len() == known {
            let claims = store(target, load, refused).await?;
            target.commit().await?;
            return Ok(claims);
        }
        target.rollback().await?;
    }
}

/// What of the pile is written. Where a refused record stops the task, nothing that follows it in its
/// partition is.
fn chosen(load: &Load, refused: &[Refused]) -> Vec<usize> {
    let first = first_refused(refused);
    let all = load.pile.ops.iter().enumerate();
    let takes = |place: &Place| {
        let key = (Arc::clone(&place.topic), place.partition);
        match first.get(&key) {
            None => true,
            Some(_) if load.settings.tolerant => !refused.iter().any(|one| one.place == *place),
            Some(first) => place.offset < *first,
        }
    };
    all.filter(|(_, op)| first.is_empty() || takes(&op.place)).map(|(at, _)| at).collect()
}

fn first_refused(refused: &[Refused]) -> HashMap<(Arc<str>, i32), i64> {
    let mut first = HashMap::new();
    for Refused { place, .. } in refused {
        let lowest =
            first.entry((Arc::clone(&place.topic), place.partition)).or_insert(place.offset);
        *lowest = place.offset.min(*lowest);
    }
    first
}

async fn apply(target: &mut Target, load: &Load, ops: &[usize]) -> Result<(), Failure> {
    for run in reduce::runs(&load.pile, ops, load.settings.insert_mode, &load.ranks) {
        let Some(Some(table)) = load.tables.get(run.table) else { continue };
        target
            .apply(&load.pile, &run, table)
            .await
            .map_err(|failure| named(failure, load, &run, table))?;
    }
    Ok(())
}

/// A row's failure with its table, and its key if it is one row's.
fn named(failure: Failure, load: &Load, run: &Run, table: &Table) -> Failure {
    let about = |error: Error| {
        let key = match (run.ops.as_slice(), &run.layout) {
            ([one], Some(layout)) if layout.keys > 0 => load
                .pile
                .ops
                .get(*one)
                .map(|op| format!(", row {}", layout.show_key(load.pile.key(op))))
                .unwrap_or_default(),
            _ => String::new(),
        };
        let message = format!("{:?} in table {}{key}: {error}", run.action, table.name);
        let named = Error::new(error.kind(), message);
        match error.remedy() {
            Some(remedy) => named.with_remedy(remedy),
            None => named,
        }
    };
    match failure {
        Failure::Row(error) => Failure::Row(about(error)),
        Failure::Again(error) => Failure::Again(about(error)),
        Failure::Other(error) => Failure::Other(about(error)),
    }
}

/// Writes what can be written; the rest is refused, one by one.
async fn bisect(
    target: &mut Target,
    load: &Load,
    ops: Vec<usize>,
    refused: &mut Vec<Refused>,
) -> Result<(), Failure> {
    let mut parts = vec![ops];
    while let Some(part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        target.mark().await?;
        let error = match apply(target, load, &part).await {
            Ok(()) => continue,
            Err(Failure::Row(error)) => error,
            Err(failure) => return Err(failure),
        };
        target.back().await?;
        match part.as_slice() {
            [one] => {
                if let Some(op) = load.pile.ops.get(*one) {
                    refused.push(Refused { place: op.place.clone(), error });
                }
            }
            part => {
                let (left, right) = part.split_at(part.len() / 2);
                parts.push(right.to_vec());
                parts.push(left.to_vec());
            }
        }
    }
    Ok(())
}

/// Moves the offsets, within the transaction.
async fn store(
    target: &mut Target,
    load: &Load,
    refused: &[Refused],
) -> Result<Vec<Stored>, Failure> {
    let first = first_refused(refused);
    let mut moved = Vec::new();
    for ((topic, partition), reached) in &load.pile.reached {
        let known =
            load.claims.iter().find(|one| one.topic == *topic && one.partition == *partition);
        let Some(known) = known else { continue };
        let stop = first.get(&(Arc::clone(topic), *partition)).copied();
        let mut stored = known.clone();
        stored.next = match stop {
            Some(stop) if !load.settings.tolerant => stop,
            _ => reached.next,
        };
        stored.timestamp_ms = stored.timestamp_ms.max(reached.timestamp_ms);
        let places = refused.iter().map(|one| &one.place).chain(&load.untold);
        let here = places.filter(|place| place.topic == *topic && place.partition == *partition);
        stored.refused =
            here.map(|place| place.offset).filter(|offset| *offset < stored.next).collect();
        moved.push(stored);
    }
    if let Some(offsets) = &load.offsets {
        for stored in &moved {
            offsets.store(target, stored).await?;
        }
    }
    Ok(moved)
}
