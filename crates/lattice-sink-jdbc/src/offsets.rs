//! Offsets in a table of the target, moved in the transaction that writes the rows.

use std::sync::Arc;

use lattice_core::{
    config::Config,
    connector::OffsetChange,
    error::{Error, Result},
};

use crate::{
    config::{Settings, Vendor},
    names::TableName,
    target::{Failure, Target},
    url::Dialect,
};

/// How far the target has come with a partition, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) next: i64,
    pub(crate) epoch: i64,
    /// The newest record's time. Units: ms.
    pub(crate) timestamp_ms: i64,
    /// Offsets below `next` that were refused, and may not be dead letters yet.
    pub(crate) refused: Vec<i64>,
}

/// Follows a person who has changed offsets; `None`: all are forgotten.
///
/// Errors: as the target's statements.
pub(crate) async fn alter(
    name: &str,
    config: &Config,
    vendor: Vendor,
    changes: Option<Vec<OffsetChange>>,
) -> Result<()> {
    let settings = Settings::from_config(config, vendor)?;
    let Some(table) = &settings.offsets else { return Ok(()) };
    let offsets = Offsets::new(settings.address.dialect(), table, name);
    let mut target = Target::connect(&settings).await?;
    offsets.make(&mut target).await?;
    let changes = match changes {
        Some(changes) => changes,
        None => {
            let known = offsets.read(&mut target).await?;
            known.into_iter().map(|stored| (stored.topic, stored.partition, None)).collect()
        }
    };
    for (topic, partition, next) in changes {
        offsets.alter(&mut target, &topic, partition, next).await?;
    }
    Ok(())
}

/// The table of offsets, for one connector.
pub(crate) struct Offsets {
    dialect: Dialect,
    table: String,
    connector: String,
}

impl Offsets {
    /// `table`: as configured, perhaps with a schema.
    pub(crate) fn new(dialect: Dialect, table: &str, connector: &str) -> Self {
        let name = match table.split_once('.') {
            Some((schema, name)) if dialect != Dialect::Sqlite => {
                TableName { schema: Some(schema.to_owned()), name: name.to_owned() }
            }
            _ => TableName { schema: None, name: table.to_owned() },
        };
        Self { dialect, table: dialect.table(&name), connector: dialect.literal(connector) }
    }

    /// Makes the table if there is none.
    pub(crate) async fn make(&self, target: &mut Target) -> Result<()> {
        // Two names and a number are a key in every database.
        let (name, text) = match self.dialect {
            Dialect::Mysql => {
                ("varchar(249) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "longtext")
            }
            Dialect::Postgres | Dialect::Sqlite => ("text", "text"),
        };
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {} (connector {name} NOT NULL, topic {name} NOT NULL, \
             {} int NOT NULL, next_offset bigint NOT NULL, epoch bigint NOT NULL, timestamp_ms bigint NOT NULL, \
             refused {text} NOT NULL, PRIMARY KEY (connector, topic, {}))",
            self.table,
            self.partition(),
            self.partition()
        );
        if self.read(target).await.is_ok() {
            return Ok(()); // a user who may not create tables may use one that is there
        }
        target.execute(&sql).await.map(drop).map_err(|failure| {
            let error = Error::from(failure);
            Error::new(error.kind(), format!("make the table of offsets {}", self.table))
                .with_source(error)
                .with_remedy(format!("let the user create tables, or create it: {sql}"))
        })
    }

    fn partition(&self) -> String {
        self.dialect.quoted("partition")
    }

    /// All that is known of the connector's partitions.
    pub(crate) async fn read(&self, target: &mut Target) -> Result<Vec<Stored>> {
        let sql = format!(
            "SELECT topic, {}, next_offset, epoch, timestamp_ms, refused FROM {} WHERE connector = {}",
            self.partition(),
            self.table,
            self.connector
        );
        let rows = target.query(&sql).await?;
        rows.iter().map(|row| self.stored(row)).collect()
    }

