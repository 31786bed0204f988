//! What Kafka Connect 4.4 and Debezium 3.6.1 gave for a table of cases, against ours.
//! `cargo x parity transforms` records anew.

use std::collections::BTreeMap;

use lattice_core::config::Config;
use lattice_transform::{Chain, Header};
use serde_json::{Value as Json, json};

use crate::json::{record, shown};

const CASES: &str = include_str!("../golden/cases.json");
const RECORDED: &str = include_str!("../golden/recorded.json");
/// Cases where ours differs, and why; docs/compatibility.md tells users.
const DIFFERENCES: &str = include_str!("../golden/differences.json");

fn place(config: &mut Config, prefix: &str, options: &Json) {
    for (name, value) in options.as_object().unwrap() {
        config.set(format!("{prefix}{name}"), value.as_str().unwrap());
    }
}

/// A chain of the case's transformations, each made anew for each record.
fn chain(case: &Json) -> Result<Chain, lattice_core::error::Error> {
    let mut config = Config::default();
    let steps = case["transforms"].as_array().cloned().unwrap_or_default();
    let mut aliases = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        place(&mut config, &format!("transforms.t{index}."), step);
        aliases.push(format!("t{index}"));
    }
    if case["predicate"].is_object() {
        config.set("predicates", "p");
        place(&mut config, "predicates.p.", &case["predicate"]);
        config.set("transforms.t.type", "org.apache.kafka.connect.transforms.Filter");
        config.set("transforms.t.predicate", "p");
        aliases.push("t".to_owned());
    }
    config.set("transforms", aliases.join(","));
    Chain::from_config(&config)
}

fn outcome(case: &Json, given: &Json) -> Json {
    let applied = match chain(case) {
        Ok(mut chain) => chain.apply(record(given)).map_err(|failed| failed.error.chain()),
        Err(error) => Err(error.chain()),
    };
    match applied {
        Err(error) => json!({ "error": error }),
        Ok(record) if case["predicate"].is_object() => json!(record.is_none()),
        Ok(None) => Json::Null,
        Ok(Some(record)) => shown(&record),
    }
}

/// Members in one order, so that only content is compared; a source's records in headers too.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let members: BTreeMap<_, _> =
                members.iter().map(|(name, member)| (name.clone(), sorted(member))).collect();
            json!(members)
        }
        Json::Array(items) => items.iter().map(sorted).collect(),
        // Java writes more digits of a float than needed: those of the nearest are enough.
        Json::Number(number) if number.is_f64() => json!(number.as_f64().unwrap() as f32),
        other => other.clone(),
    }
}

fn same(real: &Json, ours: &Json) -> bool {
    match (real.get("error"), ours.get("error")) {
        (Some(_), Some(_)) => true,
        (None, None) => sorted(real) == sorted(ours),
        _ => false,
    }
}

#[test]
fn every_case_gives_what_the_real_transformations_gave() {
    let cases: Json = serde_json::from_str(CASES).unwrap();
    let recorded: Json = serde_json::from_str(RECORDED).unwrap();
    let differences: BTreeMap<String, String> = serde_json::from_str(DIFFERENCES).unwrap();
    let mut wrong = Vec::new();
    let mut met = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        for (index, key) in case["records"].as_array().unwrap().iter().enumerate() {
            let key = key.as_str().unwrap();
            let (real, ours) = (&recorded[name][index], outcome(case, &cases["records"][key]));
            let place = format!("{name} / {key}");
            match (same(real, &ours), differences.contains_key(&place)) {
                (true, true) => wrong.push(format!("{place}: no longer differs")),
                (false, false) => wrong.push(format!("{place}\n  real {real}\n  ours {ours}")),
                (false, true) => met.push(place),
                (true, false) => {}
            }
        }
    }
    for place in differences.keys().filter(|place| !met.contains(place)) {
        wrong.push(format!("{place}: a difference of no case"));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn headers_are_kept_by_a_chain_that_does_nothing_to_them() {
    let cases: Json = serde_json::from_str(CASES).unwrap();
    let before = record(&cases["records"]["create"]);
    let mut config = Config::default();
    config.set("transforms", "a");
    config.set("transforms.a.type", "io.debezium.transforms.ExtractNewRecordState");
    let after = Chain::from_config(&config).unwrap().apply(before.clone()).unwrap().unwrap();
    let names = |headers: &[Header]| headers.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&before.headers), names(&after.headers));
}
