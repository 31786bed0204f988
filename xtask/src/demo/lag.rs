//! Commit to visible: a probe row at a time is committed in the source and looked for in the target.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use super::{
    changes::Client,
    databases::{Query, Source, Target},
    shop,
};

/// Orders with ids from here on are probes.
const FIRST: u64 = 1_000_000_000;

/// The percentiles are of the newest so many probes.
const WINDOW: usize = 200;

/// A thread that probes.
pub(crate) struct Lag {
    millis: Arc<Mutex<Vec<u64>>>,
    stop: Arc<AtomicBool>,
    prober: JoinHandle<Result<()>>,
}

impl Lag {
    /// Starts probing.
    pub(crate) fn start(source: &Source, target: &Target) -> Result<Self> {
        let (millis, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let client = Client::connect(&source.url)?;
        let asking = target.another();
        let prober = {
            let (millis, stop) = (Arc::clone(&millis), Arc::clone(&stop));
            thread::spawn(move || probe(client, &asking, &millis, &stop))
        };
        Ok(Self { millis, stop, prober })
    }

    /// Half of the probes were visible within the first, 99 of 100 within the second. Units: ms; `-` before the first.
    pub(crate) fn percentiles(&self) -> (String, String) {
        let mut values = self.millis.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut newest = values.split_off(values.len().saturating_sub(WINDOW));
        newest.sort_unstable();
        let at = |percent: usize| {
            newest
                .get((newest.len() * percent / 100).min(newest.len().saturating_sub(1)))
                .map_or("-".to_owned(), u64::to_string)
        };
        (at(50), at(99))
    }

    /// Ends probing.
    pub(crate) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        self.prober.join().unwrap_or_else(|_| bail!("the probing thread panicked"))
    }
}

fn probe(
    mut client: Client,
    target: &Query,
    millis: &Mutex<Vec<u64>>,
    stop: &AtomicBool,
) -> Result<()> {
    let mut id = FIRST;
    while !stop.load(Ordering::SeqCst) {
        id += 1;
        let customer = 1 + id % shop::CUSTOMERS;
        client.run(&format!(
            "INSERT INTO orders VALUES ({id}, {customer}, 'placed', 1, 'EUR', 'lag probe', NULL, clock_timestamp(), localtimestamp(3));"
        ))?;
        let committed = Instant::now();
        let sql = format!("SELECT count() FROM {} WHERE id = {id}", shop::target_name("orders"));
        while !stop.load(Ordering::SeqCst) {
            if target.run(&sql).is_ok_and(|answer| answer.trim() != "0") {
                let lag = u64::try_from(committed.elapsed().as_millis()).unwrap_or(u64::MAX);
                millis.lock().unwrap_or_else(PoisonError::into_inner).push(lag);
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    client.close()
}
