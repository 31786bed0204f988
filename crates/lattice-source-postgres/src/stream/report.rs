//! Tells the server how far we are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use tokio::{io::AsyncWriteExt, sync::Notify};

use crate::connection::WriteHalf;

/// Between two messages at least: a position for every batch would be more work than use.
const GAP: Duration = Duration::from_millis(50);

/// Between the Unix epoch and 2000-01-01. Units: µs.
pub(super) const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;

/// Sends the position at every interval, and whenever it is woken. Ends when the socket does; the
/// reader then says why.
pub(super) async fn run(
    mut write: WriteHalf,
    interval: Duration,
    received: Arc<AtomicU64>,
    confirmed: Arc<AtomicU64>,
    wake: Arc<Notify>,
) {
    loop {
        let _ = tokio::time::timeout(interval, wake.notified()).await;
        let confirmed = confirmed.load(Ordering::Acquire);
        let received = received.load(Ordering::Acquire).max(confirmed);
        let message = status(received, confirmed, now_us());
        if write.write_all(&message).await.is_err() || write.flush().await.is_err() {
            return;
        }
        tokio::time::sleep(GAP).await;
    }
}

/// A standby status update inside `CopyData`.
fn status(received: u64, confirmed: u64, clock_us: i64) -> [u8; 39] {
    let mut message = [0; 39];
    message[0] = b'd';
    message[1..5].copy_from_slice(&38_u32.to_be_bytes());
    message[5] = b'r';
    message[6..14].copy_from_slice(&received.to_be_bytes());
    message[14..22].copy_from_slice(&confirmed.to_be_bytes());
    message[22..30].copy_from_slice(&confirmed.to_be_bytes());
    message[30..38].copy_from_slice(&(clock_us - POSTGRES_EPOCH_US).to_be_bytes());
    message
}

/// Units: µs since the Unix epoch.
pub(super) fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
