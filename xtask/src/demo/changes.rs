//! Steady changes: orders come, move on and are cancelled, customers and stock change.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{databases::Source, shop};

/// Changed rows a second that the shop aims at.
const PACE: u64 = 1000;

/// Transactions are sent so often.
const BEAT: Duration = Duration::from_millis(50);

/// Transactions sent before the count of committed rows is renewed.
const PIECE: usize = 25;

/// A thread that feeds one `psql`.
pub(crate) struct Changes {
    rows: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    feeder: JoinHandle<Result<()>>,
}

impl Changes {
    /// Opens the shop.
    pub(crate) fn start(source: &Source) -> Result<Self> {
        let (rows, failed, stop) =
            (Arc::default(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let client = Client::connect(&source.url)?;
        let feeder = {
            let (rows, failed, stop) = (Arc::clone(&rows), Arc::clone(&failed), Arc::clone(&stop));
            thread::spawn(move || {
                let fed = feed(client, &rows, &stop);
                failed.store(fed.is_err(), Ordering::SeqCst);
                fed
            })
        };
        Ok(Self { rows, failed, stop, feeder })
    }

    /// Rows changed and committed so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::SeqCst)
    }

    /// An error as soon as the source has refused a change.
    pub(crate) fn check(&self) -> Result<()> {
        if self.failed.load(Ordering::SeqCst) {
            bail!("the source refused a change")
        } else {
            Ok(())
        }
    }

    /// Closes the shop: returns when the last change is committed.
    pub(crate) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        self.feeder.join().unwrap_or_else(|_| bail!("the shop's thread panicked"))
    }
}

fn feed(mut client: Client, committed: &AtomicU64, stop: &AtomicBool) -> Result<()> {
    let start = Instant::now();
    let mut shop = Shop::new();
    while !stop.load(Ordering::SeqCst) {
        let due = u64::try_from(start.elapsed().as_millis()).unwrap_or(0) * PACE / 1000;
        let mut rows = committed.load(Ordering::SeqCst);
        let mut sql = String::new();
        // A slow machine lags behind the pace; small pieces keep what is told of it true.
        for _ in 0..PIECE {
            if rows >= due {
                break;
            }
            rows += shop.transaction(&mut sql);
        }
        if !sql.is_empty() {
            client.run(&sql)?;
            committed.store(rows, Ordering::SeqCst);
        }
        if committed.load(Ordering::SeqCst) >= due {
            thread::sleep(BEAT);
        }
    }
    client.close()
}

/// A `psql` that takes statements and says when it is through with them.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Client {
    /// Starts it.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let mut psql = Command::new("psql");
        psql.args([url, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C is for us; the client ends when its input does.
        std::os::unix::process::CommandExt::process_group(&mut psql, 0);
        let mut child = psql.spawn().context("start psql")?;
        let input = child.stdin.take().context("psql's input")?;
        let output = BufReader::new(child.stdout.take().context("psql's output")?);
        Ok(Self { child, input, output })
    }

    /// Runs statements; returns when all are committed.
    pub(crate) fn run(&mut self, sql: &str) -> Result<()> {
        let sent = self
            .input
            .write_all(sql.as_bytes())
            .and_then(|()| self.input.write_all(b"\n\\echo done\n"))
            .and_then(|()| self.input.flush());
        let mut line = String::new();
        while sent.is_ok() && self.output.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.trim_end() == "done" {
                return Ok(());
            }
            line.clear();
        }
        let mut complaint = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut complaint);
        }
        bail!("PostgreSQL: {}", complaint.trim())
    }

    /// Ends it.
    pub(crate) fn close(mut self) -> Result<()> {
        drop(self.input);
        self.child.wait().context("wait for psql")?;
        Ok(())
    }
}

/// What the shop knows of itself while it makes changes.
struct Shop {
    random: u64,
    next_order: u64,
    next_customer: u64,
    /// Orders made since the shop opened that are still there, with their number of lines.
    open: Vec<(u64, u64)>,
}

