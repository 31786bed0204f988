//! A database per test, a connector on it, and what comes out in readable form.

use std::{sync::Arc, time::Duration};

use lattice_core::{
    Result,
    config::Config,
    connector::{SourceConnector, SourceTask, TaskConfig, TaskContext},
    event::{NoticeKind, SourceBatch},
    position::Position,
    progress::Progress,
    value::Value,
};
use lattice_source_mongodb::MongoSource;
use lattice_testkit::service;
use mongodb::{Client, Collection, Database, bson::Document};
use serde_json::Value as Json;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) op: &'static str,
    pub(crate) collection: String,
    pub(crate) id: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// Removed, updated, truncated.
    pub(crate) update: Option<(Vec<String>, Option<String>, Vec<(String, i64)>)>,
    pub(crate) source: Vec<(String, Json)>,
}

impl Seen {
    pub(crate) fn after(&self) -> Json {
        serde_json::from_str(self.after.as_deref().expect("has a document")).expect("is JSON")
    }

    pub(crate) fn source(&self, field: &str) -> &Json {
        let found = self.source.iter().find(|(name, _)| name == field);
        &found.unwrap_or_else(|| panic!("no {field} in {:?}", self.source)).1
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(text.as_str().to_owned()),
        other => panic!("not a text: {other:?}"),
    }
}

fn plain(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        other => panic!("not in a source block: {other:?}"),
    }
}

fn items<'v, 'a>(value: &'v Value<'a>) -> &'v [Value<'a>] {
    match value {
        Value::Array(items) | Value::Struct(items) => items,
        Value::Null => &[],
        other => panic!("neither array nor struct: {other:?}"),
    }
}

pub(crate) fn decode(batch: &SourceBatch) -> Vec<Seen> {
    let one = |event: &lattice_core::event::ChangeEvent| {
        let table = &batch.tables[event.table as usize];
        let row = event.after.expect("every event has its row").of(&batch.data);
        let mut values = Vec::new();
        table.decoder.decode(row, &mut values).expect("row is readable");
        assert_eq!(values.len(), table.columns.len());
        let update = (values[3] != Value::Null).then(|| {
            let parts = items(&values[3]);
            let removed = items(&parts[0]).iter().filter_map(text).collect();
            let truncated = items(&parts[2]).iter().map(|array| {
                let Value::Int(size) = items(array)[1] else { panic!("no size") };
                (text(&items(array)[0]).expect("has a field"), size)
            });
            (removed, text(&parts[1]), truncated.collect())
        });
        let mut block = Vec::new();
        batch.info.values(&table.id, &event.origin, &mut block);
        let names = batch.info.schema().fields.iter().map(|field| field.name.to_string());
        Seen {
            op: event.op.as_str(),
            collection: table.id.table.to_string(),
            id: text(&values[0]).expect("has a key"),
            before: text(&values[1]),
            after: text(&values[2]),
            update,
            source: names.zip(block.iter().map(plain)).collect(),
        }
    };
    batch.events.iter().map(one).collect()
}

pub(crate) struct Source {
    pub(crate) client: Client,
    pub(crate) database: Database,
    pub(crate) connector: MongoSource,
    pub(crate) config: Config,
    pub(crate) position: Option<Position>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) heartbeats: usize,
}

impl Source {
    /// An empty database and a connector on it.
    pub(crate) async fn new(name: &str, more: &[(&str, &str)]) -> Self {
        Self::at(&service("LATTICE_TEST_MONGO"), name, more).await
    }

    pub(crate) async fn at(uri: &str, name: &str, more: &[(&str, &str)]) -> Self {
        let client = Client::with_uri_str(uri).await.expect("the driver connects");
        let database = client.database(&format!("lattice_{name}"));
        database.drop().await.expect("the database can be made empty");
        let mut config = Config::default();
        config.set("mongodb.connection.string", uri);
        config.set("topic.prefix", "p");
        config.set("database.include.list", database.name());
        for (key, value) in more {
            config.set(*key, value.replace("DB", database.name()));
        }
        Self {
            client,
            database,
            connector: MongoSource::default(),
            config,
            position: None,
            progress: Arc::default(),
            heartbeats: 0,
        }
    }

    pub(crate) fn collection(&self, name: &str) -> Collection<Document> {
        self.database.collection(name)
    }

    pub(crate) async fn insert(&self, name: &str, document: Document) {
        self.collection(name).insert_one(document).await.expect("is inserted");
    }

    pub(crate) async fn try_open(&self) -> Result<Box<dyn SourceTask>> {
        let task = TaskConfig { connector: "c".to_owned(), task: 0, config: self.config.clone() };
        let context = TaskContext { progress: Arc::clone(&self.progress), buffer_bytes: 32 << 20 };
        self.connector.open(task, self.position.clone(), context).await
    }

    pub(crate) async fn open(&self) -> Box<dyn SourceTask> {
        self.try_open().await.unwrap_or_else(|error| panic!("opens: {}", error.chain()))
    }

    /// One batch, its position stored and committed.
    pub(crate) async fn step(&mut self, task: &mut Box<dyn SourceTask>) -> Vec<Seen> {
        let batch = tokio::time::timeout(DEADLINE, task.next_batch()).await.expect("in time");
        let batch = batch.unwrap_or_else(|error| panic!("a batch: {}", error.chain()));
        let batch = batch.expect("goes on");
        self.position = Some(batch.position.clone());
        let beats = batch.notices.iter().filter(|notice| notice.kind == NoticeKind::Heartbeat);
        self.heartbeats += beats.count();
        task.committed(&batch.position).await.expect("commits");
        decode(&batch)
    }

    /// Reads until there are so many events.
    pub(crate) async fn read(&mut self, task: &mut Box<dyn SourceTask>, count: usize) -> Vec<Seen> {
        let mut seen = Vec::new();
        let reading = async {
            while seen.len() < count {
                seen.extend(self.step(task).await);
            }
        };
        let result = tokio::time::timeout(DEADLINE, reading).await;
        assert!(result.is_ok(), "not enough events came: {seen:?}");
        seen
    }

    /// Reads until a position beyond the snapshot is stored.
    pub(crate) async fn stream(&mut self) -> Box<dyn SourceTask> {
        let mut task = self.open().await;
        let streams = |position: &Option<Position>| {
            position.as_ref().is_some_and(|position| !position.offset.contains_key("initsync"))
        };
        while !streams(&self.position) {
            self.step(&mut task).await;
        }
        task
    }
}

pub(crate) fn ops(seen: &[Seen]) -> Vec<(&str, &str)> {
    seen.iter().map(|seen| (seen.op, seen.id.as_str())).collect()
}
