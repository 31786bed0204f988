//! Kafka Connect's and Debezium's JMX measures, under the names that the usual rules of the JMX exporter give them, so
//! that boards and alerts made for those go on working. Only what is really measured here is told.
//!
//! Source: Kafka's `ConnectMetricsRegistry`; Debezium's `…ChangeEventSourceMetrics`.

use lattice_core::progress::TableState;
use lattice_runtime::{
    ConnectorKind, ConnectorSnapshot, State, TableSnapshot, TaskSnapshot, WorkerSnapshot,
};

use super::{Family, labels};
use crate::state::ServerState;

/// Families by name, made as their samples come.
#[derive(Default)]
struct Families(Vec<Family>);

impl Families {
    fn add(&mut self, name: &str, kind: &'static str, help: &'static str, own: &str, value: f64) {
        let sample = (own.to_owned(), value);
        match self.0.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push(sample),
            None => {
                self.0.push(Family { name: name.to_owned(), kind, help, samples: vec![sample] });
            }
        }
    }

    fn gauge(&mut self, name: &str, help: &'static str, own: &str, value: f64) {
        self.add(name, "gauge", help, own, value);
    }

    fn counter(&mut self, name: &str, help: &'static str, own: &str, value: f64) {
        self.add(name, "counter", help, own, value);
    }
}

