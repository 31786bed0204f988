//! Positions: where a source resumes.

use serde_json::{Map, Value};

/// Kafka Connect's source partition and offset: two small JSON objects that only the source
/// itself can read. Everyone else keeps, shows and hands them back unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Position {
    /// Which stream, for example `{"server":"shop"}`.
    pub partition: Map<String, Value>,
    /// Where in it, for example `{"lsn":24023128,"txId":555}`.
    pub offset: Map<String, Value>,
}
