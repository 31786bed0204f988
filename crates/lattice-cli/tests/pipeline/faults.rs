//! What goes wrong outside: connections, slots, passwords. Never a silent gap.

use lattice_testkit::TcpProxy;

use super::*;

const TABLE: &str = "create table public.t (id int primary key, v text)";

#[tokio::test]
async fn a_cut_connection_to_the_source_is_made_anew_and_nothing_is_lost() {
    let path = Path::usual("cut_source").await;
    path.source.execute(TABLE).await;
    let address = format!("{}:{}", path.source.host(), path.source.port());
    let proxy = TcpProxy::start(&address);
    let port = proxy.port().to_string();
    let config =
        path.source_config(&[("database.hostname", "127.0.0.1"), ("database.port", &port)]);
    path.lattice.create_connector("source", config).await;
    path.lattice.create_connector("sink", path.sink_config(&[])).await;
    for round in 0..4 {
        let insert = format!(
            "insert into public.t select {round} * 1000 + i, 'v' from generate_series(1, 500) i"
        );
        path.source.execute(&insert).await;
        proxy.cut();
    }
    path.equal("t").await;
    path.lattice.wait_running("source").await;
}

#[tokio::test]
async fn a_lost_answer_of_the_target_writes_no_row_twice() {
    let path = Path::usual("lost_answer").await;
    path.source.execute("create table public.k (v int)").await;
    path.source.execute(TABLE).await;
    let address = format!("{}:{}", path.target.host(), path.target.port());
    let proxy = TcpProxy::start(&address);
    let port = proxy.port().to_string();
    path.lattice.create_connector("source", path.source_config(&[])).await;
    let config = path.sink_config(&[("hostname", "127.0.0.1"), ("port", &port)]);
    path.lattice.create_connector("sink", config).await;
    // The table without a key has nothing that would hide a row written twice.
    for (round, table) in ["t", "k", "t", "k", "k"].into_iter().enumerate() {
        proxy.lose_next_answer();
        let values = if table == "t" { "i, 'v'" } else { "i" };
        let insert = format!(
            "insert into public.{table} select {values}
             from generate_series({round} * 1000 + 1, {round} * 1000 + 100) i"
        );
        path.source.execute(&insert).await;
        wait_until(PATIENCE, "an answer to be lost", async || proxy.answer_was_lost()).await;
    }
    path.equal("k").await;
    path.equal("t").await;
}

#[tokio::test]
async fn a_slot_that_was_dropped_stops_the_connector_with_the_ways_out() {
    let mut path = Path::usual("slot_dropped").await;
    path.source.execute(TABLE).await;
    path.connect().await;
    path.source.execute("insert into public.t values (1, 'a')").await;
    path.equal("t").await;
    path.lattice.stop().await;
    let slot = format!("s_{}", path.source.name());
    path.source.execute(&format!("select pg_drop_replication_slot('{slot}')")).await;
    path.source.execute("insert into public.t values (2, 'in the gap')").await;
    path.lattice.start_again().await;
    let cause = path.lattice.wait_failed("source").await;
    assert!(cause.contains(&slot), "names the slot: {cause}");
    assert!(cause.contains("snapshot"), "names a way out: {cause}");
    let count = path
        .source
        .value("select count(*) from pg_replication_slots where database = current_database()")
        .await;
    assert_eq!(count, "0", "no slot is made silently");
}

#[tokio::test]
async fn a_wrong_password_is_refused_with_key_reason_and_remedy_and_is_never_shown() {
    let path = Path::usual("wrong_password").await;
    let config = path.source_config(&[("database.password", "not-the-passw0rd")]);
    let config: serde_json::Map<String, serde_json::Value> =
        config.into_iter().map(|(key, value)| (key, value.into())).collect();
    let body = serde_json::json!({ "name": "source", "config": config });
    let answer = path.lattice.request("POST", "/connectors", Some(&body)).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    let message = answer.message();
    assert!(message.contains("password authentication failed"), "{message}");
    assert!(
        message.contains("database.password") || message.contains("database.user"),
        "{message}"
    );
    assert!(
        !message.contains("not-the-passw0rd") && !path.lattice.log().contains("not-the-passw0rd")
    );
}
