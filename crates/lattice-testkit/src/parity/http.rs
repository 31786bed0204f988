//! Requests as they are written, whatever an HTTP library would think of them.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use super::{shape, table::Request};

/// The real one may take its 90 s before it gives up.
const PATIENCE: Duration = Duration::from_secs(100);

/// Headers that clients act on.
const HEADERS: [&str; 3] = ["content-type", "location", "allow"];

/// What came back: the part of it that clients act on.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// `content-type` (without its parameters), `location` (without the host), `allow` (sorted).
    pub headers: Vec<(String, String)>,
    /// JSON, or a text.
    pub body: Value,
}

impl Answer {
    /// Sends one request on a connection of its own. `address`: `host:port`.
    ///
    /// Errors: of the connection; an answer that is no HTTP.
    pub fn ask(address: &str, request: &Request) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = request.body.as_deref().unwrap_or_default();
        let mut text = format!(
            "{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n",
            request.method, request.target
        );
        for (name, value) in &request.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if request.body.is_some() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        stream.write_all(text.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        parse(&bytes).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            io::Error::new(io::ErrorKind::InvalidData, format!("no HTTP answer: {shown:?}"))
        })
    }

    /// The answer as it is recorded: long texts are cut, and of long lists is kept what is compared.
    #[must_use]
    pub fn to_json(&self, request: &Request) -> Value {
        let headers: serde_json::Map<_, _> =
            self.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let body = shape::reduced(&self.body, request.definitions);
        json!({ "status": self.status, "headers": headers, "body": body })
    }

    /// The answer as it was recorded.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let headers = value["headers"].as_object().cloned().unwrap_or_default();
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            status: value["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(0),
            headers: headers.into_iter().map(|(name, value)| (name, text(value))).collect(),
            body: value["body"].clone(),
        }
    }

    /// In what `ours` differs from this, the real one's answer; nothing if it does not.
    #[must_use]
    pub fn differs(&self, ours: &Self, request: &Request) -> Vec<String> {
        let mut found = Vec::new();
        if self.status != ours.status {
            found.push(format!("status {} instead of {}", ours.status, self.status));
        }
        // More headers are no difference: a 405 must have an Allow, which the real one leaves out.
        for header in self.headers.iter().filter(|header| !ours.headers.contains(header)) {
            found.push(format!("headers {:?} instead of {header:?}", ours.headers));
        }
        shape::compare(&self.body, &ours.body, &mut found);
        if request.definitions {
            shape::compare_definitions(&self.body, &ours.body, &mut found);
        }
        for pointer in &request.equal {
            let (real, own) = (self.body.pointer(pointer), ours.body.pointer(pointer));
            if real != own {
                found.push(format!("{pointer} is {own:?} instead of {real:?}"));
            }
        }
        found
    }
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let all: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    let chunked =
        all.iter().any(|(name, value)| name == "transfer-encoding" && *value == "chunked");
    let rest = &bytes[end + 4..];
    let body = if chunked { unchunk(rest)? } else { rest.to_vec() };
    let text = String::from_utf8_lossy(&body).into_owned();
    let headers = HEADERS.iter().filter_map(|name| {
        let (_, value) = all.iter().find(|(other, _)| other == name)?;
        Some(((*name).to_owned(), header(name, value)))
    });
    let headers = headers.collect();
    Some(Answer {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    })
}

/// What of a header is compared.
fn header(name: &str, value: &str) -> String {
    match name {
        "content-type" => value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
        "location" => {
            let path = value
                .split_once("://")
                .map_or(value, |(_, rest)| rest.find('/').map_or("/", |slash| &rest[slash..]));
            unescaped(path)
        }
        _ => {
            let mut words: Vec<&str> = value.split(',').map(str::trim).collect();
            words.sort_unstable();
            words.join(",")
        }
    }
}

/// Which characters of a path are percent-encoded is not compared.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(place) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..place]);
        let hex = rest.get(place + 1..place + 3).unwrap_or_default();
        bytes.push(u8::from_str_radix(hex, 16).unwrap_or(b'%'));
        rest = rest.get(place + 3..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_answer_is_read() {
        let text = b"HTTP/1.1 405 No\r\nAllow: PUT, GET\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
        let answer = parse(text).unwrap();
        assert_eq!((answer.status, &answer.body), (405, &json!({"a": 1})));
        assert_eq!(answer.headers, [("allow".to_owned(), "GET,PUT".to_owned())]);
    }
}
