//! States and transitions, Kafka Connect's.

use lattice_runtime::{InitialState, State, WorkerError};

use crate::fixture::{Ground, House, Row, TOPIC, config, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_created_source_writes_its_rows_and_its_topic_becomes_active() {
    let (_ground, house) = House::new().await;
    house.script.add_good(0..25);
    house.create_source(&[]).await;
    house.log_holds(TOPIC, 25).await;
    let status = house.task_becomes("shop", State::Running).await;
    assert_eq!((status.state, status.worker_id.as_str()), (State::Running, "127.0.0.1:8083"));
    assert_eq!(house.worker.topics("shop").await, [TOPIC]);
    assert_eq!(house.worker.connectors().await, ["shop"]);
    let info = house.worker.connector("shop").await.unwrap();
    assert_eq!((info.tasks, info.kind.as_str()), (vec![0], "source"));
    assert_eq!(info.config.get("name"), Some("shop"));
    house.worker.reset_topics("shop").await.unwrap();
    assert!(house.worker.topics("shop").await.is_empty());
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_connector_of_the_same_name_is_a_conflict() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    let pairs = [("connector.class", "scripted"), ("topic.prefix", "shop")];
    let again = house.worker.create("shop", config(&pairs), InitialState::Running).await;
    let error = again.unwrap_err();
    assert_eq!((error.status(), error.to_string()), (409, "Connector shop already exists".into()));
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_connector_is_not_found() {
    let (_ground, house) = House::new().await;
    for error in [
        house.worker.connector("x").await.unwrap_err(),
        house.worker.status("x").await.unwrap_err(),
        house.worker.pause("x").await.unwrap_err(),
        house.worker.delete("x").await.unwrap_err(),
        house.worker.restart("x", true, false).await.unwrap_err(),
        house.worker.offsets("x").await.unwrap_err(),
    ] {
        assert!(matches!(error, WorkerError::NotFound(_)), "{error}");
    }
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_source_keeps_its_task_and_moves_nothing_until_it_is_resumed() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    house.worker.pause("shop").await.unwrap();
    let status = house.task_becomes("shop", State::Paused).await;
    assert_eq!(status.state, State::Paused);
    house.script.add_good(5..10);
    assert_eq!(house.records(TOPIC).await, 5);
    house.worker.resume("shop").await.unwrap();
    house.log_holds(TOPIC, 10).await;
    assert_eq!(house.script.opens(), [0], "the task was never opened again");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_source_has_no_tasks_and_goes_on_where_it_was() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    house.worker.stop("shop").await.unwrap();
    let status = house.status("shop").await;
    assert_eq!((status.state, status.tasks.len()), (State::Stopped, 0));
    assert_eq!(house.script.open.load(std::sync::atomic::Ordering::SeqCst), 0);
    house.script.add_good(5..8);
    house.worker.resume("shop").await.unwrap();
    house.log_holds(TOPIC, 8).await;
    assert_eq!(house.script.opens(), [0, 5]);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_worker_goes_on_where_it_was_with_the_states_people_asked_for() {
    let ground = Ground::new();
    let (script, target) = (Default::default(), Default::default());
    let house = ground.open(&script, &target).await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..15);
    house.target_has(&(0..15).collect::<Vec<_>>()).await;
    house.worker.pause("copy").await.unwrap();
    house.leave().await;

    script.add_good(15..20);
    let house = ground.open(&script, &target).await;
    house.log_holds(TOPIC, 20).await;
    assert_eq!(script.opens(), [0, 15]);
    assert_eq!(house.worker.topics("shop").await, [TOPIC]);
    house.task_becomes("copy", State::Paused).await;
    house.worker.resume("copy").await.unwrap();
    house.target_has(&(0..20).collect::<Vec<_>>()).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_connector_is_gone_also_after_a_restart_and_its_offsets_stay() {
    let ground = Ground::new();
    let (script, target) = (Default::default(), Default::default());
    let house = ground.open(&script, &target).await;
    house.create_source(&[]).await;
    script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    house.worker.delete("shop").await.unwrap();
    assert!(house.worker.connectors().await.is_empty());
    house.leave().await;

    let house = ground.open(&script, &target).await;
    assert!(house.worker.connectors().await.is_empty());
    house.create_source(&[]).await;
    eventually("the source is opened again", async || (script.opens().len() == 2).then_some(()))
        .await;
    assert_eq!(script.opens(), [0, 5]);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_configuration_restarts_the_tasks_and_a_masked_secret_keeps_its_value() {
    let (_ground, house) = House::new().await;
    house.create_source(&[("script.password", "hunter2")]).await;
    let info = house.worker.connector("shop").await.unwrap();
    let mut shown = house.worker.masked(&info.config);
    assert_eq!(shown.get("script.password"), Some("********"));
    shown.set("script.port", "7");
    let (created, info) = house.worker.put_config("shop", shown).await.unwrap();
    assert!(!created);
    assert_eq!(info.config.get("script.password"), Some("hunter2"));
    assert_eq!(info.config.get("script.port"), Some("7"));
    let changes = vec![("script.port".to_owned(), None)];
    let info = house.worker.patch_config("shop", changes).await.unwrap();
    assert_eq!(info.config.get("script.port"), None);
    house.script.add([Row::Good(1, "good")]);
    house.log_holds(TOPIC, 1).await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_created_stopped_or_paused_does_not_run() {
    let (_ground, house) = House::new().await;
    let pairs = [("connector.class", "scripted"), ("topic.prefix", "shop")];
    house.worker.create("shop", config(&pairs), InitialState::Stopped).await.unwrap();
    assert_eq!(house.status("shop").await.state, State::Stopped);
    assert!(house.script.opens().is_empty());
    house.worker.pause("shop").await.unwrap();
    house.task_becomes("shop", State::Paused).await;
    assert!(house.script.opens().is_empty());
    house.leave().await;
}