/// All of them.
pub(super) async fn families(state: &ServerState, snapshot: &WorkerSnapshot) -> Vec<Family> {
    let mut families = Families::default();
    worker(&mut families, snapshot);
    for connector in &snapshot.connectors {
        of_connector(&mut families, connector);
        for task in &connector.tasks {
            of_task(&mut families, connector, task);
        }
        if connector.status.kind == ConnectorKind::Source {
            let info = state.worker().connector(&connector.status.name).await;
            let prefix = info.ok().and_then(|info| {
                info.config.get("topic.prefix").map(|prefix| prefix.trim().to_owned())
            });
            debezium(&mut families, state, connector, &prefix.unwrap_or_default(), snapshot.at_ms);
        }
    }
    families.0
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn worker(families: &mut Families, snapshot: &WorkerSnapshot) {
    let tasks: usize = snapshot.connectors.iter().map(|one| one.status.tasks.len()).sum();
    families.gauge(
        "kafka_connect_worker_connector_count",
        "Connectors on this worker",
        "",
        snapshot.connectors.len() as f64,
    );
    families.gauge("kafka_connect_worker_task_count", "Tasks on this worker", "", tasks as f64);
}

/// Kafka Connect's word for a state in its measures.
fn word(state: State) -> String {
    state.as_str().to_ascii_lowercase()
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn of_connector(families: &mut Families, connector: &ConnectorSnapshot) {
    let status = &connector.status;
    let own = labels(&[("connector", &status.name)]);
    let count = |wanted: State| status.tasks.iter().filter(|task| task.state == wanted).count();
    families.gauge(
        "kafka_connect_worker_connector_total_task_count",
        "Tasks of a connector",
        &own,
        status.tasks.len() as f64,
    );
    for state in
        [State::Running, State::Paused, State::Failed, State::Unassigned, State::Restarting]
    {
        let name = format!("kafka_connect_worker_connector_{}_task_count", word(state));
        families.gauge(&name, "Tasks of a connector in this state", &own, count(state) as f64);
    }
    let with_status = labels(&[
        ("connector", &status.name),
        ("connector_type", status.kind.as_str()),
        ("status", &word(status.state)),
    ]);
    let help = "1 for the state a connector is in";
    families.gauge("kafka_connect_connector_status", help, &with_status, 1.0);
    for task in &status.tasks {
        let own = labels(&[
            ("connector", &status.name),
            ("task", &task.id.to_string()),
            ("status", &word(task.state)),
        ]);
        let help = "1 for the state a task is in, by Kafka Connect's name";
        families.gauge("kafka_connect_connector_task_status", help, &own, 1.0);
    }
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn of_task(families: &mut Families, connector: &ConnectorSnapshot, task: &TaskSnapshot) {
    let id = task.id.to_string();
    let own = labels(&[("connector", &connector.status.name), ("task", &id)]);
    let (events, rate) = (task.events as f64, task.events_per_s);
    match connector.status.kind {
        ConnectorKind::Source => {
            let name = |what: &str| format!("kafka_connect_source_task_source_record_{what}");
            families.counter(&name("poll_total"), "Records a source gave", &own, events);
            families.counter(&name("write_total"), "Records written to the log", &own, events);
            families.gauge(&name("poll_rate"), "Records a source gives per second", &own, rate);
            families.gauge(&name("write_rate"), "Records written per second", &own, rate);
        }
        ConnectorKind::Sink => {
            let name = |what: &str| format!("kafka_connect_sink_task_sink_record_{what}");
            families.counter(&name("read_total"), "Records read for a sink", &own, events);
            families.counter(&name("send_total"), "Records a sink made durable", &own, events);
            families.gauge(&name("read_rate"), "Records read per second", &own, rate);
            families.gauge(&name("send_rate"), "Records made durable per second", &own, rate);
            let behind = task.behind_records.values().copied().max().unwrap_or(0);
            let help = "Records of the topic that is furthest behind";
            families.gauge(&name("lag_max"), help, &own, behind as f64);
        }
        ConnectorKind::Unknown => {}
    }
    let name = |what: &str| format!("kafka_connect_task_error_{what}");
    let skipped = task.dead_letters as f64;
    let help = "Records that could not be processed";
    families.counter(&name("total_record_failures"), help, &own, skipped);
    families.counter(&name("total_record_errors"), help, &own, skipped);
    families.counter(&name("total_records_skipped"), "Records left out", &own, skipped);
    families.counter(
        &name("total_retries"),
        "Tries after a passing error",
        &own,
        task.retries as f64,
    );
}

/// Debezium's measures of a source: its streaming and its snapshot.
#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn debezium(
    families: &mut Families,
    state: &ServerState,
    connector: &ConnectorSnapshot,
    prefix: &str,
    at_ms: i64,
) {
    let plugins = state.worker().plugins();
    let plugin =
        plugins.iter().map(|plugin| plugin.descriptor).find(|one| one.is_called(&connector.class));
    let plugin = plugin.map_or("unknown", |descriptor| descriptor.alias);
    for task in &connector.tasks {
        // Two connectors may have one prefix; without their names their series would be one.
        let (of, id) = (&connector.status.name, task.id.to_string());
        let place = [("plugin", plugin), ("name", prefix), ("connector", of), ("task", &id)];
        let streaming = labels(&[&place[..], &[("context", "streaming")]].concat());
        let status = connector.status.tasks.iter().find(|status| status.id == task.id);
        let running = status.is_some_and(|status| status.state == State::Running);
        let waits = task.notes.iter().any(|(subject, _)| *subject == "reconnecting");
        let connected = f64::from(running && !waits);
        families.gauge(
            "debezium_metrics_Connected",
            "1 when connected to the database",
            &streaming,
            connected,
        );
        if let Some(ms) = task.behind_ms {
            let help = "How far behind the database. Units: ms";
            families.gauge(
                "debezium_metrics_MilliSecondsBehindSource",
                help,
                &streaming,
                ms as f64,
            );
        }
        let last = task.tables.iter().map(|table| table.last_event_ms).max().unwrap_or(0);
        if last > 0 {
            let help = "Since the last event. Units: ms";
            let since = (at_ms - last).max(0) as f64;
            families.gauge("debezium_metrics_MilliSecondsSinceLastEvent", help, &streaming, since);
        }
        let help = "Events since the task started";
        families.counter(
            "debezium_metrics_TotalNumberOfEventsSeen",
            help,
            &streaming,
            task.events as f64,
        );
        let help = "Events that could not be processed";
        families.counter(
            "debezium_metrics_NumberOfErroneousEvents",
            help,
            &streaming,
            task.dead_letters as f64,
        );
        snapshot(families, &place, &task.tables);
    }
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn snapshot(families: &mut Families, place: &[(&str, &str)], tables: &[TableSnapshot]) {
    let own = &labels(&[place, &[("context", "snapshot")]].concat());
    let unread = |table: &&TableSnapshot| {
        matches!(table.state, TableState::Pending | TableState::Snapshotting)
    };
    let remaining = tables.iter().filter(unread).count();
    let runs = tables.iter().any(|table| table.state == TableState::Snapshotting);
    families.gauge(
        "debezium_metrics_TotalTableCount",
        "Tables that are captured",
        own,
        tables.len() as f64,
    );
    families.gauge(
        "debezium_metrics_RemainingTableCount",
        "Tables still to be read",
        own,
        remaining as f64,
    );
    families.gauge(
        "debezium_metrics_SnapshotRunning",
        "1 while a snapshot is read",
        own,
        f64::from(runs),
    );
    let done = !tables.is_empty() && remaining == 0;
    families.gauge(
        "debezium_metrics_SnapshotCompleted",
        "1 when the snapshot is read",
        own,
        f64::from(done),
    );
    for table in tables {
        let of = [("context", "snapshot"), ("table", table.name.as_str())];
        let own = labels(&[place, &of].concat());
        let help = "Rows the snapshot has read";
        families.gauge("debezium_metrics_RowsScanned", help, &own, table.snapshot_rows as f64);
    }
}
