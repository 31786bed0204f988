//! What is said about wrong configurations.

use lattice_core::config::{Config, Severity};
use lattice_transform::{check, find_transform, placed_keys, predicates, transforms};

fn config(pairs: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in pairs {
        config.set(*name, *value);
    }
    config
}

fn errors(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    check(&config(pairs))
        .into_iter()
        .filter(|issue| issue.severity == Severity::Error)
        .map(|issue| {
            (issue.key, format!("{} ({})", issue.message, issue.remedy.unwrap_or_default()))
        })
        .collect()
}

fn only(pairs: &[(&str, &str)]) -> (String, String) {
    let errors = errors(pairs);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}

const ROUTER: &str = "org.apache.kafka.connect.transforms.RegexRouter";

#[test]
fn an_error_names_transformation_key_reason_and_remedy() {
    let (key, text) = only(&[
        ("transforms", "a"),
        ("transforms.a.type", ROUTER),
        ("transforms.a.regex", "("),
        ("transforms.a.replacement", "x"),
    ]);
    assert_eq!(key, "transforms.a.regex");
    assert!(text.contains("\"(\" is no regular expression"), "{text}");

    let (key, text) =
        only(&[("transforms", "a"), ("transforms.a.type", ROUTER), ("transforms.a.regex", "x")]);
    assert_eq!(key, "transforms.a.replacement");
    assert!(text.contains("missing required"), "{text}");
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let (key, text) =
        only(&[("transforms", "a"), ("transforms.a.type", "io.debezium.transforms.Filter")]);
    assert_eq!(key, "transforms.a.type");
    assert!(text.contains("scripts") && text.contains("docs/transforms.md"), "{text}");
    let (_, text) = only(&[("transforms", "a"), ("transforms.a.type", "com.example.Mine")]);
    assert!(text.contains("could not be found"), "{text}");
    let (_, text) = only(&[
        ("transforms", "a"),
        ("transforms.a.type", "org.apache.kafka.connect.transforms.ReplaceField"),
    ]);
    assert!(text.contains("ReplaceField$Key or") && text.contains("ReplaceField$Value"), "{text}");
    let (key, text) = only(&[("transforms", "a")]);
    assert_eq!(key, "transforms.a.type");
    assert!(text.contains("missing required"), "{text}");
}

#[test]
fn predicates_must_exist_to_be_named() {
    let router = [
        ("transforms", "a"),
        ("transforms.a.type", ROUTER),
        ("transforms.a.regex", "x"),
        ("transforms.a.replacement", "y"),
    ];
    let with = |more: &[(&'static str, &'static str)]| only(&[&router[..], more].concat());
    let (key, text) = with(&[("transforms.a.predicate", "p")]);
    assert_eq!(key, "transforms.a.predicate");
    assert!(text.contains("no predicate \"p\""), "{text}");
    let (key, _) = with(&[("transforms.a.negate", "true")]);
    assert_eq!(key, "transforms.a.negate");
    let (key, _) = with(&[("predicates", "p"), ("predicates.p.type", "com.example.P")]);
    assert_eq!(key, "predicates.p.type");
}

#[test]
fn an_alias_stands_once() {
    let pairs = [("transforms", "a,a"), ("transforms.a.type", ROUTER)];
    assert!(
        errors(&pairs)
            .iter()
            .any(|(key, text)| key == "transforms" && text.contains("given twice"))
    );
}

#[test]
fn forms_are_given_every_key_of_a_transformation() {
    let placed = placed_keys(&config(&[("transforms", "a"), ("transforms.a.type", ROUTER)]));
    let names: Vec<&str> = placed[0].keys.iter().map(|key| key.name).collect();
    assert_eq!(names, ["type", "plugin.version", "predicate", "negate", "regex", "replacement"]);
    assert_eq!(placed[0].prefix, "transforms.a.");
}

#[test]
fn classes_are_found_by_full_and_simple_name() {
    for class in transforms() {
        assert!(find_transform(class.class).is_ok());
        assert!(class.keys.iter().all(|key| !key.doc.is_empty()));
    }
    assert!(find_transform("RegexRouter").is_ok());
    assert!(predicates().count() == 3);
}
