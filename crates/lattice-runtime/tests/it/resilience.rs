//! Errors, panics, a full disk.

use std::sync::atomic::Ordering;

use lattice_core::{Error, ErrorKind};
use lattice_runtime::State;

use crate::fixture::{Ground, House, Row, TOPIC, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transient_errors_are_retried_from_the_durable_position_with_a_note() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    for _ in 0..3 {
        house.script.fail(Error::transient("the server went away"));
    }
    house.script.add_good(5..9);
    house.log_holds(TOPIC, 9).await;
    assert_eq!(house.script.opens(), [0, 5, 5, 5]);
    let snapshot = eventually("all is counted", async || {
        let snapshot = house.worker.snapshot().await;
        (snapshot.connectors[0].tasks[0].events == 9).then_some(snapshot)
    })
    .await;
    assert_eq!(snapshot.connectors[0].tasks[0].retries, 3);
    assert_eq!(snapshot.connectors[0].status.state, State::Running);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_end_when_the_configuration_says_so() {
    let (_ground, house) = House::new().await;
    for _ in 0..3 {
        house.script.fail(Error::transient("the server went away"));
    }
    house.create_source(&[("errors.max.retries", "2")]).await;
    let status = house.task_becomes("shop", State::Failed).await;
    assert_eq!(status.tasks[0].trace.as_deref(), Some("the server went away"));
    assert_eq!(house.script.opens().len(), 3);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_end_when_their_time_is_over() {
    let (_ground, house) = House::new().await;
    for _ in 0..9 {
        house.script.fail(Error::transient("the server went away"));
    }
    // The wait before the second try alone takes longer.
    house.create_source(&[("errors.retry.timeout", "1")]).await;
    let status = house.task_becomes("shop", State::Failed).await;
    assert_eq!(status.tasks[0].trace.as_deref(), Some("the server went away"));
    assert!(house.script.opens().len() < 9, "{:?}", house.script.opens());
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_reference_stands_for_stands_in_no_status() {
    let (_ground, house) = House::new().await;
    house.script.fail(Error::new(ErrorKind::Auth, "the server refuses \"resolved\""));
    house.create_source(&[("script.password", "${env:LATTICE_IT}")]).await;
    let status = house.task_becomes("shop", State::Failed).await;
    assert_eq!(status.tasks[0].trace.as_deref(), Some("the server refuses \"********\""));
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_is_restarted_when_a_provider_gives_another_value() {
    let (_ground, house) = House::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secrets.properties");
    std::fs::write(&file, "password=first").unwrap();
    let reference = format!("${{file:{}:password}}", file.display());
    house.create_source(&[("script.password", &reference)]).await;
    let other = [("config.action.reload", "none"), ("script.password", &reference)];
    let pairs = [("connector.class", "scripted"), ("topic.prefix", "calm")];
    house.create("calm", &[&pairs[..], &other].concat()).await;
    house.script.add_good(0..3);
    house.log_holds(TOPIC, 3).await;
    let opened = house.script.opens().len();
    std::fs::write(&file, "password=second").unwrap();
    eventually("the connector is opened again", async || {
        (house.script.opens().len() > opened).then_some(())
    })
    .await;
    assert_eq!(house.script.opens().len(), opened + 1, "only the one that follows its provider");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_errors_fail_the_task_with_their_chain_until_it_is_restarted() {
    let (_ground, house) = House::new().await;
    let error = Error::new(ErrorKind::Auth, "log in").with_source(std::io::Error::other("denied"));
    house.script.fail(error.with_remedy("grant it"));
    house.create_source(&[]).await;
    let status = house.task_becomes("shop", State::Failed).await;
    assert_eq!(status.state, State::Running, "a failed task does not fail its connector");
    assert_eq!(status.tasks[0].trace.as_deref(), Some("log in: denied (remedy: grant it)"));

    house.script.add_good(0..3);
    let answer = house.worker.restart("shop", true, true).await.unwrap();
    assert_eq!(answer.tasks[0].state, State::Restarting);
    house.log_holds(TOPIC, 3).await;
    house.task_becomes("shop", State::Running).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_fails_its_task_and_nothing_else() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.task_becomes("shop", State::Running).await;
    house.script.panic();
    let status = house.task_becomes("shop", State::Failed).await;
    let trace = status.tasks[0].trace.clone().unwrap();
    assert!(trace.contains("the script says panic"), "{trace}");
    house.script.add_good(0..3);
    house.worker.restart_task("shop", 0).await.unwrap();
    house.log_holds(TOPIC, 3).await;
    let unknown = house.worker.restart_task("shop", 9).await.unwrap_err();
    assert_eq!(unknown.to_string(), "Unknown task: shop-9");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_is_told_only_after_it_is_durable() {
    let (_ground, house) = House::new().await;
    house.script.add_good(0..500);
    house.create_source(&[]).await;
    eventually("all is committed", async || {
        (house.script.last_committed() == Some(500)).then_some(())
    })
    .await;
    assert!(house.script.told_too_early.lock().unwrap().is_empty());
    let committed = house.script.committed.lock().unwrap().clone();
    assert!(committed.is_sorted(), "{committed:?}");
    assert_eq!(house.records(TOPIC).await, 500);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_holds_the_source_and_loses_nothing() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    house.log.shut.store(true, Ordering::SeqCst);
    house.script.add_good(5..50);
    let note = eventually("the status says why nothing moves", async || {
        let snapshot = house.worker.snapshot().await;
        let notes = &snapshot.connectors[0].tasks[0].notes;
        notes.iter().find(|(topic, _)| *topic == "log").map(|(_, text)| text.clone())
    })
    .await;
    assert!(note.contains("the disk is full"), "{note}");
    assert_eq!(house.script.last_committed(), Some(5));
    house.log.shut.store(false, Ordering::SeqCst);
    house.log_holds(TOPIC, 50).await;
    eventually("the note is gone", async || {
        let snapshot = house.worker.snapshot().await;
        snapshot.connectors[0].tasks[0].notes.is_empty().then_some(())
    })
    .await;
    assert_eq!(house.script.opens(), [0], "the source was only held");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_that_wait_for_an_append_go_together_in_their_order() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..1);
    house.log_holds(TOPIC, 1).await;
    house.log.shut.store(true, Ordering::SeqCst);
    house.script.add_good(1..2001);
    eventually("all rows are pulled", async || {
        (house.script.pulled.load(Ordering::SeqCst) == 2001).then_some(())
    })
    .await;
    let before = house.log.appends.load(Ordering::SeqCst);
    house.log.shut.store(false, Ordering::SeqCst);
    house.log_holds(TOPIC, 2001).await;
    let appends = house.log.appends.load(Ordering::SeqCst) - before;
    assert!(appends <= 20, "200 batches took {appends} appends");
    house.create_sink(&[]).await;
    house.target_has(&(0..2001).collect::<Vec<_>>()).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_is_not_pulled_beyond_its_budget_and_one_huge_row_passes() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.task_becomes("shop", State::Running).await;
    house.log.shut.store(true, Ordering::SeqCst);
    house.script.add((0..60).map(|id| Row::Big(id, 1 << 20)));
    eventually("the source is held", async || {
        let snapshot = house.worker.snapshot().await;
        let held = snapshot.connectors[0].tasks[0].notes.iter().any(|(topic, _)| *topic == "log");
        (held && house.script.pulled.load(Ordering::SeqCst) >= 20).then_some(())
    })
    .await;
    // Ten rows of 1 MiB are in the budget of 16 MiB, ten more wait for room.
    assert_eq!(house.script.pulled.load(Ordering::SeqCst), 20);
    house.log.shut.store(false, Ordering::SeqCst);
    house.log_holds(TOPIC, 60).await;
    house.script.add([Row::Big(60, 20 << 20)]);
    house.log_holds(TOPIC, 61).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_loses_nothing_and_repeats_nothing_in_the_log() {
    let ground = Ground::new();
    let (script, target) = (Default::default(), Default::default());
    let house = ground.open(&script, &target).await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    script.add_good(0..3000);
    eventually("some rows are in the log", async || {
        (house.records(TOPIC).await > 100).then_some(())
    })
    .await;
    house.crash().await;

    let house = ground.open(&script, &target).await;
    house.log_holds(TOPIC, 3000).await;
    eventually("every row arrived", async || {
        let mut ids = target.ids();
        ids.sort_unstable();
        ids.dedup();
        (ids == (0..3000).collect::<Vec<_>>()).then_some(())
    })
    .await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_cannot_be_encoded_fails_the_task_and_names_its_table() {
    let (_ground, house) = House::new().await;
    house.script.add([Row::Good(1, "a"), Row::Poison(2), Row::Good(3, "c")]);
    house.create_source(&[]).await;
    let status = house.task_becomes("shop", State::Failed).await;
    let trace = status.tasks[0].trace.clone().unwrap();
    assert!(trace.contains("public.orders"), "{trace}");
    assert!(trace.contains("errors.tolerance"), "{trace}");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tolerated_row_is_kept_with_its_cause_and_the_others_pass() {
    let (_ground, house) = House::new().await;
    house.script.add([Row::Good(1, "a"), Row::Poison(2), Row::Good(3, "c")]);
    house.create_source(&[("errors.tolerance", "all")]).await;
    house.log_holds(TOPIC, 2).await;
    house.log_holds("lattice.errors.shop", 1).await;
    let snapshot = house.worker.snapshot().await;
    assert_eq!(snapshot.connectors[0].tasks[0].dead_letters, 1);
    let letter = house.first_record("lattice.errors.shop").await;
    assert_eq!(letter.header("__connect.errors.connector.name"), Some("shop"));
    assert_eq!(letter.header("lattice.table"), Some("public.orders"));
    assert_eq!(letter.value.as_deref(), Some(&2_i32.to_be_bytes()[..]));
    house.leave().await;
}
