//! kill -9 in every phase.

use super::*;

const ROWS: u64 = 100_000;

const TABLE: &str = "create table public.items (
    id bigint primary key, name text not null, amount numeric(12,2), at timestamptz not null)";

fn fill(rows: u64) -> String {
    format!(
        "insert into public.items select i, 'item ' || i, (i % 1000) / 4.0,
         timestamptz '2024-05-01 12:00:00+00' + i * interval '1 second'
         from generate_series(1, {rows}) i"
    )
}

/// One round of changes of every kind, spread over the table; `round` makes rounds differ.
fn change(round: u64) -> String {
    format!(
        "update public.items set name = 'round {round} of ' || id where id % 97 = {round};
         delete from public.items where id % 101 = {round};
         insert into public.items select {ROWS} + {round} * 1000 + i, 'new', {round}, now()
         from generate_series(1, 500) i;
         update public.items set id = -id where id = {round} * 7 + 3;"
    )
}

#[tokio::test]
async fn a_snapshot_killed_midway_goes_on_and_source_and_target_end_equal() {
    let mut path = Path::usual("crash_snapshot").await;
    path.source.execute(TABLE).await;
    path.source.execute(&fill(ROWS)).await;
    // Small chunks, so that the kill falls between some of them.
    let config =
        path.source_config(&[("snapshot.max.threads", "2"), ("snapshot.fetch.size", "2000")]);
    path.lattice.create_connector("source", config).await;
    path.lattice.create_connector("sink", path.sink_config(&[])).await;
    for round in 1..=3 {
        path.wait_records("items", round * ROWS / 8).await;
        path.lattice.kill();
        path.source.execute(&change(round)).await;
        path.lattice.start_again().await;
    }
    path.source.execute(&change(4)).await;
    path.equal("items").await;
}

#[tokio::test]
async fn streaming_killed_again_and_again_loses_and_invents_nothing() {
    let mut path = Path::usual("crash_streaming").await;
    path.source.execute(TABLE).await;
    path.source.execute(&fill(2000)).await;
    path.connect().await;
    path.equal("items").await;
    for round in 0..6 {
        let before = path.records("items").await;
        let transaction = format!("begin; {} {} commit;", change(2 * round), change(2 * round + 1));
        path.source.execute(&transaction).await;
        path.wait_records("items", before + 1).await;
        path.lattice.kill();
        path.lattice.start_again().await;
    }
    path.equal("items").await;
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_huge_transaction_goes_on_inside_it() {
    let mut path = Path::usual("crash_transaction").await;
    path.source.execute(TABLE).await;
    // Its arrival tells that the snapshot was taken: what follows can only come from the stream.
    path.source.execute("insert into public.items values (0, 'first', 0, now())").await;
    path.connect().await;
    path.equal("items").await;
    path.source.execute(&fill(ROWS)).await;
    path.wait_records("items", ROWS / 10).await;
    assert!(path.records("items").await < ROWS, "the kill falls into the transaction");
    path.lattice.kill();
    path.lattice.start_again().await;
    path.equal("items").await;
    // The position lies inside the transaction: rows that were durable are not captured again.
    assert_eq!(path.records("items").await, ROWS + 1, "every row once in the topic");
}

#[tokio::test]
async fn a_kill_while_the_sink_writes_repeats_rows_and_changes_nothing() {
    let mut path = Path::usual("crash_sink").await;
    path.source.execute(TABLE).await;
    path.source.execute(&fill(ROWS)).await;
    path.lattice.create_connector("source", path.source_config(&[])).await;
    path.wait_records("items", ROWS).await;
    path.lattice.create_connector("sink", path.sink_config(&[])).await;
    for round in 0..4 {
        let some = (round + 1) * 1000;
        wait_until(PATIENCE, "rows in the target", async || {
            path.target.live_rows("p.public.items").await >= some
        })
        .await;
        path.lattice.kill();
        path.source.execute(&change(round)).await;
        path.lattice.start_again().await;
    }
    path.equal("items").await;
}

#[tokio::test]
async fn a_stop_by_sigterm_is_clean_and_what_follows_arrives() {
    let mut path = Path::usual("graceful_stop").await;
    path.source.execute(TABLE).await;
    path.source.execute(&fill(5000)).await;
    path.connect().await;
    path.equal("items").await;
    assert_eq!(path.lattice.stop().await, Some(0), "exit status after SIGTERM");
    path.source.execute(&change(1)).await;
    path.lattice.start_again().await;
    path.equal("items").await;
}