impl Shop {
    fn new() -> Self {
        Self {
            random: 0x9e37_79b9_7f4a_7c15,
            next_order: shop::ORDERS + 1,
            next_customer: shop::CUSTOMERS + 1,
            open: Vec::new(),
        }
    }

    /// Below `limit`, by xorshift: the same day in the shop each time.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    /// Writes one transaction; gives the number of rows that it changes.
    fn transaction(&mut self, sql: &mut String) -> u64 {
        let kind = self.below(100);
        let (text, rows) = match kind {
            0..45 => self.order(),
            45..70 => self.move_on(),
            70..80 if self.open.len() > 50 => self.cancel(),
            80..85 => self.new_customer(),
            85..95 => self.edit_customer(),
            _ => self.edit_product(),
        };
        let _ = write!(sql, "BEGIN;{text}COMMIT;");
        rows
    }

    fn order(&mut self) -> (String, u64) {
        let (id, lines) = (self.next_order, 1 + self.below(4));
        self.next_order += 1;
        let (customer, total) = (1 + self.below(shop::CUSTOMERS), self.below(100_000));
        let mut text = format!(
            "INSERT INTO orders VALUES ({id}, {customer}, 'placed', {total}/100.0, 'EUR', {}, current_date + {}, clock_timestamp(), localtimestamp(3));",
            if total % 5 == 0 { "'gift wrap — s''il vous plaît'" } else { "NULL" },
            total % 30
        );
        for line in 1..=lines {
            let (product, quantity) = (1 + self.below(shop::PRODUCTS), 1 + self.below(5));
            let _ = write!(
                text,
                "INSERT INTO order_lines SELECT {id}, {line}, id, {quantity}, price, {}, {}, NULL FROM products WHERE id = {product};\
                 UPDATE products SET stock = stock - {quantity}, updated_at = clock_timestamp() WHERE id = {product};",
                if quantity == 5 { "0.1" } else { "NULL" },
                total % 9 == 0
            );
        }
        self.open.push((id, lines));
        (text, 1 + 2 * lines)
    }

    fn move_on(&mut self) -> (String, u64) {
        let id = if self.open.is_empty() {
            1 + self.below(shop::ORDERS)
        } else {
            let at = self.below(self.open.len() as u64);
            usize::try_from(at).ok().and_then(|at| self.open.get(at)).map_or(1, |(id, _)| *id)
        };
        let status = ["paid", "packed", "shipped", "delivered", "returned"]
            [usize::try_from(self.below(5)).unwrap_or(0)];
        (format!("UPDATE orders SET status = '{status}' WHERE id = {id};"), 1)
    }

    fn cancel(&mut self) -> (String, u64) {
        let at = usize::try_from(self.below(self.open.len() as u64)).unwrap_or(0);
        let (id, lines) = self.open.swap_remove(at);
        (
            format!(
                "DELETE FROM order_lines WHERE order_id = {id};DELETE FROM orders WHERE id = {id};"
            ),
            lines + 1,
        )
    }

    fn new_customer(&mut self) -> (String, u64) {
        let id = self.next_customer;
        self.next_customer += 1;
        let text = format!(
            "INSERT INTO customers VALUES ({id}, 'customer{id}@example.com', 'New Customer', 'IT', 0, '{{new}}', NULL, NULL, clock_timestamp(), clock_timestamp());"
        );
        (text, 1)
    }

    fn edit_customer(&mut self) -> (String, u64) {
        let (id, points) = (1 + self.below(shop::CUSTOMERS), self.below(50));
        let text = format!(
            "UPDATE customers SET points = points + {points}, address = jsonb_build_object('city', 'Town {points}'), newsletter = NOT newsletter, \
             updated_at = clock_timestamp() WHERE id = {id};"
        );
        (text, 1)
    }

    fn edit_product(&mut self) -> (String, u64) {
        let (id, price) = (1 + self.below(shop::PRODUCTS), self.below(20_000));
        (
            format!(
                "UPDATE products SET price = {price}/100.0, updated_at = clock_timestamp() WHERE id = {id};"
            ),
            1,
        )
    }
}
