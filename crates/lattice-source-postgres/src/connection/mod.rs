//! Our own connection to a server: start-up, TLS, authentication, simple queries, `COPY` out and
//! the replication stream. Small, because it needs only these.

mod auth;
mod error;
mod socket;
mod tcp;
mod tls;

use std::time::Duration;

use bytes::BytesMut;
use futures_util::FutureExt;
use lattice_core::{Error, Result, secret::Secret};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub use error::server_error;
pub(crate) use error::{LOST_SLOT, sqlstate};
pub use socket::{ReadHalf, Socket, WriteHalf};
pub use tcp::{Pace, Tcp};

use crate::protocol::{backend, backend::Frame};

/// How to encrypt, in libpq's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// Never.
    Disable,
    /// If the server can (`allow` is the same here).
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// Always, and the certificate must be signed by a known authority.
    VerifyCa,
    /// Always, and the certificate must also be for this host.
    VerifyFull,
}

/// Where the server is, and who we are.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// Database.
    pub database: String,
    /// Encryption.
    pub ssl_mode: SslMode,
    /// PEM file of the authorities to trust instead of the system's.
    pub ssl_root_cert: Option<String>,
    /// PEM file of our certificate.
    pub ssl_cert: Option<String>,
    /// PEM file of our certificate's key.
    pub ssl_key: Option<String>,
    /// How long connecting may take.
    pub connect_timeout: Duration,
}

/// What the connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Queries and `COPY`.
    General,
    /// Logical replication.
    Replication,
}

/// A connection that has become a replication stream.
#[derive(Debug)]
pub struct Halves {
    /// What comes from the server.
    pub read: ReadHalf,
    /// What goes to it.
    pub write: WriteHalf,
    /// How `read` reads.
    pub pace: Pace,
    /// What was read already.
    pub rest: BytesMut,
}

/// A row of a simple query: texts, `None` for NULL.
pub type Row = Vec<Option<String>>;

/// Reads are at least this large, so that a busy stream costs few system calls.
pub const READ_BYTES: usize = 512 << 10;

/// How long `COPY` may gather bytes before they are looked at again.
const COPY_PAUSE: Duration = Duration::from_millis(1);

/// A connection. Dropping it closes the socket; the server then ends its side.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    pace: Pace,
    /// Between `COPY` and its end.
    copying: bool,
    buffer: BytesMut,
    at: usize,
    version: u32,
    /// The database's encoding is SQL_ASCII: its bytes are of no encoding that the server knows.
    ascii: bool,
    host: String,
}

impl Connection {
    /// Connects and authenticates.
    ///
    /// Errors: `Transient` (not reachable, starting up, too many connections), `Auth`, `Config`.
    pub async fn open(target: &Target, purpose: Purpose) -> Result<Self> {
        let opening = Box::pin(Self::open_now(target, purpose));
        tokio::time::timeout(target.connect_timeout, opening).await.map_err(|_| {
            Error::transient(format!(
                "connect to {}:{}: no answer within {} s",
                target.host,
                target.port,
                target.connect_timeout.as_secs()
            ))
            .with_remedy("check \"database.hostname\", \"database.port\" and firewalls")
        })?
    }

    async fn open_now(target: &Target, purpose: Purpose) -> Result<Self> {
        let socket = tls::connect(target).await?;
        let mut connection = Self {
            pace: socket.pace(),
            copying: false,
            socket,
            buffer: BytesMut::new(),
            at: 0,
            version: 0,
            ascii: false,
            host: format!("{}:{}", target.host, target.port),
        };
        auth::start(&mut connection, target, purpose).await?;
        if connection.ascii {
            // The server would check the bytes and end the stream at the first that are not
            // UTF-8; taken as they are, the column they stand in can be named.
            connection.query("SET client_encoding = 'SQL_ASCII'").await?;
        }
        Ok(connection)
    }

    /// The server's version, for example 150018.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Sends what `write` puts into the buffer.
    async fn send(
        &mut self,
        write: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut out = BytesMut::new();
        write(&mut out).map_err(|error| Error::config("write a message").with_source(error))?;
        self.socket.write_all(&out).await.map_err(|error| self.lost(error))?;
        self.socket.flush().await.map_err(|error| self.lost(error))
    }

    fn lost(&self, error: std::io::Error) -> Error {
        Error::transient(format!("connection to {} was lost", self.host)).with_source(error)
    }

