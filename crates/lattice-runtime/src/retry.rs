//! What happens after an error: decided here, by its kind, and nowhere else.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use lattice_core::error::{Error, ErrorKind};

/// How transient errors are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(30) }
    }
}

/// What a task does about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Close, wait, open again.
    Retry(Duration),
    /// FAILED until a person acts.
    Fail,
}

/// Decides. `attempt`: how many failed in a row before this one; `limit`: how many may, `None`:
/// any number.
pub(crate) fn decide(
    error: &Error,
    attempt: u32,
    limit: Option<u32>,
    backoff: Backoff,
) -> Decision {
    match error.kind() {
        ErrorKind::Transient if limit.is_none_or(|limit| attempt < limit) => {
            Decision::Retry(delay(attempt, backoff))
        }
        ErrorKind::Transient
        | ErrorKind::Config
        | ErrorKind::Auth
        | ErrorKind::Data
        | ErrorKind::Schema
        | ErrorKind::Fatal => Decision::Fail,
    }
}

/// Whether an error is one record's own, so that `errors.tolerance` speaks of it. Anything else
/// would hit the next record too, and must not send a whole table to the dead letters.
pub(crate) fn is_of_record(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Data | ErrorKind::Schema => true,
        ErrorKind::Config | ErrorKind::Transient | ErrorKind::Auth | ErrorKind::Fatal => false,
    }
}

/// Doubles with every attempt; between half and all of it, so that many tasks that lost the same
/// server do not come back at the same moment.
pub(crate) fn delay(attempt: u32, backoff: Backoff) -> Duration {
    let full = backoff.first.saturating_mul(1 << attempt.min(20)).min(backoff.longest);
    // Two hashers of the standard library are never seeded alike: random enough for jitter.
    #[allow(clippy::cast_precision_loss)] // a fraction needs no more than 32 bits
    let fraction = (RandomState::new().hash_one(attempt) >> 32) as f64 / f64::from(u32::MAX);
    full.mul_f64(0.5 + fraction / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transient_errors_are_retried_and_only_as_often_as_allowed() {
        let backoff = Backoff::default();
        let transient = Error::transient("x");
        assert!(matches!(decide(&transient, 1000, None, backoff), Decision::Retry(_)));
        assert!(matches!(decide(&transient, 2, Some(3), backoff), Decision::Retry(_)));
        assert_eq!(decide(&transient, 3, Some(3), backoff), Decision::Fail);
        for kind in [
            ErrorKind::Config,
            ErrorKind::Auth,
            ErrorKind::Data,
            ErrorKind::Schema,
            ErrorKind::Fatal,
        ] {
            assert_eq!(decide(&Error::new(kind, "x"), 0, None, backoff), Decision::Fail);
        }
    }

    #[test]
    fn the_wait_doubles_up_to_the_longest() {
        let backoff = Backoff::default();
        for (attempt, full_ms) in [(0, 100), (3, 800), (9, 30_000), (500, 30_000)] {
            let wait = delay(attempt, backoff).as_millis();
            assert!(wait >= full_ms / 2 && wait <= full_ms, "{attempt}: {wait}");
        }
    }
}
