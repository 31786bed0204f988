//! From what is gathered to runs: the last row of each key, deletes before rows.

use std::{collections::HashMap, sync::Arc};

use crate::{
    config::InsertMode,
    layout::Layout,
    pile::{Kind, Op, Pile},
};

/// What is done with the rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Truncate,
    Delete,
    Insert,
    Upsert,
    Update,
}

/// Rows of one layout with which the same is done at once. Except for inserts, no key is in it twice.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) action: Action,
    pub(crate) table: usize,
    /// `None`: a truncation.
    pub(crate) layout: Option<Arc<Layout>>,
    /// Indexes into the pile's ops.
    pub(crate) ops: Vec<usize>,
}

/// What became of a key.
#[derive(Default)]
struct State {
    deleted: Option<usize>,
    /// The last whole row, and after it those with some of their values.
    rows: Vec<usize>,
}

/// What one table's ops come to.
#[derive(Default)]
struct Reduced {
    truncated: bool,
    states: Vec<State>,
}

/// Runs for some of a pile's ops. `ranks`: by table; those of smaller rank are referred to by others.
pub(crate) fn runs(pile: &Pile, chosen: &[usize], mode: InsertMode, ranks: &[usize]) -> Vec<Run> {
    let mut by_table: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in chosen {
        if let Some(op) = pile.ops.get(*at) {
            by_table.entry(op.table).or_default().push(*at);
        }
    }
    let rank = |table: usize| ranks.get(table).copied().unwrap_or(0);
    let mut tables: Vec<(usize, Vec<usize>)> = by_table.into_iter().collect();
    tables.sort_by_key(|(table, _)| (rank(*table), *table));
    if mode == InsertMode::Insert {
        return tables.iter().flat_map(|(table, ops)| in_order(pile, *table, ops)).collect();
    }
    let reduced: Vec<(usize, Reduced)> =
        tables.into_iter().map(|(table, ops)| (table, reduce(pile, &ops))).collect();
    let mut runs = Vec::new();
    // Those that refer to others are emptied first.
    for (table, reduced) in reduced.iter().rev() {
        if reduced.truncated {
            runs.push(Run {
                action: Action::Truncate,
                table: *table,
                layout: None,
                ops: Vec::new(),
            });
        }
        let deleted = reduced.states.iter().filter_map(|state| state.deleted);
        push(&mut runs, pile, Action::Delete, *table, deleted);
    }
    let action = if mode == InsertMode::Update { Action::Update } else { Action::Upsert };
    for (table, reduced) in &reduced {
        // Each wave holds a key once.
        for wave in 0.. {
            let rows = reduced.states.iter().filter(|state| {
                // An update finds no row that was deleted before it.
                action == Action::Upsert || state.deleted.is_none()
            });
            let rows: Vec<usize> = rows.filter_map(|state| state.rows.get(wave).copied()).collect();
            if rows.is_empty() {
                break;
            }
            push(&mut runs, pile, action, *table, rows.into_iter());
        }
    }
    runs
}

fn reduce(pile: &Pile, ops: &[usize]) -> Reduced {
    let mut reduced = Reduced::default();
    let mut known: HashMap<&[u8], usize> = HashMap::with_capacity(ops.len());
    for at in ops {
        let Some(op) = pile.ops.get(*at) else { continue };
        if op.kind == Kind::Truncate {
            reduced = Reduced { truncated: true, states: Vec::new() };
            known.clear();
            continue;
        }
        let state = *known.entry(pile.key(op)).or_insert_with(|| {
            reduced.states.push(State::default());
            reduced.states.len() - 1
        });
        let Some(state) = reduced.states.get_mut(state) else { continue };
        match op.kind {
            Kind::Delete => *state = State { deleted: Some(*at), rows: Vec::new() },
            _ if op.layout.as_ref().is_some_and(|layout| layout.full) => {
                state.rows.clear();
                state.rows.push(*at);
            }
            _ => state.rows.push(*at),
        }
    }
    reduced
}

