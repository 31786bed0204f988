//! Log levels that can be changed while the server runs; the binary installs the subscriber.

/// Sets and tells levels by target (`root` is everything).
pub trait LogLevels: Send + Sync {
    /// Targets that have a level of their own, `root` first.
    fn levels(&self) -> Vec<(String, String)>;

    /// Sets a target's level (`ERROR`, `WARN`, `INFO`, `DEBUG`, `TRACE`, `OFF`).
    ///
    /// Errors: the level is none of these.
    fn set(&self, target: &str, level: &str) -> Result<(), String>;
}
