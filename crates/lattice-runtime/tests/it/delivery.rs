//! From the log into a target.

use std::{sync::atomic::Ordering, time::Duration};

use lattice_log::{Log, TopicPartition};
use lattice_runtime::State;

use crate::fixture::{House, Row, TOPIC, eventually};

async fn committed(house: &House) -> Vec<(TopicPartition, i64)> {
    house.log.committed_offsets("connect-copy").await.unwrap()
}

async fn committed_becomes(house: &House, offset: i64) {
    eventually(&format!("offset {offset} is committed"), async || {
        let offsets = committed(house).await;
        offsets.iter().any(|(_, committed)| *committed == offset).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_go_through_the_log_into_the_target_and_offsets_follow() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..40);
    house.target_has(&(0..40).collect::<Vec<_>>()).await;
    committed_becomes(&house, 40).await;
    let snapshot = house.worker.snapshot().await;
    let copy = &snapshot.connectors[0];
    assert_eq!(copy.status.name, "copy");
    assert_eq!((copy.behind_records, copy.behind_ms), (Some(0), Some(0)));
    assert_eq!(copy.tasks[0].behind_records[TOPIC], 0);
    assert_eq!(copy.topics, [TOPIC]);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_wait_for_a_sink_that_holds_its_rows() {
    let (_ground, house) = House::new().await;
    house.target.holds.store(true, Ordering::SeqCst);
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..10);
    house.target_has(&(0..10).collect::<Vec<_>>()).await;
    committed_becomes(&house, 10).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_offset_moves_before_its_rows_are_durable() {
    let (_ground, house) = House::new().await;
    house.target.holds.store(true, Ordering::SeqCst);
    house.target.patient.store(true, Ordering::SeqCst);
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    let since = std::time::Instant::now();
    for id in 0..10 {
        house.script.add_good(id..id + 1);
        eventually("the sink holds the row", async || {
            let given = house.target.given.load(Ordering::SeqCst);
            (given > usize::try_from(id).unwrap()).then_some(())
        })
        .await;
    }
    eventually("offsets could have been flushed several times", async || {
        (since.elapsed() > Duration::from_millis(100)).then_some(())
    })
    .await;
    assert!(committed(&house).await.is_empty());
    assert!(house.target.ids().is_empty());
    // A pause has the sink write what it holds.
    house.worker.pause("copy").await.unwrap();
    house.target_has(&(0..10).collect::<Vec<_>>()).await;
    committed_becomes(&house, 10).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_went_away_gets_everything_when_it_is_back() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..10);
    house.target_has(&(0..10).collect::<Vec<_>>()).await;
    house.target.away.store(true, Ordering::SeqCst);
    house.script.add_good(10..30);
    let note = eventually("the status says that the sink reconnects", async || {
        let snapshot = house.worker.snapshot().await;
        let notes = &snapshot.connectors[0].tasks[0].notes;
        notes.iter().find(|(topic, _)| *topic == "reconnecting").map(|(_, text)| text.clone())
    })
    .await;
    assert!(note.starts_with("reconnecting (the target is away), retry "), "{note}");
    assert_eq!(house.status("copy").await.tasks[0].state, State::Running);
    house.target.away.store(false, Ordering::SeqCst);
    house.target_has(&(0..30).collect::<Vec<_>>()).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_row_fails_the_task_with_offsets_just_before_it() {
    let (_ground, house) = House::new().await;
    house.target.refuse(Some("bad"));
    house.create_source(&[]).await;
    house.script.add([Row::Good(0, "good"), Row::Good(1, "bad"), Row::Good(2, "good")]);
    house.log_holds(TOPIC, 3).await;
    house.create_sink(&[]).await;
    let status = house.task_becomes("copy", State::Failed).await;
    let trace = status.tasks[0].trace.clone().unwrap();
    assert!(trace.contains("record 1 of topic shop.public.orders, partition 0"), "{trace}");
    assert!(trace.contains("the target refuses this name"), "{trace}");
    committed_becomes(&house, 1).await;

    house.target.refuse(None);
    house.worker.restart_task("copy", 0).await.unwrap();
    committed_becomes(&house, 3).await;
    assert!(house.target.ids().contains(&1));
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tolerated_rows_go_to_the_dead_letters_as_they_were_with_their_cause() {
    let (_ground, house) = House::new().await;
    house.target.refuse(Some("bad"));
    house.create_source(&[]).await;
    house
        .create_sink(&[
            ("errors.tolerance", "all"),
            ("errors.deadletterqueue.topic.name", "dead"),
            ("errors.deadletterqueue.context.headers.enable", "true"),
        ])
        .await;
    house.script.add([Row::Good(0, "good"), Row::Good(1, "bad"), Row::Good(2, "good")]);
    house.target_has(&[0, 2]).await;
    committed_becomes(&house, 3).await;
    house.log_holds("dead", 1).await;
    let letter = house.first_record("dead").await;
    for (name, value) in [
        ("topic", TOPIC),
        ("partition", "0"),
        ("offset", "1"),
        ("connector.name", "copy"),
        ("task.id", "0"),
        ("stage", "TASK_PUT"),
        ("exception.message", "the target refuses this name"),
    ] {
        assert_eq!(letter.header(&format!("__connect.errors.{name}")), Some(value));
    }
    let original = house.record_at(TOPIC, 1).await;
    assert_eq!((letter.key, letter.value), (original.key, original.value));
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_no_record_go_to_the_dead_letters_too() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..2);
    house.log_holds(TOPIC, 2).await;
    house.append_raw(TOPIC, b"no key", b"this is not avro").await;
    house.script.add_good(2..4);
    house.log_holds(TOPIC, 5).await;
    house
        .create_sink(&[
            ("errors.tolerance", "all"),
            ("errors.deadletterqueue.topic.name", "dead"),
            ("errors.deadletterqueue.context.headers.enable", "true"),
        ])
        .await;
    house.target_has(&[0, 1, 2, 3]).await;
    house.log_holds("dead", 1).await;
    let letter = house.first_record("dead").await;
    assert_eq!(letter.header("__connect.errors.stage"), Some("VALUE_CONVERTER"));
    assert_eq!(letter.value.as_deref(), Some(&b"this is not avro"[..]));
    committed_becomes(&house, 5).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_match_later_are_taken_up_while_the_sink_runs() {
    let (_ground, house) = House::new().await;
    let pairs = [("connector.class", "collecting"), ("topics.regex", "shop\\.public\\..*")];
    house.create("copy", &pairs).await;
    house.task_becomes("copy", State::Running).await;
    house.create_source(&[]).await;
    house.script.add_good(0..10);
    house.target_has(&(0..10).collect::<Vec<_>>()).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_share_the_partitions_and_order_within_each_is_kept() {
    let (_ground, house) = House::new().await;
    house.create_source(&[("topic.creation.default.partitions", "4")]).await;
    house.create_sink(&[("tasks.max", "3")]).await;
    house.script.add_good(0..200);
    eventually("all rows arrived", async || (house.target.ids().len() >= 200).then_some(())).await;
    let rows = house.target.rows();
    assert_eq!(rows.len(), 200);
    let mut seen = std::collections::BTreeMap::new();
    for row in rows {
        let next = seen.entry(row.partition).or_insert(0);
        assert_eq!(row.offset, *next, "partition {}", row.partition);
        *next += 1;
    }
    assert_eq!(seen.len(), 4, "all partitions are used");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_sink_writes_what_it_holds_and_takes_nothing_more() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..5);
    house.target_has(&[0, 1, 2, 3, 4]).await;
    house.worker.pause("copy").await.unwrap();
    house.task_becomes("copy", State::Paused).await;
    house.script.add_good(5..8);
    house.log_holds(TOPIC, 8).await;
    assert_eq!(house.target.ids().len(), 5);
    let snapshot = house.worker.snapshot().await;
    assert_eq!(snapshot.connectors[0].behind_records, Some(3));
    house.worker.resume("copy").await.unwrap();
    house.target_has(&(0..8).collect::<Vec<_>>()).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sink_that_wants_only_new_records_begins_at_the_end() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    house.create_sink(&[("consumer.override.auto.offset.reset", "latest")]).await;
    eventually("the sink has its partition", async || {
        let snapshot = house.worker.snapshot().await;
        let task = &snapshot.connectors[0].tasks[0];
        task.behind_records.get(TOPIC).copied()
    })
    .await;
    house.script.add_good(5..8);
    house.target_has(&[5, 6, 7]).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_was_made_anew_is_read_from_its_beginning_and_said_so() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..10);
    house.target_has(&(0..10).collect::<Vec<_>>()).await;
    house.log.delete_topic(TOPIC).await.unwrap();
    house.script.add_good(10..15);
    house.target_has(&(0..15).collect::<Vec<_>>()).await;
    let snapshot = house.worker.snapshot().await;
    let notes = &snapshot.connectors[0].tasks[0].notes;
    assert!(notes.iter().any(|(topic, _)| *topic == "offsets"), "{notes:?}");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_rows_arrive_like_avro_rows() {
    let (_ground, house) = House::new().await;
    let json = "org.apache.kafka.connect.json.JsonConverter";
    let converters = [("key.converter", json), ("value.converter", json)];
    house.create_source(&converters).await;
    house.create_sink(&converters).await;
    house.script.add_good(0..20);
    house.target_has(&(0..20).collect::<Vec<_>>()).await;
    let record = house.first_record(TOPIC).await;
    assert_eq!(record.value.unwrap().first(), Some(&b'{'));
    house.leave().await;
}
