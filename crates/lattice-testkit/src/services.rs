//! Where the real services are.

use std::{
    net::{TcpListener, TcpStream, ToSocketAddrs},
    path::PathBuf,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

/// Each variable with the address that `cargo x services up` uses when nothing else is said.
const SERVICES: &[(&str, &str)] = &[
    ("LATTICE_TEST_PG15", "postgres://postgres:postgres@127.0.0.1:15415/postgres"),
    ("LATTICE_TEST_PG18", "postgres://postgres:postgres@127.0.0.1:15418/postgres"),
    ("LATTICE_TEST_PG15_STANDBY", "postgres://postgres:postgres@127.0.0.1:15416/postgres"),
    ("LATTICE_TEST_CH", "http://127.0.0.1:18200"),
    ("LATTICE_TEST_CH18", "http://127.0.0.1:18123"),
    ("LATTICE_TEST_APICURIO", "http://127.0.0.1:19480"),
    ("LATTICE_TEST_KAFKA", "127.0.0.1:19292"),
    ("LATTICE_TEST_MYSQL", "mysql://lattice:lattice@127.0.0.1:13397/mysql"),
    ("LATTICE_TEST_MARIADB", "mysql://lattice:lattice@127.0.0.1:13306/mysql"),
];

/// Gives the address of a real service: the variable of this name, else the address at which
/// `cargo x services up` starts it.
///
/// Panics, with the remedy, if nothing listens there: a test without its service fails, it is not skipped.
pub fn service(name: &str) -> String {
    let url = std::env::var(name).unwrap_or_else(|_| {
        let known = SERVICES.iter().find(|(variable, _)| *variable == name);
        let (_, default) =
            known.unwrap_or_else(|| panic!("no service is called {name}; there are {SERVICES:?}"));
        (*default).to_owned()
    });
    assert_listens(name, &url);
    url
}

/// The certificate authority that signed the test services' certificates (PEM).
///
/// Panics if it is missing, with the remedy.
pub fn ca_certificate() -> PathBuf {
    let path = std::env::var_os("LATTICE_TEST_CA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.dev/tls/ca.crt")),
        PathBuf::from,
    );
    assert!(
        path.is_file(),
        "no test certificate authority at {}; make it with: cargo x services up",
        path.display()
    );
    path
}

/// A TCP port on loopback that nothing listens on, outside the range from which the system takes the
/// ports of outgoing connections: it stays free while a process is killed and started again on it.
///
/// Panics if there is none.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 10_000;
    let of_process =
        u16::try_from(u64::from(std::process::id()) * 37 % u64::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (of_process + step % COUNT) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}

/// `host:port` of a URL.
pub(crate) fn address_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, address)| address)
}

fn assert_listens(name: &str, url: &str) {
    let address = without_password(url);
    assert!(
        listens(url),
        "the real service {name} does not answer at {address}; start it with: cargo x services up"
    );
}

pub(crate) fn listens(url: &str) -> bool {
    let Ok(addresses) = address_of(url).to_socket_addrs() else { return false };
    addresses
        .into_iter()
        .any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(5)).is_ok())
}

fn without_password(url: &str) -> String {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    format!("{scheme}://{}", address_of(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_found_in_a_url_with_and_without_credentials() {
        assert_eq!(address_of("postgres://u:p@h:1/db"), "h:1");
        assert_eq!(address_of("http://127.0.0.1:18200"), "127.0.0.1:18200");
        assert_eq!(address_of("http://h:1?user=a"), "h:1");
    }

    #[test]
    fn passwords_are_left_out_of_messages() {
        assert_eq!(without_password("postgres://u:secret@h:1/db"), "postgres://h:1");
    }

    #[test]
    #[should_panic(
        expected = "LATTICE_TEST_CH does not answer at http://127.0.0.1:1; start it with: cargo x services up"
    )]
    fn a_missing_service_is_a_loud_failure_with_the_remedy() {
        assert_listens("LATTICE_TEST_CH", "http://127.0.0.1:1");
    }

    #[test]
    #[should_panic(expected = "no service is called LATTICE_TEST_ORACLE")]
    fn an_unknown_service_is_named() {
        service("LATTICE_TEST_ORACLE");
    }
}
