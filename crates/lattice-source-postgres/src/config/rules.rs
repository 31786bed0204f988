//! What is done to columns' values before they are written: cut, masked, hashed; and what their schemas tell of the
//! database's types. Source: Debezium's `ColumnMappers`.

use lattice_core::{Error, Result, config::Config};

use super::{filter::PatternList, keys};
use crate::types::change::{Algorithm, Change};

/// What the rules of the configuration do to a column.
#[derive(Debug, Clone, Default)]
pub struct ColumnRules(Vec<(PatternList, Rule)>);

/// What is done to the columns that a list names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The value is changed.
    Change(Change),
    /// The schema tells the column's type; by the column's name.
    Propagate,
    /// The schema tells the column's type; by the type's name.
    PropagateType,
}

impl ColumnRules {
    pub(super) fn from_config(config: &Config) -> Result<Self> {
        let mut rules = Vec::new();
        for (name, text) in config.iter().filter(|(_, text)| !text.trim().is_empty()) {
            if let Some(rule) = rule(name)? {
                let patterns = PatternList::named(name, text)?;
                rules.push((patterns, rule));
            }
        }
        // The first that names a column decides: the real one's order.
        rules.sort_by_key(|(_, rule)| match rule {
            Rule::Change(Change::Cut(_)) => 0,
            Rule::Change(Change::Stars(_)) => 1,
            Rule::Propagate => 2,
            Rule::PropagateType => 3,
            Rule::Change(Change::Hash { java: true, .. }) => 4,
            Rule::Change(Change::Hash { .. }) => 5,
        });
        Ok(Self(rules))
    }

    /// What is done to a column of the type `type_name` (`schema.table.type`, without the schema of the type).
    #[must_use]
    pub fn of(&self, schema: &str, table: &str, column: &str, type_name: &str) -> Option<&Rule> {
        let (name, kind) =
            (format!("{schema}.{table}.{column}"), format!("{schema}.{table}.{type_name}"));
        let fits = |(patterns, rule): &&(PatternList, Rule)| match rule {
            Rule::PropagateType => patterns.allows(&kind),
            _ => patterns.allows(&name),
        };
        self.0.iter().find(fits).map(|(_, rule)| rule)
    }
}

/// The rule that a key's name tells; `None`: it is no rule's.
///
/// Errors: `Config` for a number or an algorithm that is none.
fn rule(name: &str) -> Result<Option<Rule>> {
    if name == keys::COLUMN_PROPAGATE_SOURCE_TYPE.name {
        return Ok(Some(Rule::Propagate));
    }
    if name == keys::DATATYPE_PROPAGATE_SOURCE_TYPE.name {
        return Ok(Some(Rule::PropagateType));
    }
    let invalid = |remedy: &str| {
        Error::config(format!("invalid name of configuration \"{name}\""))
            .with_remedy(remedy.to_owned())
    };
    let count = |text: &str| {
        let digits = text.strip_suffix(".chars").and_then(|digits| digits.parse::<usize>().ok());
        digits.ok_or_else(|| invalid("its name ends with .<number>.chars"))
    };
    if let Some(rest) = name.strip_prefix("column.truncate.to.") {
        return Ok(Some(Rule::Change(Change::Cut(count(rest)?))));
    }
    if let Some(rest) = name.strip_prefix("column.mask.with.") {
        return Ok(Some(Rule::Change(Change::Stars(count(rest)?))));
    }
    let Some(rest) = name.strip_prefix("column.mask.hash.") else { return Ok(None) };
    let (rest, java) = rest.strip_prefix("v2.").map_or((rest, true), |rest| (rest, false));
    let (word, salt) = rest
        .split_once(".with.salt.")
        .ok_or_else(|| invalid("it is column.mask.hash.[v2.]<algorithm>.with.salt.<salt>"))?;
    let algorithm = Algorithm::parse(word)
        .ok_or_else(|| invalid("use MD5, SHA-224, SHA-256, SHA-384 or SHA-512"))?;
    Ok(Some(Rule::Change(Change::Hash { algorithm, salt: salt.into(), java })))
}

impl PatternList {
    /// From a key that has no table entry.
    fn named(name: &str, text: &str) -> Result<Self> {
        let patterns: Vec<String> =
            lattice_core::config::split_list(text).map(|part| part.to_string()).collect();
        Self::of(&patterns).map_err(|reason| {
            Error::config(format!("invalid value for configuration \"{name}\"")).with_remedy(reason)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(pairs: &[(&str, &str)]) -> Result<ColumnRules> {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        ColumnRules::from_config(&Config::new(pairs.collect()))
    }

    #[test]
    fn the_first_rule_in_the_real_one_s_order_decides() {
        let rules = rules(&[
            ("column.mask.hash.v2.SHA-256.with.salt.a.b", "public.t.*"),
            ("column.mask.with.3.chars", "public.t.a"),
            ("column.truncate.to.2.chars", "public.t.[ab]"),
            ("datatype.propagate.source.type", r".*\.varchar"),
        ])
        .unwrap();
        let of = |column: &str, kind: &str| rules.of("public", "t", column, kind).cloned();
        assert_eq!(of("a", "text"), Some(Rule::Change(Change::Cut(2))));
        assert_eq!(of("c", "varchar"), Some(Rule::PropagateType));
        let Some(Rule::Change(Change::Hash { salt, java, .. })) = of("c", "text") else {
            panic!("no hash");
        };
        assert_eq!((&*salt, java), ("a.b", false));
        assert_eq!(rules.of("public", "u", "a", "text"), None);
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in [
            "column.truncate.to.x.chars",
            "column.mask.with.3",
            "column.mask.hash.SHA-9.with.salt.x",
            "column.mask.hash.MD5",
        ] {
            assert!(rules(&[(name, "a.b.c")]).is_err(), "{name}");
        }
        assert!(rules(&[("column.mask.with.3.chars", "(")]).is_err());
    }
}
