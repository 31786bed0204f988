//! Logs in: PLAIN, and SCRAM with SHA-256 or SHA-512.
//!
//! Source: RFC 4616 (PLAIN), RFC 5802 and 7677 (SCRAM).

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use kafka_protocol::{
    error::ResponseError,
    messages::{SaslAuthenticateRequest, SaslHandshakeRequest},
    protocol::StrBytes,
};
use lattice_core::{Error, Result, secret::Secret};
use ring::{digest, hmac, pbkdf2, rand, rand::SecureRandom};

use super::{
    connection::Connection,
    fault::Fault,
    options::{Properties, secret},
};

/// How the principal is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

impl Mechanism {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// Who logs in.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    mechanism: Mechanism,
    username: String,
    password: Secret,
}

impl Login {
    /// Reads the `sasl.*` properties; `None`: there is no login.
    pub(crate) fn read(properties: &mut Properties) -> Result<Option<Self>> {
        let mechanism = properties.take("sasl.mechanism");
        let Some(jaas) = secret(properties, "sasl.jaas.config") else { return Ok(None) };
        let mechanism = match mechanism.as_deref() {
            Some("PLAIN") => Mechanism::Plain,
            Some("SCRAM-SHA-256") => Mechanism::ScramSha256,
            Some("SCRAM-SHA-512") => Mechanism::ScramSha512,
            other => {
                return Err(Error::config(format!(
                    "\"sasl.mechanism\" is {}",
                    other.unwrap_or("not set")
                ))
                .with_remedy("use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"));
            }
        };
        let option = |name: &str| {
            jaas_option(jaas.expose(), name).ok_or_else(|| {
                Error::config(format!("\"sasl.jaas.config\" has no {name}")).with_remedy(
                    "write it as: org.apache.kafka.common.security.scram.ScramLoginModule required \
                     username=\"…\" password=\"…\";",
                )
            })
        };
        let (username, password) = (option("username")?, Secret::new(option("password")?));
        Ok(Some(Self { mechanism, username, password }))
    }

    /// Proves who we are on a new connection.
    pub(crate) async fn log_in(&self, connection: &Connection) -> Result<(), Fault> {
        let mechanism = self.mechanism.as_str();
        let handshake =
            SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(mechanism));
        let answer = connection.call(&handshake).await?;
        if let Some(fault) = Fault::of_code(answer.error_code, None) {
            if !fault.is(ResponseError::UnsupportedSaslMechanism) {
                return Err(self.refused(connection, fault));
            }
            let offered: Vec<&str> = answer.mechanisms.iter().map(StrBytes::as_str).collect();
            return Err(Fault::Final(
                Error::config(format!(
                    "the Kafka broker {} does not offer {mechanism}",
                    connection.address()
                ))
                .with_remedy(format!("set \"sasl.mechanism\" to one of {}", offered.join(", "))),
            ));
        }
        match self.mechanism {
            Mechanism::Plain => {
                let message = format!("\0{}\0{}", self.username, self.password.expose());
                self.send(connection, message).await.map(drop)
            }
            Mechanism::ScramSha256 => self.scram(connection, &SHA256).await,
            Mechanism::ScramSha512 => self.scram(connection, &SHA512).await,
        }
    }

    async fn scram(&self, connection: &Connection, hash: &Hash) -> Result<(), Fault> {
        let mut nonce = [0; 24];
        rand::SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| Error::fatal("get random bytes from the system"))?;
        let client = Scram::new(&self.username, &BASE64_STANDARD.encode(nonce));
        let first = self.send(connection, client.first()).await?;
        let challenge = String::from_utf8_lossy(&first).into_owned();
        let (last, expected) =
            client.last(&challenge, &self.password, hash).ok_or_else(|| self.odd(connection))?;
        let signature = self.send(connection, last).await?;
        if *signature != *expected.as_bytes() {
            return Err(self.odd(connection));
        }
        Ok(())
    }

    async fn send(&self, connection: &Connection, message: String) -> Result<Bytes, Fault> {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(message));
        let answer = connection.call(&request).await?;
        let said = answer.error_message.as_deref();
        if let Some(fault) = Fault::of_code(answer.error_code, said) {
            return Err(self.refused(connection, fault));
        }
        if let Ok(lifetime @ 1..) = u64::try_from(answer.session_lifetime_ms) {
            // A fresh connection in time costs less than logging in again on a used one.
            connection.expire_in(Duration::from_millis(lifetime) / 5 * 4);
        }
        Ok(answer.auth_bytes)
    }

    fn refused(&self, connection: &Connection, fault: Fault) -> Fault {
        let what = format!(
            "log in at the Kafka broker {} as \"{}\" by {}",
            connection.address(),
            self.username,
            self.mechanism.as_str()
        );
        Fault::Final(fault.told(&what))
    }

    /// The broker does not know the password either, or is no broker.
    fn odd(&self, connection: &Connection) -> Fault {
        Fault::Final(Error::config(format!(
            "log in at the Kafka broker {}: its part of {} is wrong",
            connection.address(),
            self.mechanism.as_str()
        )))
    }
}

