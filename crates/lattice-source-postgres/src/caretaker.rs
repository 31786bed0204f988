//! Beside the stream, on a connection of its own: heartbeats that keep an idle slot moving, and
//! how much log the slot holds back.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use lattice_core::{Result, progress::Progress};

use crate::{
    config::Settings,
    connection::{Connection, Purpose, quote_literal, sqlstate},
    stream::HEARTBEAT_PREFIX,
};

/// How often the slot is looked at when heartbeats are off.
const LOOK: Duration = Duration::from_secs(10);

/// Runs until it is aborted. Trouble here never stops the task: the stream has its own.
pub(crate) async fn run(settings: Arc<Settings>, progress: Arc<Progress>) {
    let every = if settings.own_heartbeat.is_zero() { LOOK } else { settings.own_heartbeat };
    let mut connection = None;
    let mut allowed = !settings.own_heartbeat.is_zero();
    loop {
        tokio::time::sleep(every).await;
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open(&settings.target, Purpose::General).await {
                Ok(open) => open,
                Err(error) => {
                    tracing::debug!(error = error.chain(), "the caretaker cannot connect");
                    continue;
                }
            },
        };
        match round(&settings, &progress, &mut open, &mut allowed).await {
            Ok(()) => connection = Some(open),
            Err(error) => {
                tracing::debug!(error = error.chain(), "the caretaker lost its connection");
            }
        }
    }
}

async fn round(
    settings: &Settings,
    progress: &Progress,
    connection: &mut Connection,
    allowed: &mut bool,
) -> Result<()> {
    if *allowed && connection.version() >= 140_000 {
        let sql = format!("SELECT pg_logical_emit_message(false, '{HEARTBEAT_PREFIX}', '')");
        if let Err(error) = connection.query(&sql).await {
            // A replica (25006) or a missing right will not pass.
            *allowed = false;
            sqlstate(&error).ok_or_else(|| lattice_core::Error::transient("write a heartbeat"))?;
            let text = format!("no heartbeats: {}", error.chain());
            progress.note("heartbeat", Some(text));
        }
    }
    if let Some(sql) = &settings.heartbeat_query
        && let Err(error) = connection.query(sql).await
    {
        progress.note("heartbeat", Some(format!("heartbeat.action.query: {}", error.chain())));
    }
    let status = if connection.version() >= 130_000 { "wal_status" } else { "''" };
    let sql = format!(
        "SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() \
         ELSE pg_current_wal_lsn() END, restart_lsn)::bigint, {status} \
         FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
        quote_literal(&settings.slot)
    );
    let Some(row) = connection.query(&sql).await?.into_iter().next() else { return Ok(()) };
    let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
    let retained = text(0).parse().unwrap_or(0);
    progress.gauge("source_retained_wal_bytes").store(retained, Ordering::Relaxed);
    let note = matches!(text(1), "unreserved" | "lost").then(|| {
        format!(
            "the slot \"{}\" is {}: the server removes log that it needs; raise \
             max_slot_wal_keep_size, or let the connector catch up",
            settings.slot,
            text(1)
        )
    });
    progress.note("slot", note);
    Ok(())
}
