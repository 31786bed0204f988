//! One connection to a broker: many requests under way, answers by correlation id.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{ApiVersionsRequest, RequestHeader, ResponseHeader},
    protocol::{Decodable, Encodable, HeaderVersion, StrBytes},
};
use lattice_core::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

use super::{
    api::Api,
    fault::Fault,
    socket::{self, Address, ReadHalf, WriteHalf},
};

/// What may be under way on a connection. Units: bytes.
const IN_FLIGHT_BYTES: usize = 32 << 20;

/// Requests that wait to be sent on a connection; their bytes are bounded besides.
const MAX_REQUESTS: usize = 1024;

/// No broker answers with more. Units: bytes.
const MAX_ANSWER_BYTES: usize = 1 << 30;

/// How a connection is made.
pub(crate) struct Dial<'a> {
    pub(crate) address: &'a Address,
    pub(crate) tls: Option<&'a Arc<rustls::ClientConfig>>,
    pub(crate) client_id: &'a str,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
}

/// A connection. Ends when dropped.
pub(crate) struct Connection {
    address: Address,
    client_id: StrBytes,
    request_timeout: Duration,
    outgoing: mpsc::Sender<Bytes>,
    room: Semaphore,
    next_id: AtomicI32,
    shared: Arc<Shared>,
    /// Oldest and newest version of each request that the broker knows.
    versions: HashMap<i16, (i16, i16)>,
    /// When the broker's authentication of us ends.
    expires: Mutex<Option<Instant>>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    closed: AtomicBool,
    waiting: Mutex<HashMap<i32, oneshot::Sender<Bytes>>>,
}

impl Connection {
    /// Connects and learns the broker's versions. Authentication comes after it.
    pub(crate) async fn open(dial: &Dial<'_>) -> Result<Self, Fault> {
        let (read, write) = socket::connect(dial.address, dial.tls, dial.connect_timeout).await?;
        let (outgoing, frames) = mpsc::channel(MAX_REQUESTS);
        let shared = Arc::new(Shared::default());
        let mut tasks = JoinSet::new();
        let (reading, writing) = (Arc::clone(&shared), Arc::clone(&shared));
        tasks.spawn(async move {
            let ended = read_answers(read, &reading).await;
            tracing::debug!(?ended, "a connection to a Kafka broker ended");
            reading.close();
        });
        tasks.spawn(async move {
            if write_requests(write, frames).await.is_err() {
                writing.close();
            }
        });
        let mut connection = Self {
            address: dial.address.clone(),
            client_id: StrBytes::from_string(dial.client_id.to_owned()),
            request_timeout: dial.request_timeout,
            outgoing,
            room: Semaphore::new(IN_FLIGHT_BYTES),
            next_id: AtomicI32::new(0),
            shared,
            versions: HashMap::from([(ApiVersionsRequest::KEY, (0, 0))]),
            expires: Mutex::new(None),
            _tasks: tasks,
        };
        let answer = connection.call(&ApiVersionsRequest::default()).await?;
        Fault::check(answer.error_code, None)?;
        connection.versions = answer
            .api_keys
            .iter()
            .map(|api| (api.api_key, (api.min_version, api.max_version)))
            .collect();
        Ok(connection)
    }

    /// Whether it can take a request.
    pub(crate) fn usable(&self) -> bool {
        let expires = *self.expires.lock().unwrap_or_else(PoisonError::into_inner);
        !self.shared.closed.load(Ordering::Acquire)
            && expires.is_none_or(|moment| Instant::now() < moment)
    }

