//! Tries again while it may help.

use std::time::{Duration, Instant};

use lattice_core::Error;

use super::fault::Fault;

const SHORTEST: Duration = Duration::from_millis(20);
const SOON: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// The attempts of one operation.
pub(crate) struct Retry {
    deadline: Instant,
    pause: Duration,
}

impl Retry {
    /// Attempts for so long.
    pub(crate) fn within(patience: Duration) -> Self {
        Self { deadline: Instant::now() + patience, pause: SHORTEST }
    }

    /// The same for what is usually over in a moment.
    pub(crate) fn soon(patience: Duration) -> Self {
        Self { pause: SOON, ..Self::within(patience) }
    }

    /// Waits a little when another attempt makes sense, else gives the error. `what`: what is
    /// attempted, with what.
    pub(crate) async fn after(
        &mut self,
        fault: Fault,
        what: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if !fault.may_pass() || Instant::now() + self.pause > self.deadline {
            return Err(fault.told(&what()));
        }
        tracing::debug!(?fault, "a request to Kafka is tried again");
        self.pause().await;
        Ok(())
    }

    /// Whether the time is used up.
    pub(crate) fn over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Waits, each time longer.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST);
    }
}
