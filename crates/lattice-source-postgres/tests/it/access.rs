//! How the server is reached, and what is said when it cannot be used.

use lattice_core::{ErrorKind, connector::SourceConnector};
use lattice_testkit::{Pooler, ca_certificate, service};

use crate::harness::Source;

const SERVERS: [&str; 2] = ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"];

/// How many of the database's sessions are encrypted, and how many are not.
async fn sessions(source: &Source) -> (String, String) {
    let sql = |ssl: &str| {
        format!(
            "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND {ssl}"
        )
    };
    (source.database.value(&sql("s.ssl")).await, source.database.value(&sql("NOT s.ssl")).await)
}

#[tokio::test]
async fn every_encrypting_mode_encrypts_every_session() {
    for server in SERVERS {
        for mode in ["prefer", "require", "verify-ca", "verify-full"] {
            let mut source = Source::new(server, "tls", &[("database.sslmode", mode)]).await;
            if mode.starts_with("verify") {
                source.config.set("database.sslrootcert", ca_certificate().to_string_lossy());
            }
            source
                .database
                .execute("CREATE TABLE t(id int PRIMARY KEY); INSERT INTO t VALUES (1)")
                .await;
            let mut task = source.open().await;
            source.read(&mut task, |seen| seen.len() == 1).await;
            source.database.execute("INSERT INTO t VALUES (2)").await;
            source.read(&mut task, |seen| seen.len() == 1).await;
            let (encrypted, plain) = sessions(&source).await;
            assert_ne!(encrypted, "0", "{mode}");
            assert_eq!(plain, "0", "{mode}");
        }
    }
}

/// Makes the server's port reachable at 127.0.0.2, for which it has no certificate.
async fn forward(port: u16) -> (u16, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.expect("listens");
    let at = listener.local_addr().expect("has an address").port();
    let forwarding = tokio::spawn(async move {
        let mut open = tokio::task::JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            open.spawn(async move {
                let server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
                let mut server = server.expect("the server is there");
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (at, forwarding)
}

#[tokio::test]
async fn a_server_that_cannot_be_verified_is_refused_with_the_remedy() {
    for server in SERVERS {
        let mut source = Source::new(server, "notls", &[("database.sslmode", "verify-full")]).await;
        let refused = async |source: &Source| {
            let error = source.try_open().await.err().expect("must be refused");
            assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
            assert!(
                error.chain().to_string().contains("database.sslrootcert"),
                "{}",
                error.chain()
            );
            let issues = source.connector.validate(&source.config).await;
            assert_eq!(issues[0].key, "database.sslmode", "{issues:?}");
        };
        // The system's authorities do not know the server's.
        refused(&source).await;
        source.config.set("database.sslmode", "verify-ca");
        refused(&source).await;
        // The right authority, but a name that the certificate is not for.
        source.config.set("database.sslrootcert", ca_certificate().to_string_lossy());
        let (elsewhere, forwarding) = forward(source.database.port()).await;
        source.config.set("database.hostname", "127.0.0.2");
        source.config.set("database.port", elsewhere.to_string());
        drop(source.try_open().await.expect("verify-ca does not ask for the name"));
        source.config.set("database.sslmode", "verify-full");
        refused(&source).await;
        forwarding.abort();
        source.config.set("database.port", source.database.port().to_string());
        source.config.set("database.hostname", source.database.host());
        source.config.set("database.sslrootcert", "/nowhere/ca.crt");
        let error = source.try_open().await.err().expect("must be refused");
        assert!(error.to_string().contains("/nowhere/ca.crt"), "{error}");
    }
}

#[tokio::test]
async fn a_replica_that_cannot_decode_is_refused_naming_the_primary_as_the_remedy() {
    let standby = service("LATTICE_TEST_PG15_STANDBY");
    let port = standby.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next());
    let port = port.expect("the URL has a port");
    // Same users and passwords, another server.
    let target = [("database.port", port), ("database.dbname", "postgres")];
    let source = Source::new("LATTICE_TEST_PG15", "replica", &target).await;
    let error = source.try_open().await.err().expect("must be refused");
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.to_string().contains("is a replica"), "{}", error.chain());
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("primary")), "{error:?}");
    let issues = source.connector.validate(&source.config).await;
    let named = |issue: &lattice_core::config::ConfigIssue| {
        issue.key == "database.hostname" && issue.message.contains("is a replica")
    };
    assert!(issues.iter().any(named), "{issues:?}");
}

#[tokio::test]
async fn a_pooler_is_refused_as_one_unless_it_lets_replication_through() {
    let mut source = Source::new("LATTICE_TEST_PG15", "pooler", &[]).await;
    source.database.execute("CREATE TABLE t(id int PRIMARY KEY)").await;
    let pooler = Pooler::start(&source.database).await;
    source.config.set("database.port", pooler.port().to_string());
    source.config.set("database.hostname", "127.0.0.1");
    match source.try_open().await {
        // PgBouncer 1.23 and later.
        Ok(mut task) => {
            source.database.execute("INSERT INTO t VALUES (1)").await;
            let seen = source.read(&mut task, |seen| !seen.is_empty()).await;
            assert_eq!(seen[0].id(), 1);
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
            assert!(error.chain().contains("pooler"), "{}", error.chain());
            let issues = source.connector.validate(&source.config).await;
            let told = |issue: &lattice_core::config::ConfigIssue| format!("{issue:?}");
            assert!(issues.iter().any(|issue| told(issue).contains("pooler")), "{issues:?}");
        }
    }
}
