//! What a server's error means for us.

use lattice_core::{Error, ErrorKind};

use crate::protocol::backend::{ErrorFields, error_fields};

/// The server's own words, as the cause of an [`Error`].
#[derive(Debug)]
pub(super) struct ServerError(pub(super) ErrorFields);

impl std::fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} (SQLSTATE {})", self.0.message, self.0.code)?;
        if let Some(detail) = &self.0.detail {
            write!(formatter, "; {detail}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(formatter, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}

/// An error from an `ErrorResponse`; `doing`: what was attempted, as a verb phrase.
#[must_use]
pub fn server_error(body: &[u8], doing: &str) -> Error {
    let fields = error_fields(body);
    let (kind, remedy) = classify(&fields);
    let error = Error::new(kind, doing.to_owned());
    let error = match remedy {
        Some(remedy) => error.with_remedy(remedy),
        None => error,
    };
    error.with_source(ServerError(fields))
}

/// The SQLSTATE inside an error of ours, if the server sent one.
#[must_use]
pub(crate) fn sqlstate(error: &Error) -> Option<&str> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<ServerError>().map(|error| error.0.code.as_str())
}

fn classify(fields: &ErrorFields) -> (ErrorKind, Option<&'static str>) {
    let message = fields.message.as_str();
    match fields.code.as_str() {
        "28P01" => (ErrorKind::Auth, Some("check \"database.user\" and \"database.password\"")),
        "28000" if message.contains("no pg_hba.conf entry") => (
            ErrorKind::Auth,
            Some(
                "allow this host in pg_hba.conf, for example \"host all all 0.0.0.0/0 \
                 scram-sha-256\", and run SELECT pg_reload_conf(); or set \"database.sslmode\" \
                 to what the server asks for",
            ),
        ),
        code if code.starts_with("28") => {
            (ErrorKind::Auth, Some("check \"database.user\", and that the role has LOGIN"))
        }
        "42501" => (ErrorKind::Auth, Some("grant the role the right that is named")),
        "3D000" => (ErrorKind::Config, Some("check \"database.dbname\"")),
        "55006" => (
            ErrorKind::Transient,
            Some(
                "another client uses the replication slot; stop it, or give this connector a \
                 \"slot.name\" of its own (who: SELECT active_pid FROM pg_replication_slots)",
            ),
        ),
        "53400" => (
            ErrorKind::Config,
            Some(
                "raise max_replication_slots and restart the server, or drop a slot that nobody \
                 uses: SELECT pg_drop_replication_slot('name')",
            ),
        ),
        "55000" | "58P01"
            if message.contains("no longer") || message.contains("has already been removed") =>
        {
            (ErrorKind::Fatal, Some(LOST_SLOT))
        }
        "42704" if message.contains("publication") => (
            ErrorKind::Config,
            Some("create the publication, or set \"publication.autocreate.mode\" to filtered"),
        ),
        "42704" if message.contains("replication slot") => (ErrorKind::Fatal, Some(LOST_SLOT)),
        "08P01" if message.contains("unsupported startup parameter") => (
            ErrorKind::Config,
            Some(
                "this looks like a connection pooler (PgBouncer): logical replication needs the \
                 server itself, give its own host and port",
            ),
        ),
        "XX000" | "54000"
            if message.contains("invalid memory alloc request size")
                || message.contains("out of memory") =>
        {
            (ErrorKind::Config, Some(TOO_LARGE))
        }
        // Connection, resources, operator intervention, lock and serialization trouble, system
        // errors: all may pass.
        code if ["08", "53", "57", "40", "55", "58"].iter().any(|c| code.starts_with(c)) => {
            (ErrorKind::Transient, None)
        }
        _ => (ErrorKind::Config, None),
    }
}

/// The way out of a row that the server has but cannot send.
const TOO_LARGE: &str = "a row is larger than the server can send: 1 GiB as text, which a bytea fills \
     at half of that; make the value smaller or delete the row, drop the replication slot \
     (SELECT pg_drop_replication_slot('name')), and restart with \"snapshot.mode\": \"when_needed\": \
     a new snapshot takes the place of what could not be read";

/// The ways out of a lost position.
pub(crate) const LOST_SLOT: &str = "changes since the stored position are gone from the server; \
     take a new snapshot by \"snapshot.mode\": \"when_needed\" or by resetting the connector's \
     offsets, or accept the gap by \"lattice.accept.gap\": \"true\"";