/// The hash functions of a SCRAM mechanism.
struct Hash {
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

static SHA256: Hash =
    Hash { digest: &digest::SHA256, hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256 };
static SHA512: Hash =
    Hash { digest: &digest::SHA512, hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512 };

/// The client's side of a SCRAM exchange.
struct Scram {
    nonce: String,
    bare: String,
}

impl Scram {
    fn new(username: &str, nonce: &str) -> Self {
        let name = username.replace('=', "=3D").replace(',', "=2C");
        Self { nonce: nonce.to_owned(), bare: format!("n={name},r={nonce}") }
    }

    fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// The answer to the server's challenge, and what the server must say then. `None`: the
    /// challenge is wrong.
    fn last(&self, challenge: &str, password: &Secret, hash: &Hash) -> Option<(String, String)> {
        let part = |name: &str| challenge.split(',').find_map(|part| part.strip_prefix(name));
        let (nonce, salt) = (part("r=")?, BASE64_STANDARD.decode(part("s=")?).ok()?);
        let rounds = part("i=")?.parse().ok()?;
        if !nonce.starts_with(&self.nonce) {
            return None;
        }
        let length = hash.digest.output_len();
        let mut salted = vec![0; length];
        pbkdf2::derive(hash.pbkdf2, rounds, &salt, password.expose().as_bytes(), &mut salted);
        let sign = |key: &[u8], data: &[u8]| hmac::sign(&hmac::Key::new(hash.hmac, key), data);
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(hash.digest, client_key.as_ref());
        let without_proof = format!("c=biws,r={nonce}");
        let said = format!("{},{challenge},{without_proof}", self.bare);
        let signature = sign(stored_key.as_ref(), said.as_bytes());
        let proof: Vec<u8> =
            client_key.as_ref().iter().zip(signature.as_ref()).map(|(a, b)| a ^ b).collect();
        let server_key = sign(&salted, b"Server Key");
        let expected = sign(server_key.as_ref(), said.as_bytes());
        Some((
            format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)),
            format!("v={}", BASE64_STANDARD.encode(expected)),
        ))
    }
}

/// The value of an option in a JAAS line: `name="value"`, with backslashes before quotes.
fn jaas_option(line: &str, name: &str) -> Option<String> {
    let mut rest = line;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = rest[at + name.len()..].trim_start();
        rest = &rest[at + name.len()..];
        let Some(value) = after.strip_prefix('=') else { continue };
        if before.is_some_and(|character| !character.is_whitespace()) {
            continue;
        }
        return quoted(value.trim_start());
    }
}

fn quoted(text: &str) -> Option<String> {
    let mut characters = text.chars();
    let quote = characters.next().filter(|first| ['"', '\''].contains(first));
    let Some(quote) = quote else {
        let end = text.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(text.len());
        return Some(text[..end].to_owned());
    };
    let mut value = String::new();
    loop {
        match characters.next()? {
            '\\' => value.push(characters.next()?),
            character if character == quote => return Some(value),
            character => value.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jaas_lines_are_read_as_java_does() {
        let line = r#"org.apache.X required username="al=ice" password="p\"w;d" ;"#;
        assert_eq!(jaas_option(line, "username").as_deref(), Some("al=ice"));
        assert_eq!(jaas_option(line, "password").as_deref(), Some("p\"w;d"));
        assert_eq!(jaas_option(line, "user"), None);
        assert_eq!(jaas_option("x required username=a password=b;", "password").unwrap(), "b");
    }

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn scram_sha_256_is_that_of_the_rfc() {
        let client = Scram::new("user", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(client.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (last, expected) = client.last(challenge, &Secret::new("pencil"), &SHA256).unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(expected, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }
}
