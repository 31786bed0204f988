//! What connectors and tasks are at, as Kafka Connect's status topic keeps it.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::model::State;

/// The namespaces of statuses.
pub(super) const CONNECTORS: &str = "connector-status";
pub(super) const TASKS: &str = "task-status";

/// Whose status it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) connector: String,
    /// `None`: the connector itself.
    pub(crate) task: Option<u32>,
}

impl Subject {
    /// Where its document is.
    pub(super) fn document(&self) -> (&'static str, String) {
        match self.task {
            None => (CONNECTORS, self.connector.clone()),
            Some(task) => (TASKS, format!("{}-{task}", self.connector)),
        }
    }

    pub(super) fn read(namespace: &str, name: &str) -> Option<Self> {
        if namespace == CONNECTORS {
            return Some(Self { connector: name.to_owned(), task: None });
        }
        // A connector's name may have hyphens.
        let (connector, task) = name.rsplit_once('-')?;
        Some(Self { connector: connector.to_owned(), task: Some(task.parse().ok()?) })
    }
}

/// A status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) state: State,
    pub(crate) trace: Option<String>,
    pub(crate) worker_id: String,
}

impl Status {
    pub(super) fn written(&self, generation: i32, version: Option<&str>) -> Bytes {
        let document = json!({
            "state": self.state.as_str(), "trace": self.trace, "worker_id": self.worker_id,
            "generation": generation, "version": version,
        });
        Bytes::from(document.to_string())
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| document[name].as_str().map(str::to_owned);
        Some(Self {
            state: State::from_word(document["state"].as_str()?)?,
            trace: text("trace"),
            worker_id: text("worker_id")?,
        })
    }
}

/// The newest status of everything.
#[derive(Debug, Default)]
pub(crate) struct Board(BTreeMap<Subject, Status>);

impl Board {
    pub(super) fn replace(&mut self, statuses: BTreeMap<Subject, Status>) -> bool {
        let changed = self.0 != statuses;
        self.0 = statuses;
        changed
    }

    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.0.keys()
    }

    pub(crate) fn of(&self, connector: &str, task: Option<u32>) -> Option<&Status> {
        self.0.get(&Subject { connector: connector.to_owned(), task })
    }

    /// The tasks of a connector that have a status.
    pub(crate) fn tasks(&self, connector: &str) -> Vec<(u32, Status)> {
        let own = self.0.iter().filter(|(subject, _)| subject.connector == connector);
        own.filter_map(|(subject, status)| Some((subject.task?, status.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_kafka_connects_records() {
        let kept = br#"{"state":"FAILED","trace":"why","worker_id":"a:8083","generation":12}"#;
        let status = Status::read(kept).unwrap();
        assert_eq!((status.state, status.trace.as_deref()), (State::Failed, Some("why")));
        let again = status.written(3, Some("1.0"));
        assert_eq!(Status::read(&again), Some(status));
        assert_eq!(Status::read(br#"{"state":"DANCING","worker_id":"a:1"}"#), None);
    }

    #[test]
    fn names_with_hyphens_keep_them() {
        let task = Subject { connector: "a-b-7".to_owned(), task: Some(3) };
        let (namespace, name) = task.document();
        assert_eq!(Subject::read(namespace, &name), Some(task));
        assert_eq!(Subject::read(TASKS, "nothing"), None);
    }
}
