//! TCP whose reader can choose not to be woken by every packet.
//!
//! The server sends row by row. A reader that waits for readiness is woken for each row, which
//! costs both sides more than the row itself. While rows come, our reader looks at the socket on
//! its own clock instead ([`Pace`]): then the socket is not registered for arrivals at all.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// What one system call reads at most. TLS takes it in small pieces. Units: bytes.
const AHEAD_BYTES: usize = 64 << 10;

/// Whether reads that find nothing are attempts (true) or wait for arrivals (false).
///
/// An attempt's waker is never called: whoever paces looks again by himself.
#[derive(Debug, Clone, Default)]
pub struct Pace(Arc<AtomicBool>);

impl Pace {
    /// Chooses for the reads to come.
    pub fn set(&self, attempts: bool) {
        self.0.store(attempts, Ordering::Relaxed);
    }

    fn attempts(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct Tcp {
    /// Not registered anywhere.
    stream: TcpStream,
    /// The same socket, registered; only while a reader waits for arrivals.
    arrivals: Option<tokio::net::TcpStream>,
    /// The same socket, registered; only while a writer waits for room.
    room: Option<tokio::net::TcpStream>,
    pace: Pace,
    /// What was read and not yet taken: `ahead[taken..filled]`.
    ahead: Vec<u8>,
    taken: usize,
    filled: usize,
}

impl Tcp {
    /// Takes over a connected socket.
    pub(super) fn new(stream: tokio::net::TcpStream) -> io::Result<Self> {
        Ok(Self {
            stream: stream.into_std()?,
            arrivals: None,
            room: None,
            pace: Pace::default(),
            ahead: Vec::new(),
            taken: 0,
            filled: 0,
        })
    }

    /// What chooses how it reads.
    pub(super) fn pace(&self) -> Pace {
        self.pace.clone()
    }

    /// Reads into the empty buffer.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            self.ahead = vec![0; AHEAD_BYTES];
        }
        (self.taken, self.filled) = (0, 0);
        if self.pace.attempts() {
            self.arrivals = None;
        }
        let read = match (&self.stream).read(&mut self.ahead) {
            Err(error) if again(&error) => {
                if self.pace.attempts() {
                    return Poll::Pending;
                }
                ready!(self.poll_arrival(context))
            }
            read => read,
        };
        self.filled = read?;
        Poll::Ready(Ok(()))
    }

    /// Waits for bytes and reads them.
    fn poll_arrival(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let waiting = registered(&mut self.arrivals, &self.stream)?;
        loop {
            ready!(waiting.poll_read_ready(context))?;
            let stream = &self.stream;
            match waiting.try_io(Interest::READABLE, || (&*stream).read(&mut self.ahead)) {
                Err(error) if again(&error) => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

/// Nothing happened; it may be tried again.
fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Registers the socket, if it is not.
fn registered<'a>(
    waiting: &'a mut Option<tokio::net::TcpStream>,
    stream: &TcpStream,
) -> io::Result<&'a tokio::net::TcpStream> {
    match waiting {
        Some(waiting) => Ok(waiting),
        None => Ok(waiting.insert(tokio::net::TcpStream::from_std(stream.try_clone()?)?)),
    }
}

impl AsyncRead for Tcp {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.taken == this.filled {
            ready!(this.poll_fill(context))?;
        }
        let rest = this.ahead.get(this.taken..this.filled).unwrap_or_default();
        let rest = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(rest);
        this.taken += rest.len();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut written = (&this.stream).write(bytes);
        while matches!(&written, Err(error) if again(error)) {
            let room = registered(&mut this.room, &this.stream)?;
            ready!(room.poll_write_ready(context))?;
            let stream = &this.stream;
            written = room.try_io(Interest::WRITABLE, || (&*stream).write(bytes));
        }
        this.room = None;
        Poll::Ready(written)
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    async fn pair() -> (Tcp, tokio::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, server) =
            tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
        (Tcp::new(client.unwrap()).unwrap(), server.unwrap().0)
    }

    #[tokio::test]
    async fn waiting_reads_are_woken_before_and_after_a_time_of_attempts() {
        let (mut tcp, mut server) = pair().await;
        let pace = tcp.pace();
        let mut bytes = [0; 8];
        for round in 0..50_u8 {
            pace.set(true);
            assert!(tcp.read(&mut bytes).now_or_never().is_none(), "nothing was sent");
            pace.set(false);
            let send = async {
                tokio::task::yield_now().await;
                server.write_all(&[round, 1, 2]).await
            };
            let (read, sent) = tokio::join!(tcp.read_exact(&mut bytes[..3]), send);
            sent.unwrap();
            read.unwrap();
            assert_eq!(bytes[..3], [round, 1, 2]);
        }
    }

    #[tokio::test]
    async fn what_was_read_ahead_comes_in_pieces_and_whole() {
        let (mut tcp, mut server) = pair().await;
        let sent: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        let expected = sent.clone();
        let sender = tokio::spawn(async move {
            server.write_all(&sent).await.unwrap();
            server.shutdown().await.unwrap();
        });
        let mut all = Vec::new();
        let mut piece = vec![0; 4096];
        loop {
            match tcp.read(&mut piece).await.unwrap() {
                0 => break,
                read => all.extend_from_slice(&piece[..read]),
            }
        }
        sender.await.unwrap();
        assert_eq!(all, expected);
    }

    #[tokio::test]
    async fn more_is_written_than_the_socket_holds() {
        let (mut tcp, mut server) = pair().await;
        let sent = vec![7; 20_000_000];
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            server.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        tcp.write_all(&sent).await.unwrap();
        tcp.shutdown().await.unwrap();
        assert_eq!(reader.await.unwrap(), sent.len());
    }
}
