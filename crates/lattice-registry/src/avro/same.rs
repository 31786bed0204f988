//! Whether two schemas write the same bytes: names of types, defaults, docs and properties do not
//! count.

use std::collections::HashSet;

use super::{Kind, NodeId, Schema};

/// The place where the two differ, in words; none: the same bytes.
pub(crate) fn difference(ours: &Schema, theirs: &Schema) -> Option<String> {
    let mut walk = Walk { ours, theirs, seen: HashSet::new() };
    walk.pair(ours.root(), theirs.root(), "").err()
}

struct Walk<'s> {
    ours: &'s Schema,
    theirs: &'s Schema,
    seen: HashSet<(NodeId, NodeId)>,
}

impl Walk<'_> {
    fn pair(&mut self, ours: NodeId, theirs: NodeId, place: &str) -> Result<(), String> {
        if !self.seen.insert((ours, theirs)) {
            return Ok(());
        }
        let (left, right) = (self.ours, self.theirs);
        let (mine, other) = (left.kind(ours), right.kind(theirs));
        let at =
            |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        match (mine, other) {
            (Kind::Record(mine), Kind::Record(other)) => {
                for (index, field) in mine.fields.iter().enumerate() {
                    let inner = format!("{place}{}{}", dot(place), field.name);
                    match other.fields.get(index) {
                        Some(theirs) if theirs.name == field.name => {
                            self.pair(field.schema, theirs.schema, &inner)?;
                        }
                        Some(theirs) => {
                            return Err(format!(
                                "field {inner} stands where theirs is {}",
                                theirs.name
                            ));
                        }
                        None => return Err(format!("field {inner} is missing there")),
                    }
                }
                match other.fields.get(mine.fields.len()) {
                    Some(extra) => Err(format!("field {}{} is not ours", at(place), extra.name)),
                    None => Ok(()),
                }
            }
            (Kind::Union(mine), Kind::Union(other)) if mine.len() == other.len() => {
                mine.iter().zip(other).try_for_each(|(a, b)| self.pair(*a, *b, place))
            }
            (Kind::Array(mine), Kind::Array(other)) | (Kind::Map(mine), Kind::Map(other)) => {
                self.pair(*mine, *other, place)
            }
            (Kind::Enum(mine), Kind::Enum(other)) if mine.symbols == other.symbols => Ok(()),
            (Kind::Fixed(mine), Kind::Fixed(other)) if mine.size == other.size => Ok(()),
            _ if mine.is_primitive() && mine.word() == other.word() => Ok(()),
            _ => Err(format!(
                "type {}{} is {} there",
                mine.word(),
                at(place),
                if mine.word() == other.word() { "another one" } else { other.word() }
            )),
        }
    }
}

fn dot(place: &str) -> &'static str {
    if place.is_empty() { "" } else { "." }
}
