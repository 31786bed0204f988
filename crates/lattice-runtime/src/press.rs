//! Encodes a source's batches into record batches, and says what cannot become one.

use std::sync::Arc;

use lattice_codec::Encoder;
use lattice_core::{
    config::Config,
    error::{Error, Result},
    event::SourceBatch,
};
use lattice_log::{BatchSetBuilder, Compression, RawBatch};

use crate::{
    dead_letter::{self, Tolerance, failure},
    overrides,
    report::Report,
};

/// Encodes into a builder; moves between threads as one.
pub(crate) struct Press {
    pub(crate) encoder: Encoder,
    pub(crate) builder: BatchSetBuilder,
    pub(crate) tolerance: Tolerance,
    pub(crate) report: Arc<Report>,
    pub(crate) connector: String,
    /// `max.request.size`; `None`: as much as the topic takes. Units: bytes.
    pub(crate) max_request: Option<usize>,
}

impl Press {
    /// Encodes all events; one that cannot be is a dead letter or fails the task.
    pub(crate) fn encode(&mut self, batch: &SourceBatch) -> Result<()> {
        let mut from = 0;
        while let Err(failed) = self.encoder.encode(batch, from, &mut self.builder) {
            let place = place(batch, failed.event);
            if !self.tolerance.takes(&failed.error) {
                return Err(failure(failed.error, format!("encode {place}")));
            }
            self.tolerance.note(&self.report, &place, &failed.error);
            dead_letter::write_change(
                &mut self.builder,
                &self.connector,
                self.report.id,
                batch,
                &failed,
            );
            from = failed.event + 1;
        }
        Ok(())
    }

    /// Refuses records that are larger than a request may be, before compression as Kafka's own producer does, or
    /// leaves them out where such errors are tolerated.
    pub(crate) fn sift(&self, batches: &mut Vec<RawBatch>) -> Result<()> {
        let Some(limit) = self.max_request else { return Ok(()) };
        for batch in batches.iter().filter(|batch| batch.len_bytes() > limit) {
            let error = Error::data(format!(
                "a record of {} bytes for topic {} is larger than \"{}\" ({limit})",
                batch.len_bytes(),
                batch.topic(),
                overrides::MAX_REQUEST,
            ))
            .with_remedy("raise it, or exclude the large column");
            if batch.records() > 1 || !self.tolerance.takes(&error) {
                return Err(error);
            }
            self.tolerance.note(&self.report, &format!("a record for {}", batch.topic()), &error);
        }
        batches.retain(|batch| batch.len_bytes() <= limit);
        Ok(())
    }
}

fn place(batch: &SourceBatch, event: usize) -> String {
    let change = batch.events.get(event);
    let table = change.and_then(|change| batch.tables.get(change.table as usize));
    let lsn = change.and_then(|change| change.origin.lsn);
    match (table, lsn) {
        (Some(table), Some(lsn)) => format!("a change of table {} at {lsn}", table.id),
        (Some(table), None) => format!("a change of table {}", table.id),
        (None, _) => "a record of the source's own".to_owned(),
    }
}

/// The connector's `compression.type`.
///
/// Errors: `Config`.
pub(crate) fn compression(config: &Config) -> Result<Compression> {
    let name = "producer.override.compression.type";
    match config.get(name).map(str::trim) {
        None => Ok(Compression::default()),
        Some(word) => Compression::parse(word).ok_or_else(|| {
            Error::config(format!("invalid value for configuration \"{name}\": \"{word}\""))
                .with_remedy("use none, gzip, snappy, lz4 or zstd")
        }),
    }
}