    /// The next message; its body is in `self.body(frame)` until the next call.
    async fn receive(&mut self) -> Result<Frame> {
        loop {
            if let Some(frame) = backend::frame(&self.buffer, self.at).map_err(malformed)? {
                self.at = frame.end;
                match frame.tag {
                    // Notices, parameters and notifications say nothing that we wait for.
                    b'N' | b'A' => continue,
                    b'S' => self.note_parameter(frame),
                    _ => return Ok(frame),
                }
                continue;
            }
            if self.at > 0 {
                let _ = self.buffer.split_to(self.at);
                self.at = 0;
            }
            self.buffer.reserve(64 << 10);
            let read = if self.copying {
                self.read_copy().await
            } else {
                self.socket.read_buf(&mut self.buffer).await
            };
            if read.map_err(|error| self.lost(error))? == 0 {
                return Err(self.lost(std::io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Reads on our own clock while rows come: the server sends them in small packets, and a
    /// wake-up each would cost both sides more than the rows.
    async fn read_copy(&mut self) -> std::io::Result<usize> {
        self.pace.set(true);
        for pause in [Some(COPY_PAUSE), None] {
            if let Some(read) = self.socket.read_buf(&mut self.buffer).now_or_never() {
                return read;
            }
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
        self.pace.set(false);
        self.socket.read_buf(&mut self.buffer).await
    }

    fn body(&self, frame: Frame) -> &[u8] {
        self.buffer.get(frame.start..frame.end).unwrap_or(&[])
    }

    fn note_parameter(&mut self, frame: Frame) {
        let body = self.body(frame);
        let mut parts = body.split(|byte| *byte == 0);
        let (name, value) = (parts.next(), parts.next().unwrap_or(&[]));
        match name {
            Some(b"server_version") => {
                let version = version_number(&String::from_utf8_lossy(value));
                self.version = version;
            }
            Some(b"server_encoding") => {
                let ascii = value == b"SQL_ASCII";
                self.ascii = ascii;
            }
            _ => {}
        }
    }

    /// Runs statements and gives all their rows.
    ///
    /// Errors: what the server said, with the kind that its SQLSTATE means.
    pub async fn query(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.send(|out| frontend::query(sql, out)).await?;
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            let frame = self.receive().await?;
            match frame.tag {
                b'D' => rows.push(backend::data_row(self.body(frame)).map_err(malformed)?),
                b'E' => {
                    let error = server_error(self.body(frame), "run a statement");
                    if failure.is_none() {
                        failure = Some(error);
                    }
                }
                b'Z' => break,
                _ => {}
            }
        }
        failure.map_or(Ok(rows), Err)
    }

    /// Runs a statement that gives one row.
    pub async fn query_one(&mut self, sql: &str) -> Result<Row> {
        let rows = self.query(sql).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| Error::fatal(format!("the server gave no row for: {sql}")))
    }

    /// Starts `COPY … TO STDOUT`; rows then come from [`Self::copy_rows`].
    pub async fn copy_out(&mut self, sql: &str) -> Result<()> {
        self.send(|out| frontend::query(sql, out)).await?;
        loop {
            let frame = self.receive().await?;
            match frame.tag {
                b'H' => {
                    self.copying = true;
                    return Ok(());
                }
                b'E' => {
                    let error = server_error(self.body(frame), "copy a table");
                    self.until_ready().await?;
                    return Err(error);
                }
                b'Z' => return Err(Error::fatal("COPY gave no data")),
                _ => {}
            }
        }
    }

    /// Hands the rows that have come to `each`, waiting for at least one. False: there are no
    /// more, and the connection is ready for the next statement.
    pub async fn copy_rows(&mut self, each: impl FnMut(&[u8])) -> Result<bool> {
        let more = self.next_rows(each).await;
        if !matches!(more, Ok(true)) {
            self.copying = false;
            self.pace.set(false);
        }
        more
    }

    async fn next_rows(&mut self, mut each: impl FnMut(&[u8])) -> Result<bool> {
        loop {
            let frame = self.receive().await?;
            match frame.tag {
                b'd' => {
                    each(self.body(frame));
                    while let Some(next) =
                        backend::frame(&self.buffer, self.at).map_err(malformed)?
                    {
                        if next.tag != b'd' {
                            break;
                        }
                        self.at = next.end;
                        each(self.body(next));
                    }
                    return Ok(true);
                }
                b'E' => {
                    let error = server_error(self.body(frame), "copy a table");
                    self.until_ready().await?;
                    return Err(error);
                }
                b'Z' => return Ok(false),
                _ => {}
            }
        }
    }

    async fn until_ready(&mut self) -> Result<()> {
        while self.receive().await?.tag != b'Z' {}
        Ok(())
    }

    /// Starts the replication stream; the connection then is nothing but that stream, given as
    /// its two halves and what was read already.
    pub async fn start_replication(mut self, command: &str) -> Result<Halves> {
        self.send(|out| frontend::query(command, out)).await?;
        loop {
            let frame = self.receive().await?;
            match frame.tag {
                b'W' => break,
                b'E' => {
                    let error = server_error(self.body(frame), "start replication");
                    return Err(error);
                }
                _ => {}
            }
        }
        let rest = self.buffer.split_off(self.at);
        let (read, write) = tokio::io::split(self.socket);
        Ok(Halves { read, write, pace: self.pace, rest })
    }

    /// Says good-bye.
    pub async fn close(mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        let _ = self.socket.write_all(&out).await;
        let _ = self.socket.shutdown().await;
    }
}

/// An error for bytes that are not the protocol.
pub(crate) fn malformed(error: crate::protocol::reader::Malformed) -> Error {
    Error::transient("read the server's answer").with_source(error).with_remedy(
        "check that \"database.hostname\" and \"database.port\" are a PostgreSQL server's",
    )
}

/// `15.18 (Debian …)` → 150018; unreadable → 0.
fn version_number(text: &str) -> u32 {
    let digits: String =
        text.chars().take_while(|char| char.is_ascii_digit() || *char == '.').collect();
    let mut parts = digits.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let major = parts.next().unwrap_or(0);
    major.saturating_mul(10_000).saturating_add(parts.next().unwrap_or(0))
}

/// An identifier in double quotes.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A literal in single quotes, whatever `standard_conforming_strings` is.
#[must_use]
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        return format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_releases_and_of_betas_are_read() {
        assert_eq!(version_number("15.18 (Debian 15.18-0+deb12u1)"), 150_018);
        assert_eq!(version_number("19beta1"), 190_000);
        assert_eq!(version_number(""), 0);
    }

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(quote_ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'"), "E'a\\\\'''");
    }
}
