//! A TCP proxy that does to connections what networks do.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{oneshot, watch},
    task::JoinSet,
};

/// Stands between a client and a real service on loopback, and can cut, refuse, delay, freeze and lose.
///
/// Starts as a faithful pipe. Everything ends when the value is dropped. Runs on a thread of its own, so
/// that it goes on while a test blocks its runtime (as the dropping of a database does).
pub struct TcpProxy {
    address: SocketAddr,
    faults: Arc<Faults>,
    /// Ends the thread when it is dropped.
    _alive: oneshot::Sender<()>,
}

struct Faults {
    target: String,
    /// Grows by one at each cut: connections of an older generation end.
    generation: watch::Sender<u64>,
    frozen: watch::Sender<bool>,
    refusing: AtomicBool,
    losing_answer: AtomicBool,
    delay_ms: AtomicU64,
    to_service: AtomicU64,
    to_client: AtomicU64,
    accepted: AtomicU64,
}

impl TcpProxy {
    /// Starts a proxy to `target` (`host:port`, or a URL of which these are taken).
    ///
    /// Panics if no port can be opened.
    pub fn start(target: &str) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0));
        let listener =
            listener.unwrap_or_else(|error| panic!("open a port for the proxy: {error}"));
        let address =
            listener.local_addr().unwrap_or_else(|error| panic!("address of the proxy: {error}"));
        let faults = Arc::new(Faults {
            target: crate::services::address_of(target).to_owned(),
            generation: watch::Sender::new(0),
            frozen: watch::Sender::new(false),
            refusing: AtomicBool::new(false),
            losing_answer: AtomicBool::new(false),
            delay_ms: AtomicU64::new(0),
            to_service: AtomicU64::new(0),
            to_client: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
        });
        let (alive, ended) = oneshot::channel();
        run_on_a_thread(listener, Arc::clone(&faults), ended);
        Self { address, faults, _alive: alive }
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port on 127.0.0.1 where clients connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Closes every connection at once. New ones are accepted.
    pub fn cut(&self) {
        self.faults.generation.send_modify(|generation| *generation += 1);
    }

    /// Closes new connections as soon as they are made, as a service that is down behind a load balancer.
    pub fn refuse(&self, refusing: bool) {
        self.faults.refusing.store(refusing, Ordering::SeqCst);
    }

    /// Passes nothing on in either direction, without closing: a network that swallows packets.
    pub fn freeze(&self, frozen: bool) {
        self.faults.frozen.send_replace(frozen);
    }

    /// Passes everything on so much later.
    pub fn delay(&self, delay: Duration) {
        self.faults
            .delay_ms
            .store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Lets the next request through and closes its connection instead of passing the answer on:
    /// the service has done it, the client does not know.
    pub fn lose_next_answer(&self) {
        self.faults.losing_answer.store(true, Ordering::SeqCst);
    }

    /// Whether the answer that [`lose_next_answer`](Self::lose_next_answer) waits for has been lost by now.
    pub fn answer_was_lost(&self) -> bool {
        !self.faults.losing_answer.load(Ordering::SeqCst)
    }

    /// Bytes passed on so far: to the service, to the client.
    pub fn bytes(&self) -> (u64, u64) {
        (
            self.faults.to_service.load(Ordering::SeqCst),
            self.faults.to_client.load(Ordering::SeqCst),
        )
    }

    /// Connections accepted so far, refused ones not counted.
    pub fn connections(&self) -> u64 {
        self.faults.accepted.load(Ordering::SeqCst)
    }
}

fn run_on_a_thread(
    listener: std::net::TcpListener,
    faults: Arc<Faults>,
    ended: oneshot::Receiver<()>,
) {
    let proxy = move || -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener)?;
            // The acceptor owns the connections' tasks: they end with it.
            tokio::select! {
                _ = ended => {}
                () = accept(listener, faults) => {}
            }
            Ok(())
        })
    };
    std::thread::spawn(move || proxy().unwrap_or_else(|error| panic!("run the proxy: {error}")));
}

async fn accept(listener: TcpListener, faults: Arc<Faults>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if faults.refusing.load(Ordering::SeqCst) {
            continue;
        }
        faults.accepted.fetch_add(1, Ordering::SeqCst);
        let mut generation = faults.generation.subscribe();
        let faults = Arc::clone(&faults);
        connections.spawn(async move {
            let Ok(service) = TcpStream::connect(&faults.target).await else { return };
            let _ = (client.set_nodelay(true), service.set_nodelay(true));
            let (from_client, to_client) = client.into_split();
            let (from_service, to_service) = service.into_split();
            tokio::select! {
                _ = generation.changed() => {}
                () = pass(from_client, to_service, &faults, Way::Request) => {}
                () = pass(from_service, to_client, &faults, Way::Answer) => {}
            }
        });
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Request,
    Answer,
}

/// Passes bytes on until one side closes, or an answer is to be lost.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, faults: &Faults, way: Way) {
    let mut frozen = faults.frozen.subscribe();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else { return };
        if frozen.wait_for(|frozen| !frozen).await.is_err() {
            return;
        }
        let delay = faults.delay_ms.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if way == Way::Answer && faults.losing_answer.swap(false, Ordering::SeqCst) {
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
        let count = if way == Way::Request { &faults.to_service } else { &faults.to_client };
        count.fetch_add(length as u64, Ordering::SeqCst);
    }
}
