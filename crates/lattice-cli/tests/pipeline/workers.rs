//! Several workers that share connectors over a real Kafka broker.

use std::collections::BTreeSet;

use lattice_testkit::{
    ClickHouseDatabase, KafkaBroker, KafkaBrokerOptions, LatticeProcess, PostgresDatabase,
    TcpProxy, free_port, service, wait_until, wait_until_same_content,
};
use serde_json::Value;

use crate::{PATIENCE, Path};

/// The shortest session that Kafka's brokers take unless they are told otherwise.
const SESSION: &str = "6000";

/// For a broker that was told to take it.
const SHORT_SESSION: &str = "2000";

/// The names of these lie on an even and an odd lease: two workers have one each.
const SOURCE: &str = "source";
const SINK: &str = "to_clickhouse";

/// Workers of one group, and databases on both ends.
struct Workers {
    path: Path,
    others: Vec<LatticeProcess>,
    topic: String,
}

impl Workers {
    /// So many workers on the tests' broker.
    async fn start(name: &str, count: usize) -> Self {
        let kafka = service("LATTICE_TEST_KAFKA");
        Self::start_between(name, count, &kafka, &kafka, SESSION).await
    }

    /// The first worker reaches Kafka by one address, the others by another one.
    async fn start_between(
        name: &str,
        count: usize,
        first: &str,
        others: &str,
        session: &str,
    ) -> Self {
        let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), name).await;
        let target = ClickHouseDatabase::create(&service("LATTICE_TEST_CH"), name).await;
        let group = format!("g-{}", source.name());
        let worker = async |kafka: &str| {
            let arguments = [
                ["--bootstrap-servers", kafka],
                ["--group-id", &group],
                ["--session-timeout-ms", session],
                ["--heartbeat-interval-ms", "300"],
            ];
            LatticeProcess::start_with(&arguments.concat(), &[]).await
        };
        let lattice = worker(first).await;
        let mut rest = Vec::new();
        for _ in 1..count {
            rest.push(worker(others).await);
        }
        let topic = format!("{}.public.orders", source.name());
        let workers = Self { path: Path { source, target, lattice }, others: rest, topic };
        workers.wait_shared(count).await;
        workers.path.source.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)").await;
        workers
    }

    fn all(&self) -> Vec<&LatticeProcess> {
        std::iter::once(&self.path.lattice).chain(&self.others).collect()
    }

    /// Creates source and sink, each on another worker.
    async fn connect(&self) {
        let prefix = self.path.source.name();
        let source = self.path.source_config(&[("topic.prefix", prefix)]);
        self.path.lattice.create_connector(SOURCE, source).await;
        let regex = format!(r"{prefix}\.public\..*");
        let sink = self.path.sink_config(&[("topics.regex", &regex)]);
        let last = self.others.last().unwrap_or(&self.path.lattice);
        last.create_connector(SINK, sink).await;
        for worker in self.all() {
            worker.wait_running(SOURCE).await;
            worker.wait_running(SINK).await;
        }
    }

    /// Waits until so many workers hold all leases.
    async fn wait_shared(&self, count: usize) {
        for worker in self.all() {
            wait_shared(worker, count).await;
        }
    }

    async fn insert(&self, from: u32, to: u32) {
        let insert = format!(
            "INSERT INTO orders SELECT n, 'note ' || n FROM generate_series({from}, {to}) n;
             UPDATE orders SET note = note || '+' WHERE id % 5 = 0;
             DELETE FROM orders WHERE id % 11 = 0"
        );
        self.path.source.execute(&insert).await;
    }

    async fn equal(&self) {
        let Path { source, target, .. } = &self.path;
        wait_until_same_content(PATIENCE, source, "public.orders", target, &self.topic).await;
    }
}

fn id(worker: &LatticeProcess) -> String {
    worker.url().trim_start_matches("http://").to_owned()
}

