//! What the real Debezium writes, and what Lattice writes: the cases of `tests/parity/debezium`, record by record.
//! `cargo x parity debezium --record` runs the real one anew.

use std::{path::Path, time::Duration};

use lattice_log::{
    EmbeddedLog, EmbeddedOptions, Log, RecordBatchReader, RecordView, TopicPartition,
};
use lattice_testkit::{
    LatticeProcess, PostgresDatabase,
    parity::corpus::{Capture, Meanings, Raw, Recorded, Run, Theme},
    service, wait_until,
};

/// How long a phase of a run may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test for each theme.
macro_rules! themes {
    ($($name:ident),* $(,)?) => {
        const THEMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                theme(stringify!($name)).await;
            }
        )*
    };
}

themes! { changes, numbers, options, structure, times }

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity/debezium")
}

fn file(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

async fn theme(name: &str) {
    let theme = Theme::read(name, &file(&format!("{name}.json")));
    let recorded = Recorded::read(&file(&format!("{name}.recorded.json")));
    let mut lattice = LatticeProcess::start().await;
    let mut runs = Vec::new();
    for run in &theme.runs {
        runs.push((run, start(&lattice, &theme.server, run).await));
    }
    for (run, database) in &runs {
        go_through(&lattice, run, database).await;
    }
    lattice.stop().await;
    let raw = records(lattice.data()).await;
    let mut report = Vec::new();
    for (run, database) in &runs {
        let real =
            recorded.0.get(&run.name).unwrap_or_else(|| panic!("{} is not recorded", run.name));
        let ours = Capture::new(run, database.name(), &raw);
        report.extend(real.differs(&ours));
    }
    let report = Meanings::read(&file("../debezium.differences.json")).apply(name, report);
    assert!(report.is_empty(), "{} places differ:\n{}", report.len(), report.join("\n"));
}

/// The run's database and connector.
async fn start(lattice: &LatticeProcess, server: &str, run: &Run) -> PostgresDatabase {
    let database = PostgresDatabase::create(&service(server), &run.name).await;
    for statement in &run.before {
        database.execute(statement).await;
    }
    let config = run.config(database.connector_config(), database.name());
    lattice.create_connector(&run.name, config).await;
    database
}

/// The statements that are streamed, and all of it in the topics.
async fn go_through(lattice: &LatticeProcess, run: &Run, database: &PostgresDatabase) {
    let records = async |wanted: u64| {
        let what = format!("{wanted} records in {}", run.end_topic());
        let place = format!("/api/v1/topics/{}", run.end_topic());
        wait_until(PATIENCE, &what, async || {
            let answer = lattice.request("GET", &place, None).await;
            let partitions = answer.body["partitions"].as_array().cloned().unwrap_or_default();
            let there: u64 = partitions.iter().filter_map(|one| one["end_offset"].as_u64()).sum();
            if there < wanted {
                let states = lattice.states(&run.name).await;
                assert!(
                    !states.iter().any(|state| state == "FAILED"),
                    "{} failed:\n{}",
                    run.name,
                    lattice.log()
                );
            }
            there >= wanted
        })
        .await;
    };
    if !run.snapshot_only {
        let active = format!(
            "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{}' AND active",
            database.name()
        );
        wait_until(PATIENCE, "the slot to be read", async || database.value(&active).await == "1")
            .await;
        if run.end_records > 1 {
            records(1).await;
        }
        for statement in &run.after {
            database.execute(statement).await;
        }
    }
    records(run.end_records).await;
}

/// Every record of a log, topic by topic.
async fn records(data: &Path) -> Vec<Raw> {
    let log = EmbeddedLog::open(EmbeddedOptions::new(data)).expect("open the log");
    let mut found = Vec::new();
    for topic in log.topics().await.expect("list topics") {
        for partition in &topic.partitions {
            let mut next = partition.log_start_offset;
            while next < partition.end_offset {
                let from = TopicPartition::new(topic.name.clone(), partition.partition);
                let batches =
                    log.fetch(vec![(from, next)], 1 << 20, Duration::ZERO).await.expect("fetch");
                for batch in &batches {
                    next = batch.last_offset + 1;
                    let set = RecordBatchReader::new(&batch.bytes)
                        .and_then(|reader| reader.read())
                        .expect("read a batch");
                    found.extend(set.iter().map(|record| raw(&topic.name, record)));
                }
            }
        }
    }
    log.close().await.expect("close the log");
    found
}

fn raw(topic: &str, record: RecordView<'_>) -> Raw {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Raw {
        topic: topic.to_owned(),
        key: record.key().map(text),
        value: record.value().map(text),
        headers: record
            .headers()
            .map(|header| (text(header.key), header.value.map(text)))
            .collect(),
    }
}

#[test]
fn every_theme_is_a_test() {
    let mut found = 0;
    for entry in std::fs::read_dir(folder()).expect("the themes' folder") {
        let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".json").filter(|name| !name.contains('.')) else {
            continue;
        };
        assert!(THEMES.contains(&name), "the theme {name} is no test");
        found += 1;
    }
    assert_eq!(found, THEMES.len());
}

#[test]
fn every_meant_difference_is_told_in_the_documentation() {
    let page = file("../../../../../docs/compatibility.md");
    for meant in Meanings::read(&file("../debezium.differences.json")).0 {
        let name = &meant.name;
        assert!(page.contains(&format!("### {name}\n")), "docs/compatibility.md has no \"{name}\"");
        assert!(!meant.reason.is_empty(), "{name}: a reason");
    }
}
