//! Makes or checks what capture needs: publication, slot, and a position that still holds.

use lattice_core::{Error, ErrorKind, Result};

use crate::{
    config::{PublicationMode, Settings},
    connection::{Connection, LOST_SLOT, quote_ident, quote_literal},
    discover::{self, qualified},
    position::{Offset, format_lsn, parse_lsn},
};

/// The server's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Unique to the cluster of files.
    pub system_id: String,
    /// Grows at every promotion.
    pub timeline: u32,
    /// Where its log ends.
    pub wal_end: u64,
}

/// A replication slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its output plugin; empty: physical.
    pub plugin: String,
    /// Its database.
    pub database: String,
    /// Who uses it now.
    pub active_pid: Option<String>,
    /// The oldest log that it keeps; `None`: lost.
    pub restart_lsn: Option<u64>,
    /// Up to where it was confirmed.
    pub confirmed_lsn: Option<u64>,
    /// `reserved`, `extended`, `unreserved`, `lost`.
    pub wal_status: String,
}

/// A slot that was just made.
#[derive(Debug)]
pub struct NewSlot {
    /// The stream starts here.
    pub consistent_lsn: u64,
    /// The snapshot of that moment.
    pub snapshot: String,
}

/// Asks who the server is, on a replication connection.
///
/// Errors: the server's.
pub async fn identify(replication: &mut Connection) -> Result<Identity> {
    let row = replication.query_one("IDENTIFY_SYSTEM").await?;
    let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
    Ok(Identity {
        system_id: text(0).to_owned(),
        timeline: text(1).parse().unwrap_or(0),
        wal_end: parse_lsn(text(2)).unwrap_or(0),
    })
}

/// The slot of this name, if there is one.
///
/// Errors: the server's.
pub async fn slot(general: &mut Connection, name: &str) -> Result<Option<Slot>> {
    let status = if general.version() >= 130_000 { "wal_status" } else { "''" };
    let sql = format!(
        "SELECT plugin, database, active_pid, restart_lsn, confirmed_flush_lsn, {status} \
         FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
        quote_literal(name)
    );
    let row = general.query(&sql).await?.into_iter().next();
    Ok(row.map(|row| {
        let text = |index: usize| row.get(index).cloned().flatten();
        Slot {
            plugin: text(0).unwrap_or_default(),
            database: text(1).unwrap_or_default(),
            active_pid: text(2),
            restart_lsn: text(3).and_then(|lsn| parse_lsn(&lsn)),
            confirmed_lsn: text(4).and_then(|lsn| parse_lsn(&lsn)),
            wal_status: text(5).unwrap_or_default(),
        }
    }))
}

/// Checks that the server can be captured from.
///
/// Errors: `Config`, with the setting that mends it.
pub async fn check_server(general: &mut Connection) -> Result<()> {
    let sql = "SELECT current_setting('wal_level'), pg_is_in_recovery()";
    let row = general.query_one(sql).await?;
    let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
    capturable(general.version(), text(0), text(1) == "t")
}

fn capturable(version: u32, wal_level: &str, replica: bool) -> Result<()> {
    if version < 120_000 {
        return Err(Error::config("the server is older than PostgreSQL 12")
            .with_remedy("upgrade the server to PostgreSQL 12 or later"));
    }
    if replica && version < 160_000 {
        return Err(Error::config(
            "the server is a replica, which cannot decode its log before PostgreSQL 16",
        )
        .with_remedy("set \"database.hostname\" to the primary"));
    }
    if wal_level != "logical" {
        return Err(Error::config(format!("wal_level of the server is {wal_level}")).with_remedy(
            "ALTER SYSTEM SET wal_level = logical; then restart the server (RDS: set \
             rds.logical_replication = 1 in the parameter group and reboot)",
        ));
    }
    Ok(())
}

