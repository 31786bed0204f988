//! The server's and the driver's errors: what they mean for the task, and what mends them.

use lattice_core::{Error, ErrorKind as Kind};
use mongodb::error::{Error as DriverError, ErrorKind};

/// The position is lost. Source: the change streams specification, and Debezium for older servers.
const LOST: [i32; 7] = [286, 280, 260, 136, 40_576, 40_585, 40_615];
/// Not a replica set.
const STANDALONE: [i32; 2] = [40_573, 20];

const LOST_REMEDY: &str = "the changes between the stored position and the oldest one that the server \
    still has are gone; choose: have the collections read again (set \"snapshot.mode\": \"when_needed\" \
    for this start, or stop the connector and delete its offsets), or go on from now and accept the gap \
    (\"lattice.accept.gap\": \"true\" for one start). To keep it from happening give the oplog more time: \
    db.adminCommand({replSetResizeOplog: 1, minRetentionHours: 48})";

/// The command's error code, if it is a server's answer.
#[must_use]
pub(crate) fn code(error: &DriverError) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// Whether the stored position cannot be resumed from.
#[must_use]
pub(crate) fn is_lost(error: &DriverError) -> bool {
    code(error).is_some_and(|code| LOST.contains(&code))
        || error.contains_label("NonResumableChangeStreamError")
}

/// An error that arose while doing `what`.
#[must_use]
pub(crate) fn explain(what: &str, error: &DriverError) -> Error {
    let (kind, remedy) = judge(error);
    // The driver's own error is not kept as a source: its texts go to people as they are here.
    let explained = Error::new(kind, format!("{what}: {}", words(error)));
    match remedy {
        Some(remedy) => explained.with_remedy(remedy),
        None => explained,
    }
}

fn words(error: &DriverError) -> String {
    match &*error.kind {
        ErrorKind::Command(command) => {
            let name = if command.code_name.is_empty() { "error" } else { &command.code_name };
            format!("{} ({name}, code {})", command.message.trim(), command.code)
        }
        other => other.to_string(),
    }
}

fn judge(error: &DriverError) -> (Kind, Option<String>) {
    if is_lost(error) {
        return (Kind::Fatal, Some(LOST_REMEDY.to_owned()));
    }
    match &*error.kind {
        ErrorKind::Command(command) => command_error(error, command.code, &command.message),
        ErrorKind::Authentication { .. } => (Kind::Auth, Some(credentials())),
        ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidTlsConfig { .. } => (
            Kind::Config,
            Some("correct \"mongodb.connection.string\" or the TLS settings".to_owned()),
        ),
        ErrorKind::DnsResolve { .. } => {
            (Kind::Transient, Some("check the host in \"mongodb.connection.string\"".to_owned()))
        }
        ErrorKind::IncompatibleServer { .. } => {
            (Kind::Config, Some("MongoDB 4.2 or later is needed".to_owned()))
        }
        ErrorKind::ServerSelection { .. } => (
            Kind::Transient,
            Some(
                "check that the hosts in \"mongodb.connection.string\" can be reached from here, that \
                 its replicaSet is the deployment's name (rs.status().set), and that TLS is on or off \
                 on both sides (\"mongodb.ssl.enabled\")"
                    .to_owned(),
            ),
        ),
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } => (Kind::Transient, None),
        _ if error.contains_label("ResumableChangeStreamError") => (Kind::Transient, None),
        _ => (Kind::Fatal, None),
    }
}

fn credentials() -> String {
    "check \"mongodb.user\", \"mongodb.password\" and \"mongodb.authsource\" (the database that the \
     user is defined in)"
        .to_owned()
}

fn command_error(error: &DriverError, code: i32, message: &str) -> (Kind, Option<String>) {
    match code {
        18 | 11 => (Kind::Auth, Some(credentials())),
        13 | 8000 => (
            Kind::Auth,
            Some(
                "give the user the roles that are needed: db.getSiblingDB(\"admin\").grantRolesToUser(\
                 \"<user>\", [{role: \"readAnyDatabase\", db: \"admin\"}, {role: \"clusterMonitor\", \
                 db: \"admin\"}]), or read on one database with \"capture.scope\": \"database\""
                    .to_owned(),
            ),
        ),
        10_334 => (
            Kind::Fatal,
            Some(
                "a change is larger than 16 MB; set \"cursor.oversize.handling.mode\": \"split\" \
                 (MongoDB 6.0.9 and 7.0), or \"skip\" with \"cursor.oversize.skip.threshold\""
                    .to_owned(),
            ),
        ),
        40_324 if message.contains("changeStreamSplitLargeEvent") => (
            Kind::Config,
            Some("\"cursor.oversize.handling.mode\": \"split\" needs MongoDB 6.0.9 or 7.0".to_owned()),
        ),
        _ if STANDALONE.contains(&code) && message.contains("replica set") => {
            (Kind::Config, Some(standalone_remedy()))
        }
        // Elections, shutdowns, network errors between servers, lost cursors, overload, a collection
        // that moves: all pass.
        6 | 7 | 43 | 50 | 63 | 89 | 91 | 133 | 134 | 150 | 189 | 202 | 234 | 237 | 262 | 9001
        | 10_107 | 11_600 | 11_602 | 13_388 | 13_435 | 13_436 => (Kind::Transient, None),
        _ if error.contains_label("ResumableChangeStreamError")
            || error.contains_label("RetryableError") =>
        {
            (Kind::Transient, None)
        }
        _ => (Kind::Fatal, None),
    }
}

/// How a standalone server becomes a replica set.
pub(crate) fn standalone_remedy() -> String {
    "a standalone server keeps no log of changes; start it with --replSet rs0 (replication.replSetName \
     in mongod.conf), run rs.initiate() once, and add ?replicaSet=rs0 to \"mongodb.connection.string\""
        .to_owned()
}
