//! Offsets as KIP-875 has them.

use lattice_runtime::{OffsetEntry, State};
use serde_json::{Map, Value, json};

use crate::fixture::{House, TOPIC, eventually};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn entry(partition: Value, offset: Option<Value>) -> OffsetEntry {
    OffsetEntry { partition: map(partition), offset: offset.map(map) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sources_offsets_are_shown_altered_and_reset() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..5);
    house.log_holds(TOPIC, 5).await;
    let server = || json!({ "server": "shop" });
    let shown = house.worker.offsets("shop").await.unwrap();
    assert_eq!(shown, [entry(server(), Some(json!({ "row": 5 })))]);

    let altered = vec![entry(server(), Some(json!({ "row": 3 })))];
    let running = house.worker.alter_offsets("shop", altered.clone()).await.unwrap_err();
    assert!(running.to_string().contains("must be in the STOPPED state"), "{running}");
    house.worker.stop("shop").await.unwrap();
    let wrong = vec![entry(server(), Some(json!({ "lsn": 3 })))];
    assert_eq!(house.worker.alter_offsets("shop", wrong).await.unwrap_err().status(), 400);
    assert_eq!(house.worker.alter_offsets("shop", Vec::new()).await.unwrap_err().status(), 400);
    house.worker.alter_offsets("shop", altered).await.unwrap();
    house.worker.resume("shop").await.unwrap();
    house.log_holds(TOPIC, 7).await;
    assert_eq!(house.script.opens(), [0, 3]);

    house.worker.stop("shop").await.unwrap();
    house.worker.reset_offsets("shop").await.unwrap();
    assert!(house.worker.offsets("shop").await.unwrap().is_empty());
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sinks_offsets_are_shown_altered_and_reset() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.create_sink(&[]).await;
    house.script.add_good(0..5);
    house.target_has(&[0, 1, 2, 3, 4]).await;
    house.worker.stop("copy").await.unwrap();
    assert_eq!(house.status("copy").await.state, State::Stopped);
    let place = || json!({ "kafka_topic": TOPIC, "kafka_partition": 0 });
    let shown = house.worker.offsets("copy").await.unwrap();
    assert_eq!(shown, [entry(place(), Some(json!({ "kafka_offset": 5 })))]);

    let text = json!({ "kafka_topic": TOPIC, "kafka_partition": "0" });
    let altered = vec![entry(text, Some(json!({ "kafka_offset": "3" })))];
    house.worker.alter_offsets("copy", altered).await.unwrap();
    house.worker.resume("copy").await.unwrap();
    house.target_has(&[0, 1, 2, 3, 4, 3, 4]).await;

    house.worker.stop("copy").await.unwrap();
    house.worker.alter_offsets("copy", vec![entry(place(), None)]).await.unwrap();
    assert!(house.worker.offsets("copy").await.unwrap().is_empty());
    house.worker.reset_offsets("copy").await.unwrap();
    house.worker.resume("copy").await.unwrap();
    eventually("all is delivered again", async || (house.target.ids().len() == 12).then_some(()))
        .await;
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_sink_offsets_are_refused() {
    let (_ground, house) = House::new().await;
    house.create_sink(&[]).await;
    house.worker.stop("copy").await.unwrap();
    for wrong in [
        entry(json!({ "topic": TOPIC }), None),
        entry(json!({ "kafka_topic": TOPIC, "kafka_partition": -1 }), None),
        entry(json!({ "kafka_topic": TOPIC, "kafka_partition": 0 }), Some(json!({ "x": 1 }))),
    ] {
        let error = house.worker.alter_offsets("copy", vec![wrong]).await.unwrap_err();
        assert_eq!(error.status(), 400, "{error}");
    }
    house.leave().await;
}