/// Makes the publication, or adds missing tables to it. Never takes anything out of it.
///
/// Errors: `Config` or `Auth`, with the SQL that mends it.
pub async fn publication(general: &mut Connection, settings: &Settings) -> Result<()> {
    let name = &settings.publication;
    let sql = format!(
        "SELECT puballtables FROM pg_catalog.pg_publication WHERE pubname = {}",
        quote_literal(name)
    );
    let found = general.query(&sql).await?.into_iter().next();
    let all_tables =
        found.as_ref().map(|row| row.first().cloned().flatten().as_deref() == Some("t"));
    let statement = match (settings.publication_mode, all_tables) {
        (PublicationMode::Filtered, Some(false)) => missing_tables(general, settings).await?,
        (_, Some(_)) => None,
        (PublicationMode::Disabled, None) => {
            let remedy = create(settings, &tables_clause(general, settings).await?);
            return Err(Error::config(format!("publication \"{name}\" does not exist"))
                .with_remedy(format!(
                    "{remedy}; or set \"publication.autocreate.mode\" to filtered"
                )));
        }
        (PublicationMode::AllTables, None) => Some(create(settings, " FOR ALL TABLES")),
        (PublicationMode::NoTables, None) => Some(create(settings, "")),
        (PublicationMode::Filtered, None) => {
            let clause = tables_clause(general, settings).await?;
            if clause.is_empty() {
                return Err(Error::config("no table matches \"table.include.list\"")
                    .with_remedy("the list has regular expressions on schema.table"));
            }
            Some(create(settings, &clause))
        }
    };
    let Some(statement) = statement else { return Ok(()) };
    let made = general.query(&statement).await;
    made.map(|_| ()).map_err(|error| {
        let remedy = format!(
            "as a superuser or the tables' owner: {statement}; or set \
             \"publication.autocreate.mode\" to filtered (needs ownership of the tables only)"
        );
        Error::new(error.kind(), format!("make publication \"{name}\""))
            .with_source(error)
            .with_remedy(remedy)
    })
}

fn create(settings: &Settings, clause: &str) -> String {
    let options = if settings.via_root { " WITH (publish_via_partition_root = true)" } else { "" };
    format!("CREATE PUBLICATION {}{clause}{options}", quote_ident(&settings.publication))
}

async fn tables_clause(general: &mut Connection, settings: &Settings) -> Result<String> {
    let tables = discover::captured(general, settings).await?;
    if tables.is_empty() {
        return Ok(String::new());
    }
    let names: Vec<String> =
        tables.iter().map(|(schema, table)| qualified(schema, table)).collect();
    Ok(format!(" FOR TABLE {}", names.join(", ")))
}

async fn missing_tables(general: &mut Connection, settings: &Settings) -> Result<Option<String>> {
    let published = discover::published(general, settings).await?;
    let root_sql = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
                    ON n.oid = c.relnamespace WHERE c.relkind = 'p' OR c.relispartition";
    // Parts and roots of partitioned tables stand for each other: they are left as they are.
    let partitioned = general.query(root_sql).await?;
    let is_partitioned = |schema: &str, table: &str| {
        partitioned.iter().any(|row| {
            row.first().and_then(Option::as_deref) == Some(schema)
                && row.get(1).and_then(Option::as_deref) == Some(table)
        })
    };
    let missing: Vec<String> = discover::captured(general, settings)
        .await?
        .iter()
        .filter(|(schema, table)| {
            !published.iter().any(|found| found.schema == *schema && found.table == *table)
                && !is_partitioned(schema, table)
        })
        .map(|(schema, table)| qualified(schema, table))
        .collect();
    let name = quote_ident(&settings.publication);
    Ok((!missing.is_empty())
        .then(|| format!("ALTER PUBLICATION {name} ADD TABLE {}", missing.join(", "))))
}

