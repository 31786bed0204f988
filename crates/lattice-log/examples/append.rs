//! Measures appends: `append [ROWS] [none|lz4|zstd] [FOLDER]`, rows of about 300 bytes in
//! batches of 1 MiB, encoding and appending side by side as a source task does.

use std::{io::Write as _, sync::Arc, time::Instant};

use lattice_core::record::{RecordRef, RecordSink as _};
use lattice_log::{
    AppendRequest, BatchSetBuilder, Compression, EmbeddedLog, EmbeddedOptions, Log as _,
};
use tokio::task::JoinSet;

/// Appends that are under way at once.
const IN_FLIGHT: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(Ok(2_000_000), |text| text.parse())?;
    let codec = arguments.next().unwrap_or_else(|| "lz4".to_owned());
    let codec = Compression::parse(&codec).ok_or("compression: none, gzip, snappy, lz4 or zstd")?;
    let folder = arguments.next().unwrap_or_else(|| "append-example".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(rows, codec, &folder))
}

async fn measure(
    rows: u64,
    codec: Compression,
    folder: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder))?;
    let mut builder = BatchSetBuilder::new(Box::new(|_| 1), codec);
    let topic = builder.topic("shop.public.orders");
    let (begun, cpu_before) = (Instant::now(), cpu_seconds("self"));
    let mut encoding = 0.0;
    let (mut raw, mut packed) = (0, 0);
    let mut under_way: JoinSet<lattice_core::Result<usize>> = JoinSet::new();
    let mut row = Vec::new();
    let mut number = 0;
    while number < rows {
        let encode = cpu_seconds("thread-self");
        while number < rows && builder.len_bytes() < 1 << 20 {
            fill(&mut row, number);
            let key = number.to_be_bytes();
            let record = RecordRef { key: Some(&key), value: Some(&row), ..RecordRef::default() };
            builder.append(topic, None, record);
            number += 1;
        }
        encoding += cpu_seconds("thread-self") - encode;
        raw += builder.len_bytes();
        if under_way.len() >= IN_FLIGHT
            && let Some(done) = under_way.join_next().await
        {
            packed += done??;
        }
        let batches = builder.finish();
        let log = Arc::clone(&log);
        under_way.spawn(async move {
            let compress = move || {
                let packed = batches.into_iter().map(lattice_log::RawBatch::compress);
                packed.collect::<lattice_core::Result<Vec<_>>>()
            };
            let compressed = tokio::task::spawn_blocking(compress).await;
            let batches = compressed.map_err(|error| {
                lattice_core::Error::fatal("compressing panicked").with_source(error)
            })??;
            let request = AppendRequest { batches, source_offset: None };
            let bytes = request.len_bytes();
            log.append(request).await?;
            Ok(bytes)
        });
    }
    while let Some(done) = under_way.join_next().await {
        packed += done??;
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds("self") - cpu_before);
    let mut waits = Vec::new();
    for number in 0..1000_u64 {
        let value = number.to_be_bytes();
        builder.append(topic, None, RecordRef { value: Some(&value), ..RecordRef::default() });
        let packed = builder.finish().into_iter().map(lattice_log::RawBatch::compress);
        let batches = packed.collect::<lattice_core::Result<Vec<_>>>()?;
        let asked = Instant::now();
        log.append(AppendRequest { batches, source_offset: None }).await?;
        waits.push(asked.elapsed());
    }
    waits.sort_unstable();
    log.close().await?;
    writeln!(
        std::io::stdout(),
        "{rows} rows, {raw} bytes raw, {packed} packed: {:.0} rows/s, {:.1} MB/s raw, \
         {:.3} CPU-s per million rows ({:.3} of it making rows on the main thread); one record: p50 {:?}, p99 {:?}",
        rows as f64 / seconds,
        raw as f64 / seconds / 1e6,
        cpu / rows as f64 * 1e6,
        encoding / rows as f64 * 1e6,
        waits[waits.len() / 2],
        waits[waits.len() * 99 / 100],
    )?;
    Ok(())
}

/// A row much like an encoded order: numbers that differ, words that repeat.
fn fill(row: &mut Vec<u8>, number: u64) {
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    row.clear();
    let written = write!(
        row,
        "\0\0\0\0\u{1}{number:010}{hash:016x}customer-{}@example.com status={} {:020} note: goods as \
         ordered, to be left with the neighbour; read committed snapshot=false",
        hash >> 44,
        ["new", "paid", "packed", "sent"][(hash >> 62) as usize],
        hash.rotate_left(17),
    );
    row.resize(300, b'.');
    debug_assert!(written.is_ok());
}

/// User and system time of this process (`self`) or thread (`thread-self`).
fn cpu_seconds(whose: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{whose}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 =
        fields.split(' ').skip(11).take(2).filter_map(|text| text.parse::<f64>().ok()).sum();
    // Linux counts in hundredths of a second on all common machines.
    ticks / 100.0
}