/// One run a layout, in the order of first use.
fn push(
    runs: &mut Vec<Run>,
    pile: &Pile,
    action: Action,
    table: usize,
    ops: impl Iterator<Item = usize>,
) {
    let first = runs.len();
    for at in ops {
        let Some(layout) = pile.ops.get(at).and_then(|op| op.layout.as_ref()) else { continue };
        let alike = |run: &&mut Run| run.layout.as_ref().is_some_and(|known| known.id == layout.id);
        match runs.get_mut(first..).and_then(|runs| runs.iter_mut().find(alike)) {
            Some(run) => run.ops.push(at),
            None => {
                runs.push(Run { action, table, layout: Some(Arc::clone(layout)), ops: vec![at] });
            }
        }
    }
}

/// Every event as it came.
fn in_order(pile: &Pile, table: usize, ops: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for at in ops {
        let Some(Op { kind, layout, .. }) = pile.ops.get(*at) else { continue };
        let action = match kind {
            Kind::Row => Action::Insert,
            Kind::Delete => Action::Delete,
            Kind::Truncate => Action::Truncate,
        };
        let id = |layout: &Option<Arc<Layout>>| layout.as_ref().map(|layout| layout.id);
        match runs.last_mut() {
            Some(run) if run.action == action && id(&run.layout) == id(layout) => run.ops.push(*at),
            _ => runs.push(Run { action, table, layout: layout.clone(), ops: vec![*at] }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layout::Place, names::TableName, table::Table};

    fn layout(id: usize, full: bool) -> Arc<Layout> {
        let name = TableName { schema: None, name: "t".to_owned() };
        let table = Table { name, columns: Vec::new(), uniques: Vec::new(), parents: Vec::new() };
        Arc::new(Layout { table: Arc::new(table), slots: Vec::new(), keys: 1, full, id })
    }

    /// Ops as letters: `a` a whole row of key a, `A` its delete, `+a` a row without some value, `!` a truncation.
    fn shown(ops: &str, mode: InsertMode) -> String {
        let (whole, part, key) = (layout(1, true), layout(2, false), layout(3, true));
        let mut pile = Pile::default();
        for word in ops.split(' ') {
            let (kind, layout, name) = match word {
                "!" => (Kind::Truncate, None, "!"),
                word if word.starts_with('+') => (Kind::Row, Some(&part), &word[1..]),
                word if word.starts_with(char::is_uppercase) => (Kind::Delete, Some(&key), word),
                word => (Kind::Row, Some(&whole), word),
            };
            let start = pile.data.len();
            pile.data.extend(name.to_lowercase().bytes());
            let place = Place { topic: "t".into(), partition: 0, offset: pile.ops.len() as i64 };
            pile.ops.push(Op {
                kind,
                table: 0,
                layout: layout.cloned(),
                start,
                length: 1,
                key: 1,
                place,
            });
        }
        let all: Vec<usize> = (0..pile.ops.len()).collect();
        let words: Vec<&str> = ops.split(' ').collect();
        let line = |run: &Run| {
            let ops: Vec<&str> = run.ops.iter().map(|at| words[*at]).collect();
            format!("{:?}({})", run.action, ops.join(" "))
        };
        runs(&pile, &all, mode, &[0]).iter().map(line).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_last_row_of_a_key_is_written_and_deletes_come_first() {
        let upsert = InsertMode::Upsert;
        assert_eq!(shown("a b a A b", upsert), "Delete(A) Upsert(b)");
        assert_eq!(shown("A a B", upsert), "Delete(A B) Upsert(a)");
        assert_eq!(shown("a ! b", upsert), "Truncate() Upsert(b)");
        assert_eq!(shown("a +a b +a", upsert), "Upsert(a b) Upsert(+a) Upsert(+a)");
        assert_eq!(shown("+a a", upsert), "Upsert(a)");
        assert_eq!(shown("A a", InsertMode::Update), "Delete(A)");
        assert_eq!(shown("a A a", InsertMode::Insert), "Insert(a) Delete(A) Insert(a)");
    }
}
