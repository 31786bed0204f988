//! A record of a topic, in bytes: what encoding makes and the log keeps.

/// A record header: key and value, both as bytes on the wire (`None`: a null value).
pub type Header<'a> = (&'a str, Option<&'a [u8]>);

/// A record, borrowed.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordRef<'a> {
    /// The key; `None`: null.
    pub key: Option<&'a [u8]>,
    /// The value; `None`: null, a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: &'a [Header<'a>],
    /// Units: ms since the Unix epoch.
    pub timestamp_ms: i64,
}

/// Takes records as they are encoded. The log's batch builder is one.
pub trait RecordSink {
    /// Resolves a topic once, so that records need no lookup by name. Handles stay valid for
    /// the sink's life.
    fn topic(&mut self, name: &str) -> TopicHandle;

    /// Appends a record. `partition: None`: by the key's hash as Java's default partitioner
    /// (murmur2), or any when there is no key.
    fn append(&mut self, topic: TopicHandle, partition: Option<i32>, record: RecordRef<'_>);
}

/// A topic that was resolved by [`RecordSink::topic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TopicHandle(pub u32);