    /// The broker's authentication of us ends then.
    pub(crate) fn expire_in(&self, lifetime: Duration) {
        *self.expires.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Instant::now() + lifetime);
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The version in which a request goes to this broker.
    pub(crate) fn version<R: Api>(&self) -> Result<i16, Fault> {
        let (oldest, newest) = self.versions.get(&R::KEY).copied().unwrap_or((0, -1));
        let version = newest.min(R::NEWEST);
        if version < oldest.max(R::VERSIONS.min) {
            return Err(Fault::Final(
                Error::config(format!(
                    "the Kafka broker {} does not speak a version of {} that Lattice speaks",
                    self.address,
                    R::NAME
                ))
                .with_remedy("use Kafka 2.1 or newer"),
            ));
        }
        Ok(version)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call<R: Api>(&self, request: &R) -> Result<R::Response, Fault> {
        self.call_within(request, self.request_timeout).await
    }

    /// As [`Connection::call`], with a time for the answer of its own.
    pub(crate) async fn call_within<R: Api>(
        &self,
        request: &R,
        patience: Duration,
    ) -> Result<R::Response, Fault> {
        let version = self.version::<R>()?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = self.frame(request, version, id)?;
        let answer = self.exchange(id, frame, R::NAME, patience).await?;
        decode::<R>(answer, version).map_err(|error| {
            Fault::Final(
                Error::fatal(format!("read the answer of {} to {}", self.address, R::NAME))
                    .with_source(std::io::Error::other(error)),
            )
        })
    }

    fn frame<R: Api>(&self, request: &R, version: i16, id: i32) -> Result<Bytes, Fault> {
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(id)
            .with_client_id(Some(self.client_id.clone()));
        let unsendable = |error: &dyn std::fmt::Display| {
            let message = format!("write a {} request of version {version}: {error}", R::NAME);
            Fault::Final(Error::fatal(message))
        };
        let header_version = R::header_version(version);
        let size = header.compute_size(header_version).map_err(|error| unsendable(&error))?
            + request.compute_size(version).map_err(|error| unsendable(&error))?;
        let mut frame = BytesMut::with_capacity(4 + size);
        frame.put_i32(i32::try_from(size).map_err(|error| unsendable(&error))?);
        header.encode(&mut frame, header_version).map_err(|error| unsendable(&error))?;
        request.encode(&mut frame, version).map_err(|error| unsendable(&error))?;
        Ok(frame.freeze())
    }

    async fn exchange(
        &self,
        id: i32,
        frame: Bytes,
        name: &str,
        patience: Duration,
    ) -> Result<Bytes, Fault> {
        let share = frame.len().min(IN_FLIGHT_BYTES);
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        let _room = self.room.acquire_many(share).await.map_err(|_| self.broken(name, "closed"))?;
        let (answered, answer) = oneshot::channel();
        let _waiting = Waiting { shared: &self.shared, id };
        self.shared.wait(id, answered);
        if self.shared.closed.load(Ordering::Acquire) || self.outgoing.send(frame).await.is_err() {
            return Err(self.broken(name, "the connection is closed"));
        }
        match timeout(patience, answer).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(_)) => Err(self.broken(name, "the connection broke")),
            Err(_) => {
                // Answers come in order: what follows would wait as long.
                self.shared.close();
                Err(self.broken(name, &format!("no answer within {} s", patience.as_secs())))
            }
        }
    }

    fn broken(&self, name: &str, why: &str) -> Fault {
        let message = format!("{name} request to the Kafka broker {}: {why}", self.address);
        Fault::Broken(Error::transient(message).with_remedy("check that the broker runs"))
    }
}

/// Takes its place among those who wait back when it ends early.
struct Waiting<'a> {
    shared: &'a Shared,
    id: i32,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.take(self.id);
    }
}

impl Shared {
    fn wait(&self, id: i32, answered: oneshot::Sender<Bytes>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answered);
    }

    fn take(&self, id: i32) -> Option<oneshot::Sender<Bytes>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }

    /// Whoever waits learns that the connection broke.
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

async fn write_requests(
    mut socket: WriteHalf,
    mut frames: mpsc::Receiver<Bytes>,
) -> std::io::Result<()> {
    while let Some(frame) = frames.recv().await {
        socket.write_all(&frame).await?;
        if frames.is_empty() {
            socket.flush().await?;
        }
    }
    Ok(())
}

async fn read_answers(mut socket: ReadHalf, shared: &Shared) -> std::io::Result<()> {
    loop {
        let size = usize::try_from(socket.read_i32().await?).unwrap_or(usize::MAX);
        if !(4..=MAX_ANSWER_BYTES).contains(&size) {
            return Err(std::io::Error::other(format!("an answer of {size} bytes")));
        }
        let mut answer = BytesMut::with_capacity(size);
        let mut rest = (&mut socket).take(size as u64);
        while answer.len() < size {
            if rest.read_buf(&mut answer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        let answer = answer.freeze();
        let id = answer.as_ref().get_i32();
        if let Some(waiting) = shared.take(id) {
            // Whoever asked may have stopped to wait.
            let _ = waiting.send(answer);
        }
    }
}

fn decode<R: Api>(mut answer: Bytes, version: i16) -> Result<R::Response, String> {
    ResponseHeader::decode(&mut answer, R::Response::header_version(version))
        .and_then(|_| R::Response::decode(&mut answer, version))
        .map_err(|error| error.to_string())
}