/// Waits until a worker knows of so many, between which all leases are shared out.
async fn wait_shared(worker: &LatticeProcess, count: usize) {
    wait_until(PATIENCE, &format!("{count} workers to share the leases"), async || {
        let told = worker.get("/api/v1/workers").await;
        let workers = told["workers"].as_array().cloned().unwrap_or_default();
        let leases: Vec<i64> = workers
            .iter()
            .flat_map(|one| one["leases"].as_array().cloned().unwrap_or_default())
            .filter_map(|lease| lease.as_i64())
            .collect();
        let distinct: BTreeSet<i64> = leases.iter().copied().collect();
        workers.len() == count && leases.len() == 32 && distinct.len() == 32
    })
    .await;
}

/// The worker that a status names for the connector's task.
async fn runs_on(worker: &LatticeProcess, connector: &str) -> String {
    let status = worker.get(&format!("/connectors/{connector}/status")).await;
    status["tasks"][0]["worker_id"].as_str().unwrap_or_default().to_owned()
}

async fn wait_runs_on(worker: &LatticeProcess, connector: &str, wanted: &str) {
    wait_until(PATIENCE, &format!("{connector} to run on {wanted}"), async || {
        runs_on(worker, connector).await == wanted
            && worker.states(connector).await.iter().all(|state| state == "RUNNING")
    })
    .await;
}

#[tokio::test]
async fn workers_share_tasks_and_each_answers_for_all() {
    let workers = Workers::start("share", 3).await;
    workers.connect().await;
    workers.insert(1, 300).await;
    workers.equal().await;
    let [first, second, third] = workers.all()[..] else { panic!("three workers") };
    // The same answers everywhere, of one worker that runs the task.
    let paths = ["/connectors", "/connectors/source", "/connectors/to_clickhouse/config"];
    for path in paths.iter().chain(&["/connectors/source/status", "/connectors/source/offsets"]) {
        let what = format!("equal answers to {path}");
        wait_until(PATIENCE, &what, async || {
            let answers = [first.get(path).await, second.get(path).await, third.get(path).await];
            answers[0] == answers[1] && answers[1] == answers[2]
        })
        .await;
    }
    let owner = runs_on(first, SOURCE).await;
    let others = workers.all().into_iter().filter(|worker| id(worker) != owner);
    let other = others.into_iter().next().expect("a worker that does not run the source");
    for path in ["/connectors/source/tasks/0/restart", "/connectors/source/restart"] {
        let answer = other.request("POST", path, None).await;
        assert_eq!(answer.status, 204, "{path}: {:#}", answer.body);
    }
    let answer = other.request("POST", "/connectors/source/restart?includeTasks=true", None).await;
    assert_eq!((answer.status, &answer.body["tasks"][0]["state"]), (202, &"RESTARTING".into()));
    let answer = other.request("POST", "/connectors/source/tasks/7/restart", None).await;
    assert_eq!(answer.status, 404, "{:#}", answer.body);
    other.put("/connectors/source/pause", &Value::Null).await;
    for worker in workers.all() {
        worker.wait_state(SOURCE, "PAUSED").await;
    }
    other.put("/connectors/source/stop", &Value::Null).await;
    for worker in workers.all() {
        worker.wait_state(SOURCE, "STOPPED").await;
    }
    workers.insert(301, 600).await;
    third.put("/connectors/source/resume", &Value::Null).await;
    workers.equal().await;
    second.delete("/connectors/to_clickhouse").await;
    for worker in workers.all() {
        let gone =
            async || worker.request("GET", "/connectors/to_clickhouse", None).await.status == 404;
        wait_until(PATIENCE, "the sink to be gone everywhere", gone).await;
    }
}

#[tokio::test]
async fn a_killed_workers_tasks_run_elsewhere() {
    let mut workers = Workers::start("killed", 2).await;
    workers.connect().await;
    workers.insert(1, 300).await;
    workers.equal().await;
    let (first, second) = (id(&workers.path.lattice), id(&workers.others[0]));
    for connector in [SOURCE, SINK] {
        assert!([&first, &second].contains(&&runs_on(&workers.others[0], connector).await));
    }
    workers.path.lattice.kill();
    workers.insert(301, 600).await;
    for connector in [SOURCE, SINK] {
        wait_runs_on(&workers.others[0], connector, &second).await;
    }
    workers.equal().await;
    // The one that comes back gets its part.
    workers.path.lattice.start_again().await;
    workers.wait_shared(2).await;
    workers.insert(601, 900).await;
    workers.equal().await;
}

