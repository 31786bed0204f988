use proptest::prelude::*;

use super::*;

fn keyed(key: usize, columns: &[&str]) -> Queries {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    Queries { source: String::new(), target: String::new(), key, columns, missing: Vec::new() }
}

fn lines(rows: &[&str]) -> Vec<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

#[test]
fn equal_rows_in_any_order_are_equal() {
    let diff =
        Diff::of(&keyed(1, &["id", "v"]), lines(&["1\ta", "2\tb"]), lines(&["2\tb", "1\ta"]));
    assert!(diff.is_empty(), "{diff}");
    assert_eq!(diff.to_string(), "2 rows, equal");
}

#[test]
fn missing_extra_and_changed_rows_are_told_apart() {
    let diff = Diff::of(
        &keyed(1, &["id", "v"]),
        lines(&["1\ta", "2\tb", "3\tc"]),
        lines(&["2\tx", "3\tc", "4\td"]),
    );
    assert_eq!((diff.missing, diff.extra, diff.changed), (1, 1, 1), "{diff}");
    let text = diff.to_string();
    assert!(text.contains("missing in the target: 1\ta"), "{text}");
    assert!(text.contains("only in the target:    4\td"), "{text}");
    assert!(text.contains("differs at key 2: v: b ≠ x"), "{text}");
}

#[test]
fn a_row_that_is_there_twice_is_seen_where_there_is_no_key() {
    let diff = Diff::of(&keyed(0, &["v"]), lines(&["a"]), lines(&["a", "a"]));
    assert_eq!((diff.missing, diff.extra), (0, 1), "{diff}");
}

#[test]
fn escapes_of_both_servers_mean_the_same() {
    let diff = Diff::of(
        &keyed(1, &["id", "v"]),
        lines(&["1\tit's \\\\' \\v"]),
        lines(&["1\tit\\'s \\\\\\' \u{b}"]),
    );
    assert!(diff.is_empty(), "{diff}");
}

#[test]
fn a_column_that_the_target_lacks_is_a_difference() {
    let column = |name: &str, data_type: &str, key| SourceColumn {
        name: name.into(),
        data_type: data_type.into(),
        key,
    };
    let shape = TargetShape {
        engine: "ReplacingMergeTree".into(),
        columns: vec![("id".into(), "Int32".into()), ("is_deleted".into(), "UInt8".into())],
    };
    let columns = [column("id", "integer", true), column("note", "text", false)];
    let queries = queries(("public", "t"), &columns, ("d", "p.public.t"), &shape);
    assert_eq!(
        queries.target,
        "SELECT toString(`id`) FROM `d`.`p.public.t` FINAL WHERE is_deleted = 0 FORMAT TabSeparated"
    );
    let diff = Diff::of(&queries, lines(&["1"]), lines(&["1"]));
    assert!(!diff.is_empty());
    assert!(diff.to_string().contains("columns missing in the target: note"), "{diff}");
}

proptest! {
    #[test]
    fn a_table_equals_itself_and_differs_from_itself_with_one_row_less(
        rows in proptest::collection::btree_map(0u32..1000, "[a-z\\\\']{0,8}", 1..50)
    ) {
        let all: Vec<String> = rows.iter().map(|(key, value)| format!("{key}\t{}", value.replace('\\', "\\\\"))).collect();
        let queries = keyed(1, &["id", "v"]);
        prop_assert!(Diff::of(&queries, all.clone(), all.iter().rev().cloned().collect()).is_empty());
        let less = Diff::of(&queries, all.clone(), all[1..].to_vec());
        prop_assert_eq!((less.missing, less.extra, less.changed), (1, 0, 0));
    }
}
