//! Encryption and logins, on a real broker that asks for both.

use std::{collections::BTreeMap, path::Path, process::Command, sync::Arc};

use lattice_core::{Error, ErrorKind};
use lattice_log::{KafkaLog, KafkaOptions, Log as _, TopicConfig};
use lattice_testkit::{KafkaBroker, KafkaBrokerOptions};

/// A certificate for 127.0.0.1 that signs itself, and its key, in one PEM file each and together.
fn make_certificate(folder: &Path) {
    let output = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem"])
        .args(["-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"])
        .output()
        .expect("openssl is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let both = ["key.pem", "cert.pem"]
        .map(|file| std::fs::read_to_string(folder.join(file)).expect("openssl wrote the file"));
    std::fs::write(folder.join("both.pem"), both.concat()).expect("a writable folder");
}

async fn start_broker(folder: &Path) -> KafkaBroker {
    make_certificate(folder);
    let plain = "org.apache.kafka.common.security.plain.PlainLoginModule required \
                 username=\"admin\" password=\"admin\" user_admin=\"admin\" user_alice=\"wonder\";";
    let scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
    let properties = [
        "listeners=SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}".to_owned(),
        "advertised.listeners=SASL_SSL://127.0.0.1:{port}".to_owned(),
        "listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT".to_owned(),
        "inter.broker.listener.name=SASL_SSL".to_owned(),
        "sasl.mechanism.inter.broker.protocol=PLAIN".to_owned(),
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512".to_owned(),
        format!("listener.name.sasl_ssl.plain.sasl.jaas.config={plain}"),
        format!("listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={scram}"),
        format!("listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={scram}"),
        "ssl.keystore.type=PEM".to_owned(),
        format!("ssl.keystore.location={}", folder.join("both.pem").display()),
        "ssl.truststore.type=PEM".to_owned(),
        format!("ssl.truststore.location={}", folder.join("cert.pem").display()),
    ];
    KafkaBroker::start_with(KafkaBrokerOptions {
        properties: properties.to_vec(),
        scram: vec![
            "SCRAM-SHA-256=[name=alice,password=wonder]".to_owned(),
            "SCRAM-SHA-512=[name=alice,password=wonder]".to_owned(),
        ],
        ..KafkaBrokerOptions::default()
    })
    .await
}

async fn open(
    broker: &KafkaBroker,
    authority: Option<&Path>,
    mechanism: &str,
    password: &str,
) -> Result<Arc<KafkaLog>, Error> {
    let mut options = KafkaOptions::new(broker.address());
    let login = format!("x.LoginModule required username=\"alice\" password=\"{password}\";");
    let mut properties = BTreeMap::from([
        ("security.protocol", "SASL_SSL".to_owned()),
        ("sasl.mechanism", mechanism.to_owned()),
        ("sasl.jaas.config", login),
    ]);
    if let Some(file) = authority {
        properties.insert("ssl.truststore.type", "PEM".to_owned());
        properties.insert("ssl.truststore.location", file.display().to_string());
    }
    options.properties.extend(properties.into_iter().map(|(name, value)| (name.to_owned(), value)));
    KafkaLog::open(options).await
}

#[tokio::test]
async fn every_mechanism_logs_in_over_tls_and_refusals_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = start_broker(folder.path()).await;
    let authority = folder.path().join("cert.pem");
    let known = Some(authority.as_path());
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let log = open(&broker, known, mechanism, "wonder").await;
        let log = log.unwrap_or_else(|error| panic!("{mechanism}: {}", error.chain()));
        assert!(log.create_topic(mechanism, TopicConfig::default()).await.unwrap());
        let error = open(&broker, known, mechanism, "wrong-secret").await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Auth, "{mechanism}: {}", error.chain());
        assert!(error.chain().contains("as \"alice\" by"), "{}", error.chain());
        assert!(!error.chain().contains("wrong-secret"), "{}", error.chain());
    }
    let error = open(&broker, None, "PLAIN", "wonder").await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.remedy().unwrap_or_default().contains("ssl.truststore.location"));
}
