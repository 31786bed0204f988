//! Log levels that can be changed while the server runs; the binary installs the subscriber.

/// A target with a level of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLevel {
    /// The target; `root` is everything.
    pub target: String,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG`, `TRACE` or `OFF`.
    pub level: String,
    /// When it was last changed. Units: ms since the Unix epoch; `None`: not since the start.
    pub last_modified: Option<i64>,
}

/// Sets and tells levels by target.
pub trait LogLevels: Send + Sync {
    /// Targets that have a level of their own, `root` first.
    fn levels(&self) -> Vec<LogLevel>;

    /// Sets the level of a target and of those below it; gives the targets whose level changed. Besides the words of
    /// [`LogLevel`], Log4j's `FATAL` and `ALL` mean `ERROR` and `TRACE`.
    ///
    /// Errors: the level is none of these.
    fn set(&self, target: &str, level: &str) -> Result<Vec<String>, String>;
}
