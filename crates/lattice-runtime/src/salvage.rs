//! Keeps records that a sink could not take, as they stand in the log.

use std::sync::Arc;

use lattice_core::{
    connector::Rejected,
    error::Result,
    record::{RecordRef, RecordSink},
};
use lattice_log::{
    AppendRequest, BatchSetBuilder, Compression, Log, RawBatch, RecordBatchReader, RecordSet,
    TopicConfig, TopicPartition,
};

use crate::{
    dead_letter::{Context, OwnedHeader, Tolerance, borrowed, context_headers},
    report::Report,
    task::TaskRun,
};

/// Kafka Connect's stage of a failure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    /// The record's bytes are not what the converter reads.
    Decode,
    /// A transformation of this class cannot treat the record.
    Transform(&'static str),
    /// The target refused the row.
    Write,
}

/// Writes the dead letters of a sink task.
pub(crate) struct Salvage {
    log: Arc<dyn Log>,
    report: Arc<Report>,
    tolerance: Tolerance,
    connector: String,
    class: &'static str,
    topic_made: bool,
}

impl Salvage {
    pub(crate) fn new(run: &TaskRun, tolerance: Tolerance, class: &'static str) -> Self {
        Self {
            log: Arc::clone(&run.shared.log),
            report: Arc::clone(&run.report),
            tolerance,
            connector: run.config.connector.clone(),
            class,
            topic_made: false,
        }
    }

    /// Whether all these records become dead letters; otherwise the task fails.
    pub(crate) fn takes(&self, rejected: &[Rejected]) -> bool {
        rejected.iter().all(|record| self.tolerance.takes(&record.error))
    }

    /// Counts the records and copies them to the dead letter topic, if there is one. Returns when
    /// they are durable there.
    ///
    /// Errors: the log's own.
    pub(crate) async fn keep(&mut self, rejected: &[Rejected], stage: Stage) -> Result<()> {
        if let Some(topic) = self.tolerance.topic.clone() {
            if !self.topic_made {
                let config = TopicConfig { partitions: 1, ..TopicConfig::default() };
                self.log.create_topic(&topic, config).await?;
                self.topic_made = true;
            }
            let partitions = self.log.topic(&topic).await?.map_or(1, |info| info.config.partitions);
            let mut builder =
                BatchSetBuilder::new(Box::new(move |_| partitions), Compression::default());
            for record in rejected {
                self.copy(record, stage, &topic, &mut builder).await?;
            }
            let batches = builder.finish().into_iter().map(RawBatch::compress);
            let batches = batches.collect::<Result<_>>()?;
            self.log.append(AppendRequest { batches, source_offset: None }).await?;
        }
        for record in rejected {
            let place =
                format!("record {} of {}-{}", record.offset, record.topic, record.partition);
            self.tolerance.note(&self.report, &place, &record.error);
        }
        Ok(())
    }

    async fn copy(
        &self,
        rejected: &Rejected,
        stage: Stage,
        topic: &str,
        builder: &mut BatchSetBuilder,
    ) -> Result<()> {
        let Some(records) = read(&*self.log, rejected).await? else { return Ok(()) };
        let found = records.iter().find(|record| record.offset() == rejected.offset);
        let Some(record) = found else { return Ok(()) };
        let mut headers: Vec<OwnedHeader> = record
            .headers()
            .map(|header| {
                let name = String::from_utf8_lossy(header.key).into_owned();
                (name, header.value.map(<[u8]>::to_vec))
            })
            .collect();
        if self.tolerance.headers {
            headers.extend(context_headers(&Context {
                topic: &rejected.topic,
                partition: rejected.partition,
                offset: rejected.offset,
                connector: &self.connector,
                task: self.report.id,
                stage: match stage {
                    Stage::Decode => "VALUE_CONVERTER",
                    Stage::Transform(_) => "TRANSFORMATION",
                    Stage::Write => "TASK_PUT",
                },
                class: match stage {
                    Stage::Transform(class) => class,
                    Stage::Decode | Stage::Write => self.class,
                },
                error: &rejected.error,
            }));
        }
        let handle = builder.topic(topic);
        builder.append(
            handle,
            None,
            RecordRef {
                key: record.key(),
                value: record.value(),
                headers: &borrowed(&headers),
                timestamp_ms: record.timestamp_ms(),
            },
        );
        Ok(())
    }
}

/// The batch that holds a record; `None`: retention took it meanwhile.
async fn read(log: &dyn Log, rejected: &Rejected) -> Result<Option<RecordSet>> {
    let place =
        TopicPartition { topic: Arc::clone(&rejected.topic), partition: rejected.partition };
    let from = vec![(place, rejected.offset)];
    let batches = log.fetch(from, 1, std::time::Duration::ZERO).await?;
    batches.first().map(|batch| RecordBatchReader::new(&batch.bytes)?.read()).transpose()
}
