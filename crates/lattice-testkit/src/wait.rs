//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

/// Between two looks at the condition. Short: a test is as slow as its waits.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `condition` holds.
///
/// Panics, naming `what`, when it does not hold within `deadline`.
pub async fn wait_until(deadline: Duration, what: &str, mut condition: impl AsyncFnMut() -> bool) {
    wait_for(deadline, what, async || condition().await.then_some(())).await;
}

/// Waits until `probe` gives a value, and returns it.
///
/// Panics, naming `what`, when it gives none within `deadline`. The probe that runs at the deadline may end.
pub async fn wait_for<T>(
    deadline: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(start.elapsed() < deadline, "waited {deadline:?} in vain for: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
