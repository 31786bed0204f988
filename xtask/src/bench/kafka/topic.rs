//! What stands in a topic, asked of the broker itself in two requests of Kafka's protocol: neither side's client counts
//! its own rows.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, Result, bail};

const FETCH: i16 = 1;
const LIST_OFFSETS: i16 = 2;

/// The topic does not exist, or has no leader yet.
const NOT_YET: [i16; 3] = [3, 5, 6];

/// A connection to the only broker of a cluster.
pub(crate) struct Topics {
    stream: TcpStream,
}

/// What a fetch gave.
pub(crate) struct Fetched {
    /// Record batches as they stand there; the last may be cut off.
    pub(crate) bytes: Vec<u8>,
    /// Where to go on.
    pub(crate) next: i64,
}

impl Topics {
    pub(crate) fn connect(broker: &str) -> Result<Self> {
        let stream = TcpStream::connect(broker).with_context(|| format!("connect to {broker}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream })
    }

    /// Committed records in partition 0; 0 for a topic that is not there. A transaction's marker counts as a record: one
    /// among thousands.
    pub(crate) fn records(&mut self, topic: &str) -> Result<u64> {
        // Replica -1, isolation level 1; one topic with one partition; time -1 asks for the end.
        let mut body = (-1_i32).to_be_bytes().to_vec();
        body.push(1);
        name_one(&mut body, topic);
        body.extend((-1_i64).to_be_bytes());
        let answer = self.call(LIST_OFFSETS, 2, &body)?;
        let mut answer = Cursor(&answer);
        answer.skip(4 + 4)?;
        answer.text()?;
        answer.skip(4 + 4)?;
        let error = answer.i16()?;
        if NOT_YET.contains(&error) {
            return Ok(0);
        }
        if error != 0 {
            bail!("the broker answers error {error} about the end of {topic}");
        }
        answer.skip(8)?;
        Ok(u64::try_from(answer.i64()?).unwrap_or(0))
    }

    /// Reads partition 0 from an offset, waiting up to `wait` for the first record.
    pub(crate) fn fetch(&mut self, topic: &str, from: i64, wait: Duration) -> Result<Fetched> {
        let limit = 4_i32 << 20;
        let mut body = (-1_i32).to_be_bytes().to_vec();
        body.extend(i32::try_from(wait.as_millis())?.to_be_bytes());
        body.extend(1_i32.to_be_bytes());
        body.extend(limit.to_be_bytes());
        // Isolation level 1: only what is committed.
        body.push(1);
        name_one(&mut body, topic);
        body.extend(from.to_be_bytes());
        body.extend(limit.to_be_bytes());
        let answer = self.call(FETCH, 4, &body)?;
        let mut answer = Cursor(&answer);
        answer.skip(4 + 4)?;
        answer.text()?;
        answer.skip(4 + 4)?;
        let error = answer.i16()?;
        if error != 0 && !NOT_YET.contains(&error) {
            bail!("the broker answers error {error} to a fetch of {topic}");
        }
        answer.skip(8 + 8)?;
        let aborted = usize::try_from(answer.i32()?).unwrap_or(0);
        answer.skip(aborted * 16)?;
        let length = usize::try_from(answer.i32()?).unwrap_or(0);
        let bytes = answer.take(length)?.to_vec();
        let next = end_of(&bytes).unwrap_or(from);
        Ok(Fetched { bytes, next })
    }

    fn call(&mut self, api: i16, version: i16, body: &[u8]) -> Result<Vec<u8>> {
        let mut request = Vec::with_capacity(body.len() + 16);
        request.extend(api.to_be_bytes());
        request.extend(version.to_be_bytes());
        request.extend(1_i32.to_be_bytes());
        // No client id.
        request.extend((-1_i16).to_be_bytes());
        request.extend(body);
        let mut framed = u32::try_from(request.len())?.to_be_bytes().to_vec();
        framed.extend(request);
        self.stream.write_all(&framed)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length))?];
        self.stream.read_exact(&mut answer)?;
        // Behind the correlation id.
        Ok(answer.split_off(4))
    }
}

/// One topic with one partition, number 0.
fn name_one(body: &mut Vec<u8>, topic: &str) {
    body.extend(1_i32.to_be_bytes());
    body.extend(u16::try_from(topic.len()).unwrap_or(u16::MAX).to_be_bytes());
    body.extend(topic.as_bytes());
    body.extend(1_i32.to_be_bytes());
    body.extend(0_i32.to_be_bytes());
}

/// The offset behind the last whole batch.
fn end_of(mut bytes: &[u8]) -> Option<i64> {
    let mut end = None;
    // Base offset, length, and the last offset's distance at its place in the header.
    while let (Some(base), Some(length), Some(last)) =
        (bytes.first_chunk::<8>(), number_at(bytes, 8), number_at(bytes, 23))
    {
        let whole = 12 + usize::try_from(length).ok()?;
        if bytes.len() < whole {
            break;
        }
        end = Some(i64::from_be_bytes(*base) + i64::from(last) + 1);
        bytes = &bytes[whole..];
    }
    end
}

fn number_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk::<4>().map(|number| i32::from_be_bytes(*number))
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).context("the answer is too short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.take(count).map(drop)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.first_chunk::<N>().copied().context("the answer is too short")
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.number()?))
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.number()?))
    }

    fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.number()?))
    }

    fn text(&mut self) -> Result<()> {
        let length = usize::try_from(self.i16()?).unwrap_or(0);
        self.skip(length)
    }
}