    fn stored(&self, row: &[Option<String>]) -> Result<Stored> {
        let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let number = |at: usize| {
            text(at).parse::<i64>().map_err(|_| {
                Error::fatal(format!(
                    "the table of offsets {} has no number where one must be",
                    self.table
                ))
                .with_remedy(
                    "was it changed by hand? Put the row right, or delete it to start anew",
                )
            })
        };
        let refused = text(5).split(',').filter(|word| !word.is_empty());
        Ok(Stored {
            topic: Arc::from(text(0)),
            partition: i32::try_from(number(1)?).unwrap_or(i32::MAX),
            next: number(2)?,
            epoch: number(3)?,
            timestamp_ms: number(4)?,
            refused: refused.filter_map(|word| word.parse().ok()).collect(),
        })
    }

    fn place(&self, topic: &str, partition: i32) -> String {
        format!(
            "connector = {} AND topic = {} AND {} = {partition}",
            self.connector,
            self.dialect.literal(topic),
            self.partition()
        )
    }

    /// Takes a partition over: from now on only this epoch may move it. Gives what is known of it.
    ///
    /// Errors: as statements.
    pub(crate) async fn claim(
        &self,
        target: &mut Target,
        topic: &Arc<str>,
        partition: i32,
    ) -> Result<Stored> {
        let place = self.place(topic, partition);
        let sql = format!("UPDATE {} SET epoch = epoch + 1 WHERE {place}", self.table);
        if target.execute(&sql).await? == 0 {
            let insert = format!(
                "INSERT INTO {} (connector, topic, {}, next_offset, epoch, timestamp_ms, refused) \
                 VALUES ({}, {}, {partition}, 0, 1, {}, '')",
                self.table,
                self.partition(),
                self.connector,
                self.dialect.literal(topic),
                i64::MIN + 1,
            );
            target.execute(&insert).await?;
        }
        let all = self.read(target).await?;
        let found = all.into_iter().find(|one| one.topic == *topic && one.partition == partition);
        found.ok_or_else(|| Error::transient(format!("the offset of {topic}-{partition} vanished")))
    }

    /// Moves an offset, within the transaction that writes the rows.
    ///
    /// Errors: `Transient` when another task has taken the partition over; it has the say now.
    pub(crate) async fn store(&self, target: &mut Target, stored: &Stored) -> Result<(), Failure> {
        let refused: Vec<String> = stored.refused.iter().map(i64::to_string).collect();
        let sql = format!(
            "UPDATE {} SET next_offset = {}, timestamp_ms = {}, refused = '{}' WHERE {} AND epoch = {}",
            self.table,
            stored.next,
            stored.timestamp_ms,
            refused.join(","),
            self.place(&stored.topic, stored.partition),
            stored.epoch
        );
        if target.execute(&sql).await? == 1 {
            return Ok(());
        }
        Err(Failure::Other(
            Error::transient(format!(
                "another task has taken {}-{} over in the table of offsets",
                stored.topic, stored.partition
            ))
            .with_remedy(
                "if two workers or connectors of one name write this target, stop one of them",
            ),
        ))
    }

    /// Sets an offset by hand, or forgets it.
    async fn alter(
        &self,
        target: &mut Target,
        topic: &Arc<str>,
        partition: i32,
        next: Option<i64>,
    ) -> Result<()> {
        let place = self.place(topic, partition);
        let Some(next) = next else {
            target.execute(&format!("DELETE FROM {} WHERE {place}", self.table)).await?;
            return Ok(());
        };
        self.claim(target, topic, partition).await?;
        let sql = format!(
            "UPDATE {} SET next_offset = {next}, timestamp_ms = {}, refused = '' WHERE {place}",
            self.table,
            i64::MIN + 1
        );
        target.execute(&sql).await?;
        Ok(())
    }
}
