//! What the real Kafka Connect answers, and what Lattice answers: the table of `tests/parity`, by status, headers, body
//! shape and error. `cargo x parity connect` records the real one's answers anew.

use lattice_testkit::{
    ClickHouseDatabase, LatticeProcess, PostgresDatabase,
    parity::{Answer, Differences, Recording, Table},
    service,
};

/// A file of the project, from the crate's folder.
fn file(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn lattice_answers_as_kafka_connect_does() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "parity").await;
    source.execute("create table orders (id int primary key, note text); insert into orders values (1, 'a')").await;
    let target = ClickHouseDatabase::create(&service("LATTICE_TEST_CH"), "parity").await;
    let lattice = LatticeProcess::start().await;
    let slot = format!("s_{}", source.name());
    let (from, to) = (source.connector_config(), target.connector_config());
    let of = |config: &[(String, String)], name: &str| {
        let found = config.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let variables = [
        ("host", of(&from, "database.hostname")),
        ("port", of(&from, "database.port")),
        ("user", of(&from, "database.user")),
        ("password", of(&from, "database.password")),
        ("database", of(&from, "database.dbname")),
        ("slot", slot),
        ("target.host", of(&to, "hostname")),
        ("target.port", of(&to, "port")),
        ("target.database", of(&to, "database")),
        ("target.user", of(&to, "username")),
        ("target.password", of(&to, "password")),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let address = lattice.url().trim_start_matches("http://").to_owned();
    let report = tokio::task::spawn_blocking(move || {
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        compare(&address, &Table::read(&file("tests/parity/connect.json"), "ours", &variables))
    });
    let report = report.await.expect("the table is gone through");
    assert!(report.is_empty(), "{} requests differ:\n{}", report.len(), report.join("\n"));
}

/// Sends all requests; what differs that should not, and what does not differ that should.
fn compare(address: &str, table: &Table) -> Vec<String> {
    let recording = Recording::read(&file("tests/parity/connect.recorded.json"));
    let differences = Differences::read(&file("tests/parity/connect.differences.json"));
    let mut report = Vec::new();
    for request in &table.0 {
        let name = &request.name;
        let answer = request.send(address);
        if request.ignored {
            continue;
        }
        let found = match (recording.0.get(name), answer) {
            (None, _) => vec!["the real one's answer is not recorded".to_owned()],
            (_, Err(error)) => vec![error.to_string()],
            (Some(real), Ok(ours)) => {
                let mut found = real.differs(&ours, request);
                found.retain(|text| !differences.is_anywhere(text));
                if refused_better(real, &ours) {
                    found.clear();
                }
                found.extend(malformed(&ours));
                found
            }
        };
        match (differences.of(name), found.is_empty()) {
            (None, false) => report.push(format!("{name}: {}", found.join("; "))),
            (Some(difference), true) => {
                report.push(format!("{name}: no difference, though listed under \"{difference}\""));
            }
            (None, true) | (Some(_), false) => {}
        }
    }
    report
}

/// The two differences that are no request's own: where the real one fails over bad input, or its web server answers
/// with a page or nothing, ours refuses with a body that says why.
fn refused_better(real: &Answer, ours: &Answer) -> bool {
    let page = real.status == 400 && real.body.is_string();
    (400..500).contains(&ours.status) && (real.status == 500 || page)
}

/// What no answer of ours may be, whatever the real one does.
fn malformed(ours: &Answer) -> Option<String> {
    let empty = ours.body.as_str() == Some("");
    if ours.status >= 500 {
        return Some(format!("the server failed: {}", ours.body));
    }
    let told = ours.body["error_code"] == ours.status && ours.body["message"].is_string();
    (ours.status >= 400 && !empty && !told).then(|| format!("no error body: {}", ours.body))
}

#[test]
fn every_difference_is_told_in_the_documentation() {
    let page = file("../../docs/compatibility.md");
    let recorded = file("tests/parity/connect.recorded.json");
    let names: Vec<&str> = recorded.lines().collect();
    for difference in Differences::read(&file("tests/parity/connect.differences.json")).0 {
        let name = &difference.name;
        assert!(page.contains(&format!("### {name}\n")), "docs/compatibility.md has no \"{name}\"");
        assert!(!difference.reason.is_empty(), "{name}: a reason");
        for request in difference.requests {
            let line = format!("{request:?}: ");
            assert!(names.iter().any(|name| name.starts_with(&line)), "no request \"{request}\"");
        }
    }
}
