//! Positions of source connectors, in Kafka Connect's own records: a connector that ran there
//! goes on here where it was, and the other way round.
//!
//! Key: the JSON array `["<connector>",{<partition>}]`; value: the JSON object of the offset, or
//! null. Keys count by their bytes, so those that somebody else wrote are used again as they are.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use lattice_core::{Error, Result, position::Position};
use serde_json::{Map, Value};

use super::table::{Change, Table};
use crate::log::{EncodedBatch, SourceOffset, SourceOffsetChange};

/// A source partition and the key that stands for it.
type Key = (Map<String, Value>, Vec<u8>);

/// Positions in a compacted topic.
pub(crate) struct SourceOffsets {
    table: Table,
    /// Keys in use, by connector.
    keys: Mutex<HashMap<String, Vec<Key>>>,
}

impl SourceOffsets {
    pub(crate) fn new(table: Table) -> Self {
        Self { table, keys: Mutex::default() }
    }

    pub(crate) async fn read(&self, connector: &str) -> Result<Vec<Position>> {
        let choose = |key: &[u8], value: &bytes::Bytes| {
            let partition = partition_of(key, connector)?;
            let offset = serde_json::from_slice(value).map_err(|error| {
                Error::fatal(format!(
                    "the stored offset of connector {connector} is no JSON object"
                ))
                .with_source(error)
                .with_remedy("set it anew: PATCH /connectors/…/offsets while it is stopped")
            });
            Some(offset.map(|offset| Position { partition, offset }))
        };
        self.table.read(choose).await?.into_iter().collect()
    }

    pub(crate) async fn set(
        &self,
        connector: &str,
        offsets: Vec<SourceOffsetChange>,
    ) -> Result<()> {
        let mut changes = Vec::with_capacity(offsets.len());
        for (partition, offset) in offsets {
            changes.push(self.change(connector, &partition, offset.as_ref()).await?);
        }
        self.table.write(&changes).await
    }

    /// The batch that moves a position, to be written behind the records that it covers.
    pub(crate) async fn batch(&self, offset: &SourceOffset) -> Result<EncodedBatch> {
        let SourceOffset { connector, position } = offset;
        let change = self.change(connector, &position.partition, Some(&position.offset)).await?;
        self.table.batch(&change)
    }

    async fn change(
        &self,
        connector: &str,
        partition: &Map<String, Value>,
        offset: Option<&Map<String, Value>>,
    ) -> Result<Change> {
        let key = self.key(connector, partition).await?;
        let value = offset.map(serde_json::to_vec).transpose().map_err(unwritable)?;
        Ok((key, value))
    }

    async fn key(&self, connector: &str, partition: &Map<String, Value>) -> Result<Vec<u8>> {
        if let Some(key) = self.known(connector, partition) {
            return Ok(key);
        }
        let choose = |key: &[u8], _: &bytes::Bytes| {
            partition_of(key, connector).map(|partition| (partition, key.to_vec()))
        };
        let mut found = self.table.read(choose).await?;
        if !found.iter().any(|(known, _)| known == partition) {
            let key = serde_json::to_vec(&(connector, partition)).map_err(unwritable)?;
            found.push((partition.clone(), key));
        }
        self.keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(connector.to_owned(), found);
        self.known(connector, partition)
            .ok_or_else(|| Error::fatal(format!("find the key of connector {connector}'s offset")))
    }

    fn known(&self, connector: &str, partition: &Map<String, Value>) -> Option<Vec<u8>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, key) = keys.get(connector)?.iter().find(|(known, _)| known == partition)?;
        Some(key.clone())
    }
}

fn partition_of(key: &[u8], connector: &str) -> Option<Map<String, Value>> {
    let (name, partition) = serde_json::from_slice::<(String, Map<String, Value>)>(key).ok()?;
    (name == connector).then_some(partition)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::fatal("write a source offset as JSON").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_kafka_connect() {
        let key = br#"["inventory",{"server":"dbserver1"}]"#;
        let partition = partition_of(key, "inventory").unwrap();
        assert_eq!(serde_json::to_vec(&("inventory", &partition)).unwrap(), key);
        assert_eq!(partition_of(key, "other"), None);
        assert_eq!(partition_of(b"not json", "inventory"), None);
    }
}
