//! A source on a database of its own, whose events are read as plain values.

use std::{sync::Arc, time::Duration};

use lattice_core::{
    config::Config,
    connector::{SourceConnector, SourceTask, TaskConfig, TaskContext},
    error::Result,
    event::{Op, SnapshotMarker, SourceBatch},
    position::Position,
    progress::Progress,
    value::Value,
};
use lattice_source_postgres::PostgresSource;
use lattice_testkit::{PostgresDatabase, service};

const DEADLINE: Duration = Duration::from_secs(60);

/// An event with its rows decoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) op: Op,
    pub(crate) table: String,
    pub(crate) columns: Vec<String>,
    pub(crate) key: Vec<String>,
    pub(crate) before: Option<Vec<Value<'static>>>,
    pub(crate) after: Option<Vec<Value<'static>>>,
    pub(crate) lsn: u64,
    pub(crate) snapshot: SnapshotMarker,
    /// Prefix and content of a logical decoding message.
    pub(crate) message: Option<(Vec<u8>, Vec<u8>)>,
}

impl Seen {
    pub(crate) fn column(&self, name: &str) -> Value<'static> {
        let at = self.columns.iter().position(|column| column == name).expect("column exists");
        self.after.as_ref().or(self.before.as_ref()).expect("has a row")[at].clone()
    }

    pub(crate) fn id(&self) -> i64 {
        number(self.column("id"))
    }
}

pub(crate) fn number(value: Value<'static>) -> i64 {
    match value {
        Value::Int(number) => number,
        other => panic!("not a number: {other:?}"),
    }
}

pub(crate) fn decode(batch: &SourceBatch) -> Vec<Seen> {
    batch
        .events
        .iter()
        .map(|event| {
            let table = &batch.tables[event.table as usize];
            let names = || table.columns.iter().map(|column| column.name.to_string());
            let row = |span: Option<lattice_core::event::Span>| {
                let span = span.filter(|_| event.op != Op::Message)?;
                let mut values = Vec::new();
                table.decoder.decode(span.of(&batch.data), &mut values).expect("row is readable");
                assert_eq!(values.len(), table.columns.len());
                Some(values.into_iter().map(Value::into_owned).collect())
            };
            let bytes = |span: Option<lattice_core::event::Span>| {
                span.map(|span| span.of(&batch.data).to_vec()).unwrap_or_default()
            };
            let message =
                (event.op == Op::Message).then(|| (bytes(event.before), bytes(event.after)));
            Seen {
                message,
                op: event.op,
                table: table.id.to_string(),
                columns: names().collect(),
                key: table.key.iter().map(|at| table.columns[*at].name.to_string()).collect(),
                before: row(event.before),
                after: row(event.after),
                lsn: event.origin.lsn.expect("has an LSN"),
                snapshot: event.origin.snapshot,
            }
        })
        .collect()
}

pub(crate) struct Source {
    pub(crate) database: PostgresDatabase,
    pub(crate) connector: PostgresSource,
    pub(crate) config: Config,
    pub(crate) position: Option<Position>,
    pub(crate) progress: Arc<Progress>,
}

impl Source {
    pub(crate) async fn new(server: &str, hint: &str, more: &[(&str, &str)]) -> Self {
        Self::on(PostgresDatabase::create(&service(server), hint).await, more)
    }

    pub(crate) fn on(database: PostgresDatabase, more: &[(&str, &str)]) -> Self {
        let mut config = Config::default();
        for (key, value) in database.connector_config() {
            config.set(key, value);
        }
        config.set("topic.prefix", "p");
        config.set("slot.name", database.name());
        config.set("lattice.heartbeat.interval.ms", "200");
        config.set("status.update.interval.ms", "200");
        for (key, value) in more {
            config.set(*key, *value);
        }
        let (connector, progress) = (PostgresSource::default(), Arc::new(Progress::default()));
        Self { database, connector, config, position: None, progress }
    }

    pub(crate) async fn try_open(&self) -> Result<Box<dyn SourceTask>> {
        let task = TaskConfig { connector: "c".to_owned(), task: 0, config: self.config.clone() };
        let progress = Arc::clone(&self.progress);
        let context = TaskContext { progress, buffer_bytes: 32 << 20 };
        self.connector.open(task, self.position.clone(), context).await
    }

    /// Opens, waiting for the slot to be free of the task before.
    pub(crate) async fn open(&self) -> Box<dyn SourceTask> {
        let sql = format!(
            "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{}' AND active",
            self.database.name()
        );
        lattice_testkit::wait_until(DEADLINE, "the slot is free", async || {
            self.database.value(&sql).await == "0"
        })
        .await;
        self.try_open().await.expect("the source opens")
    }

    /// Reads until `enough` says so, storing and committing every position.
    pub(crate) async fn read(
        &mut self,
        task: &mut Box<dyn SourceTask>,
        mut enough: impl FnMut(&[Seen]) -> bool,
    ) -> Vec<Seen> {
        let mut seen = Vec::new();
        let reading = async {
            while !enough(&seen) {
                let batch = task.next_batch().await.expect("a batch").expect("goes on");
                seen.extend(decode(&batch));
                self.position = Some(batch.position.clone());
                task.committed(&batch.position).await.expect("commits");
            }
        };
        let result = tokio::time::timeout(DEADLINE, reading).await;
        assert!(result.is_ok(), "not enough events came: {seen:?}");
        seen
    }
}