#[tokio::test]
async fn a_rolling_restart_brings_every_task_back_to_its_worker() {
    let mut workers = Workers::start("rolling", 2).await;
    workers.connect().await;
    workers.insert(1, 300).await;
    let places = async |workers: &Workers| {
        let mut places = Vec::new();
        for connector in [SOURCE, SINK] {
            places.push(runs_on(&workers.others[0], connector).await);
        }
        places
    };
    let before = places(&workers).await;
    assert_eq!(workers.path.lattice.stop().await, Some(0));
    workers.insert(301, 400).await;
    workers.path.lattice.start_again().await;
    workers.wait_shared(2).await;
    assert_eq!(workers.others[0].stop().await, Some(0));
    workers.insert(401, 500).await;
    workers.others[0].start_again().await;
    workers.wait_shared(2).await;
    workers.equal().await;
    for (connector, place) in [SOURCE, SINK].iter().zip(&before) {
        wait_runs_on(&workers.path.lattice, connector, place).await;
    }
    // Each worker let tasks go only when it ended itself.
    for worker in workers.all() {
        assert!(!worker.log().contains("tasks go elsewhere"), "{}", worker.log());
    }
}

/// A broker of the test's own, with a second address that leads through the proxy.
async fn broker_with_proxy() -> (KafkaBroker, TcpProxy) {
    let port = free_port();
    let proxy = TcpProxy::start(&format!("127.0.0.1:{port}"));
    let properties = vec![
        format!(
            "listeners=PLAINTEXT://127.0.0.1:{{port}},CUT://127.0.0.1:{port},\
             CONTROLLER://127.0.0.1:{{controller}}"
        ),
        format!(
            "advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},CUT://127.0.0.1:{}",
            proxy.port()
        ),
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CUT:PLAINTEXT,CONTROLLER:PLAINTEXT"
            .to_owned(),
        "inter.broker.listener.name=PLAINTEXT".to_owned(),
        format!("group.min.session.timeout.ms={SHORT_SESSION}"),
    ];
    let options = KafkaBrokerOptions { properties, ..KafkaBrokerOptions::default() };
    (KafkaBroker::start_with(options).await, proxy)
}

#[tokio::test]
async fn a_worker_cut_off_from_kafka_ends_its_tasks_before_another_runs_them() {
    let (broker, proxy) = broker_with_proxy().await;
    let through = format!("127.0.0.1:{}", proxy.port());
    let address = broker.address();
    let workers = Workers::start_between("cut_off", 2, &through, &address, SHORT_SESSION).await;
    workers.connect().await;
    workers.insert(1, 300).await;
    workers.equal().await;
    let (cut, other) = (&workers.path.lattice, &workers.others[0]);
    let (cut_id, other_id) = (id(cut), id(other));
    let on_cut: Vec<&str> = {
        let mut on_cut = Vec::new();
        for connector in [SOURCE, SINK] {
            if runs_on(other, connector).await == cut_id {
                on_cut.push(connector);
            }
        }
        on_cut
    };
    assert!(!on_cut.is_empty(), "the worker that is cut off runs something");
    proxy.freeze(true);
    workers.insert(301, 600).await;
    for connector in on_cut {
        wait_until(PATIENCE, &format!("{connector} to run on {other_id}"), async || {
            let taken = runs_on(other, connector).await == other_id;
            let held = cut.states(connector).await.get(1).is_some_and(|state| state == "RUNNING");
            assert!(!(taken && held), "{connector} runs on both workers");
            taken
        })
        .await;
    }
    let told = cut.get("/api/v1/workers").await;
    assert!(told["fenced"].is_string(), "{told:#}");
    workers.equal().await;
    proxy.freeze(false);
    workers.wait_shared(2).await;
    workers.insert(601, 900).await;
    workers.equal().await;
}
