//! Transformations on both ends, with the real databases.

use serde_json::{Value, json};

use super::{PATIENCE, Path};
use lattice_testkit::wait_until;

const UNWRAP: &str = "io.debezium.transforms.ExtractNewRecordState";
const ROUTER: &str = "org.apache.kafka.connect.transforms.RegexRouter";
const REPLACE: &str = "org.apache.kafka.connect.transforms.ReplaceField$Value";
const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

async fn records(path: &Path, topic: &str) -> Vec<Value> {
    let place = format!("/api/v1/topics/{topic}/messages?from=earliest&limit=100");
    let answer = path.lattice.request("GET", &place, None).await;
    answer.body["records"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_writes_flat_rows_to_the_topic_it_is_told() {
    let path = Path::usual("transforms_source").await;
    path.source
        .execute(
            "CREATE TABLE public.orders (id int PRIMARY KEY, name text, secret text);
             INSERT INTO public.orders VALUES (0, 'there before', 'z')",
        )
        .await;
    let source = path.source_config(&[
        ("transforms", "flat,hide,route"),
        ("transforms.flat.type", UNWRAP),
        ("transforms.flat.add.fields", "op,source.table:from"),
        ("transforms.flat.delete.tombstone.handling.mode", "rewrite-with-tombstone"),
        ("transforms.hide.type", REPLACE),
        ("transforms.hide.exclude", "secret"),
        ("transforms.hide.renames", "name:title"),
        ("transforms.hide.predicate", "alive"),
        ("transforms.hide.negate", "true"),
        ("predicates", "alive"),
        (
            "predicates.alive.type",
            "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        ),
        ("transforms.route.type", ROUTER),
        ("transforms.route.regex", r"p\.public\.(.*)"),
        ("transforms.route.replacement", "flat-$1"),
    ]);
    path.lattice.create_connector("source", source).await;
    let count = async || records(&path, "flat-orders").await.len();
    wait_until(PATIENCE, "the snapshot", async || count().await == 1).await;
    path.source.execute("INSERT INTO public.orders VALUES (1, 'a', 'x'), (2, 'b', 'y')").await;
    path.source.execute("UPDATE public.orders SET name = 'c' WHERE id = 1").await;
    path.source.execute("DELETE FROM public.orders WHERE id = 2").await;
    wait_until(PATIENCE, "five more flat records", async || count().await >= 6).await;
    let values: Vec<Value> = records(&path, "flat-orders")
        .await
        .iter()
        .map(|record| record["value"]["data"].clone())
        .collect();
    let row = |id: i64, title: Value, deleted: &str, op: &str| json!({"id": id, "title": title, "__deleted": deleted, "__op": op, "__from": "orders"});
    assert_eq!(values[0], row(0, json!("there before"), "false", "r"));
    assert_eq!(values[1], row(1, json!("a"), "false", "c"));
    assert_eq!(values[3], row(1, json!("c"), "false", "u"));
    assert_eq!(values[4], row(2, Value::Null, "true", "d"));
    assert_eq!(values[5], Value::Null, "the tombstone");
    let subjects = path.lattice.get("/registry/subjects").await;
    assert_eq!(subjects, json!(["flat-orders-key", "flat-orders-value"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_writes_transformed_rows_into_the_table_it_is_told() {
    let path = Path::usual("transforms_sink").await;
    path.source
        .execute(
            "CREATE TABLE public.orders (id int PRIMARY KEY, name text, secret text);
             INSERT INTO public.orders SELECT i, 'name ' || i, 'x' FROM generate_series(1, 50) i",
        )
        .await;
    path.lattice.create_connector("source", path.source_config(&[])).await;
    let sink = path.sink_config(&[
        ("transforms", "flat,hide,route"),
        ("transforms.flat.type", UNWRAP),
        ("transforms.flat.add.fields", "op"),
        ("transforms.hide.type", REPLACE),
        ("transforms.hide.exclude", "secret"),
        ("transforms.hide.renames", "name:title"),
        ("transforms.route.type", ROUTER),
        ("transforms.route.regex", r"p\.public\.(.*)"),
        ("transforms.route.replacement", "flat_$1"),
    ]);
    path.lattice.create_connector("sink", sink).await;
    wait_until(PATIENCE, "fifty rows", async || path.target.live_rows("flat_orders").await == 50)
        .await;
    path.source.execute("UPDATE public.orders SET name = 'new' WHERE id = 7").await;
    path.source.execute("DELETE FROM public.orders WHERE id = 8").await;
    wait_until(PATIENCE, "one row less", async || path.target.live_rows("flat_orders").await == 49)
        .await;
    let title = path.target.value("SELECT title FROM flat_orders FINAL WHERE id = 7").await;
    assert_eq!(title, "new");
    let columns =
        path.target.value("SELECT count() FROM system.columns WHERE table = 'flat_orders' AND database = currentDatabase() AND name = 'secret'").await;
    assert_eq!(columns, "0", "the field that was left out became a column");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_transformed_is_kept_as_it_was() {
    let path = Path::usual("transforms_dead").await;
    path.source
        .execute(
            "CREATE TABLE public.orders (id int PRIMARY KEY, name text);
             INSERT INTO public.orders VALUES (1, 'a'), (2, 'b')",
        )
        .await;
    let converters = [
        ("key.converter", JSON),
        ("value.converter", JSON),
        ("value.converter.schemas.enable", "false"),
    ];
    path.lattice.create_connector("source", path.source_config(&converters)).await;
    let mut extra = vec![
        ("transforms", "route"),
        ("transforms.route.type", ROUTER),
        ("transforms.route.regex", "(.*)"),
        ("transforms.route.replacement", "$7"),
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", "dead"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ];
    extra.extend(converters);
    path.lattice.create_connector("sink", path.sink_config(&extra)).await;
    wait_until(PATIENCE, "two dead letters", async || records(&path, "dead").await.len() == 2)
        .await;
    let dead = records(&path, "dead").await;
    assert_eq!(
        dead[0]["value"]["data"]["after"],
        json!({"id": 1, "name": "a"}),
        "the original record"
    );
    let headers = dead[0]["headers"].to_string();
    for part in ["TRANSFORMATION", ROUTER, "p.public.orders", "no group 7"] {
        assert!(headers.contains(part), "{part} is not in {headers}");
    }
}
