//! Signals: rows that are inserted into `signal.data.collection`.

use serde_json::Value;

/// What a signal asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Read the tables that match these patterns.
    Execute(Vec<String>),
    /// Do not read these any more; empty: none at all.
    Stop(Vec<String>),
    Pause,
    Resume,
    Log(String),
    /// It cannot be followed: why, and what helps.
    Unknown(String),
}

impl Signal {
    /// Of a row's type and data.
    pub(crate) fn parse(id: &str, kind: &str, data: &str) -> Self {
        let parsed: Value = match data.trim() {
            "" => Value::Null,
            data => match serde_json::from_str(data) {
                Ok(value) => value,
                Err(error) => {
                    return Self::Unknown(format!("signal {id}: its data is not JSON: {error}"));
                }
            },
        };
        let names = parsed["data-collections"].as_array().map(|names| {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        });
        let incremental = parsed["type"]
            .as_str()
            .is_none_or(|word| word.trim().eq_ignore_ascii_case("incremental"));
        match (kind, names) {
            ("execute-snapshot", _) if !incremental => Self::Unknown(format!(
                "signal {id}: only snapshots of type \"incremental\" can be executed"
            )),
            ("execute-snapshot", _) if is_given(&parsed["additional-conditions"]) => {
                Self::Unknown(format!(
                    "signal {id}: additional-conditions are not supported; the signal is passed \
                     over, since without them other rows would be read"
                ))
            }
            ("execute-snapshot", _) if is_given(&parsed["surrogate-key"]) => {
                Self::Unknown(format!(
                    "signal {id}: surrogate-key is not supported; tables are read by their key"
                ))
            }
            ("execute-snapshot", Some(names)) if !names.is_empty() => Self::Execute(names),
            ("execute-snapshot", _) => {
                Self::Unknown(format!("signal {id}: its data names no data-collections"))
            }
            ("stop-snapshot", names) => Self::Stop(names.unwrap_or_default()),
            ("pause-snapshot", _) => Self::Pause,
            ("resume-snapshot", _) => Self::Resume,
            ("log", _) => Self::Log(parsed["message"].as_str().unwrap_or_default().to_owned()),
            _ => Self::Unknown(format!(
                "signal {id}: unknown type \"{kind}\"; use execute-snapshot, stop-snapshot, \
                 pause-snapshot, resume-snapshot or log"
            )),
        }
    }
}

fn is_given(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_as_debezium_writes_them() {
        let data = r#"{"data-collections": ["public.a", "public.b.*"], "type": "INCREMENTAL"}"#;
        let tables = vec!["public.a".to_owned(), "public.b.*".to_owned()];
        assert_eq!(Signal::parse("1", "execute-snapshot", data), Signal::Execute(tables.clone()));
        assert_eq!(Signal::parse("1", "stop-snapshot", data), Signal::Stop(tables));
        assert_eq!(Signal::parse("1", "stop-snapshot", ""), Signal::Stop(Vec::new()));
        assert_eq!(Signal::parse("1", "pause-snapshot", "{}"), Signal::Pause);
        let log = Signal::parse("1", "log", r#"{"message": "hello"}"#);
        assert_eq!(log, Signal::Log("hello".to_owned()));
    }

    #[test]
    fn what_cannot_be_followed_says_why() {
        let blocking = r#"{"data-collections": ["a"], "type": "blocking"}"#;
        let filtered = r#"{"data-collections": ["a"], "additional-conditions": [{"filter": "x"}]}"#;
        for (kind, data, part) in [
            ("execute-snapshot", "{", "not JSON"),
            ("execute-snapshot", "", "data-collections"),
            ("execute-snapshot", blocking, "incremental"),
            ("execute-snapshot", filtered, "additional-conditions"),
            ("dance", "{}", "\"dance\""),
        ] {
            match Signal::parse("7", kind, data) {
                Signal::Unknown(reason) => {
                    assert!(reason.contains(part) && reason.contains("signal 7"), "{reason}");
                }
                other => panic!("{kind} {data}: {other:?}"),
            }
        }
    }
}