/// Makes the slot and exports its snapshot, which lives as long as `replication` stays idle.
///
/// Errors: the server's.
pub async fn create_slot(replication: &mut Connection, settings: &Settings) -> Result<NewSlot> {
    let name = quote_ident(&settings.slot);
    let sql = match replication.version() {
        version if version >= 170_000 && settings.slot_failover => {
            format!("CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput (SNAPSHOT 'export', FAILOVER)")
        }
        version if version >= 150_000 => {
            format!("CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput (SNAPSHOT 'export')")
        }
        _ => format!("CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput EXPORT_SNAPSHOT"),
    };
    let row = replication.query_one(&sql).await?;
    let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("");
    let consistent_lsn = parse_lsn(text(1))
        .ok_or_else(|| Error::fatal("the server gave no consistent point of the new slot"))?;
    Ok(NewSlot { consistent_lsn, snapshot: text(2).to_owned() })
}

/// Drops the slot.
///
/// Errors: the server's.
pub async fn drop_slot(general: &mut Connection, name: &str) -> Result<()> {
    let sql = format!("SELECT pg_drop_replication_slot({})", quote_literal(name));
    general.query(&sql).await.map(|_| ())
}

/// Checks that streaming can go on from `offset` without a gap.
///
/// Errors: `Fatal`, with the cause and the ways out; `Config` for a slot that is not ours.
pub fn check_position(
    offset: &Offset,
    slot: Option<&Slot>,
    identity: &Identity,
    settings: &Settings,
) -> Result<()> {
    let lost = |cause: String| Err(Error::fatal(cause).with_remedy(LOST_SLOT));
    let name = &settings.slot;
    let stored = offset.commit_lsn.unwrap_or(0);
    if offset.system_id.as_ref().is_some_and(|stored| *stored != identity.system_id) {
        return lost("this is another server than the one the position belongs to (its system identifier differs)".to_owned());
    }
    let Some(slot) = slot else {
        return lost(format!(
            "replication slot \"{name}\" does not exist, but a position ({}) is stored",
            format_lsn(stored)
        ));
    };
    check_slot(slot, settings)?;
    if slot.wal_status == "lost" || slot.restart_lsn.is_none() {
        return lost(format!(
            "replication slot \"{name}\" is lost: the server removed log that it needed \
             (max_slot_wal_keep_size or a timeout)"
        ));
    }
    if let Some(confirmed) = slot.confirmed_lsn.filter(|confirmed| *confirmed > stored) {
        return lost(format!(
            "replication slot \"{name}\" was confirmed up to {}, beyond the stored position {}: it \
             was made anew or read by another client",
            format_lsn(confirmed),
            format_lsn(stored)
        ));
    }
    if offset.timeline.is_some_and(|timeline| timeline != identity.timeline) {
        return lost(format!(
            "the server's timeline changed to {} (a standby was promoted): the slot's position may \
             not mean the same changes",
            identity.timeline
        ));
    }
    if stored > identity.wal_end {
        return lost(format!(
            "the server's log ends at {}, before the stored position {}: it was restored from a backup",
            format_lsn(identity.wal_end),
            format_lsn(stored)
        ));
    }
    Ok(())
}

/// Checks that the slot is one that we can read.
///
/// Errors: `Config`.
pub fn check_slot(slot: &Slot, settings: &Settings) -> Result<()> {
    let name = &settings.slot;
    if slot.plugin != "pgoutput" || slot.database != settings.target.database {
        let message = format!(
            "replication slot \"{name}\" belongs to plugin \"{}\" and database \"{}\"",
            slot.plugin, slot.database
        );
        return Err(Error::new(ErrorKind::Config, message)
            .with_remedy("give this connector a \"slot.name\" of its own"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_captured_from_is_told_how_it_could() {
        assert!(capturable(150_018, "logical", false).is_ok());
        assert!(capturable(160_000, "logical", true).is_ok());
        let told = |version, wal_level, replica| {
            let error = capturable(version, wal_level, replica).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            error.chain()
        };
        assert!(told(110_022, "logical", false).contains("PostgreSQL 12"));
        assert!(told(150_018, "logical", true).contains("primary"));
        let wal_level = told(150_018, "replica", false);
        assert!(wal_level.contains("wal_level of the server is replica"), "{wal_level}");
        assert!(wal_level.contains("ALTER SYSTEM SET wal_level = logical"), "{wal_level}");
    }
}
