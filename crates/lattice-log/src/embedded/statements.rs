//! The file's tables.

/// All tables of format version 1.
pub(crate) const SCHEMA: &str = "
CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    partitions INTEGER NOT NULL,
    cleanup_policy TEXT NOT NULL,
    retention_ms INTEGER,
    retention_bytes INTEGER
) STRICT;
-- Offsets outlive the batches that retention deletes.
CREATE TABLE partitions (
    topic INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    log_start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    base_offset INTEGER NOT NULL,
    last_offset INTEGER NOT NULL,
    records INTEGER NOT NULL,
    max_timestamp INTEGER NOT NULL,
    size INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
-- Covers what start-up and retention ask, so that neither reads the blobs.
CREATE UNIQUE INDEX batches_by_offset ON batches
    (topic, partition, last_offset, base_offset, records, max_timestamp, size);
CREATE TABLE consumer_offsets (
    consumer_group TEXT NOT NULL,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (consumer_group, topic, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE source_offsets (
    connector TEXT NOT NULL,
    source_partition TEXT NOT NULL,
    source_offset TEXT NOT NULL,
    PRIMARY KEY (connector, source_partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE documents (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;
";
