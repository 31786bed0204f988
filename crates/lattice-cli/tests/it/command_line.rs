//! `lattice …` as a person or a script runs it.

use std::{
    process::{Command, Output},
    time::Duration,
};

use lattice_testkit::{LatticeProcess, PostgresDatabase, service, wait_until};

fn lattice(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lattice"))
        .args(arguments)
        .env("LATTICE_DATA", "/dev/null/nowhere")
        .output()
        .expect("run lattice")
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a client command against a server, off the async runtime's threads.
async fn client(server: &LatticeProcess, arguments: &[&str]) -> Output {
    let url = server.url();
    let mut all: Vec<String> = vec!["--url".to_owned(), url];
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let run = move || lattice(&all.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.expect("the command ends")
}

#[test]
fn a_server_that_is_not_there_is_said_with_the_remedy() {
    let output = lattice(&["--url", "http://127.0.0.1:9", "status"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("is lattice serve running there?"), "{}", text(&output));
}

#[test]
fn a_data_folder_that_cannot_be_written_is_said_with_the_remedy() {
    let output = lattice(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success());
    let text = text(&output);
    assert!(text.contains("/dev/null/nowhere") && text.contains("--data"), "{text}");
}

#[tokio::test]
async fn a_port_in_use_and_a_folder_in_use_are_said_with_the_remedy() {
    let server = LatticeProcess::start().await;
    let address = server.url().replace("http://", "");
    let folder = server.data().display().to_string();
    let run = move || {
        (
            lattice(&["serve", "--listen", &address]),
            lattice(&["serve", "--listen", "127.0.0.1:0", "--data", &folder]),
        )
    };
    let (port, folder) = tokio::task::spawn_blocking(run).await.expect("the commands end");
    assert!(text(&port).contains("another program has the port"), "{}", text(&port));
    assert!(text(&folder).contains("in use by another process"), "{}", text(&folder));
}

#[tokio::test]
async fn apply_creates_then_finds_nothing_to_do_then_updates() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "cli_apply").await;
    source
        .execute("create table public.t (id int primary key); insert into public.t values (1), (2)")
        .await;
    let password = source.password();
    let server =
        LatticeProcess::start_with(&[], &[("CLI_APPLY_PASSWORD", password.as_str())]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("source.yaml");
    let yaml = |extra: &str| {
        format!(
            "name: shop\nconfig:\n  connector.class: postgres\n  database.hostname: {}\n  database.port: {}\n  \
             database.user: {}\n  database.password: ${{env:CLI_APPLY_PASSWORD}}\n  database.dbname: {}\n  \
             topic.prefix: p\n  slot.name: s_{}\n{extra}",
            source.host(),
            source.port(),
            source.user(),
            source.name(),
            source.name()
        )
    };
    std::fs::write(&file, yaml("")).expect("write the file");
    let path = file.display().to_string();
    let check = client(&server, &["check", &path]).await;
    assert!(check.status.success(), "{}", text(&check));
    let dry = client(&server, &["apply", "--dry-run", &path]).await;
    assert!(text(&dry).contains("would be created"), "{}", text(&dry));
    for expected in ["shop created", "shop unchanged"] {
        let applied = client(&server, &["apply", &path]).await;
        assert!(
            applied.status.success() && text(&applied).contains(expected),
            "{}",
            text(&applied)
        );
    }
    std::fs::write(&file, yaml("  tombstones.on.delete: false\n")).expect("write the file");
    let applied = client(&server, &["apply", &path]).await;
    assert!(text(&applied).contains("shop updated"), "{}", text(&applied));
    server.wait_running("shop").await;
    // The topic is made by its first record.
    wait_until(Duration::from_secs(30), "the topic is there", async || {
        server.request("GET", "/api/v1/topics/p.public.t", None).await.status == 200
    })
    .await;
    let tail =
        client(&server, &["--json", "tail", "p.public.t", "--from", "earliest", "-n", "2"]).await;
    let rows: Vec<serde_json::Value> = String::from_utf8_lossy(&tail.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    assert_eq!(rows.len(), 2, "{}", text(&tail));
    assert_eq!(rows[0]["op"], "r");
    assert_eq!(rows[0]["after"]["id"], 1);
    // The task that runs since the update tells its tables once it is connected.
    wait_until(Duration::from_secs(30), "the status tells the table", async || {
        let status = text(&client(&server, &["status", "shop"]).await);
        status.contains("RUNNING") && status.contains("public.t")
    })
    .await;
}

#[tokio::test]
async fn check_lists_every_issue_with_its_remedy_and_fails() {
    let server = LatticeProcess::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.json");
    std::fs::write(
        &file,
        r#"{"name":"bad","config":{"connector.class":"postgres","database.hostnme":"x","database.port":"70000","topic.prefix":"p"}}"#,
    )
    .expect("write the file");
    let output = client(&server, &["check", &file.display().to_string()]).await;
    let text = text(&output);
    assert!(!output.status.success(), "{text}");
    for words in ["did you mean \"database.hostname\"?", "from 1 to 65535", "database.dbname"] {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn a_malformed_file_is_named_with_the_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("broken.json");
    std::fs::write(&file, "{\"name\": ").expect("write the file");
    let output = lattice(&["apply", &file.display().to_string()]);
    assert!(!output.status.success());
    assert!(
        text(&output).contains("broken.json") && text(&output).contains("line 1"),
        "{}",
        text(&output)
    );
}

#[test]
fn completion_knows_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = lattice(&["completion", shell]);
        assert!(output.status.success() && text(&output).contains("connectors"), "{shell}");
    }
}

#[test]
fn the_reference_pages_say_what_the_key_tables_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lattice(&["docs", &folder.path().display().to_string()]);
    assert!(output.status.success(), "{}", text(&output));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config");
    let pages: Vec<_> = std::fs::read_dir(folder.path()).expect("pages").collect();
    assert!(pages.len() >= 6, "a page a connector, converters and transformations");
    for made in pages {
        let made = made.expect("a page").path();
        let name = made.file_name().and_then(|name| name.to_str()).expect("a name");
        let page = std::fs::read_to_string(format!("{kept}/{name}")).unwrap_or_default();
        let made = std::fs::read_to_string(&made).expect("a page");
        assert!(made == page, "docs/config/{name} is old: run lattice docs docs/config");
    }
}

const PLATFORM: &str = "name: shop\nregion: eu-west-1\naccount: '111122223333'\nvpc: vpc-1\n\
                        subnets: [subnet-1, subnet-2]\nallowed_cidrs: [10.0.0.0/16]\n";

#[test]
fn eject_writes_modules_and_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, out) = (folder.path().join("lattice.yaml"), folder.path().join("tofu"));
    std::fs::write(&config, PLATFORM).expect("write");
    let (config, shown) = (config.display().to_string(), out.display().to_string());
    let output = lattice(&["eject", &shown, "--config", &config]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(out.join("modules/kafka/main.tf").is_file());
    let variables = std::fs::read_to_string(out.join("terraform.tfvars.json")).expect("read");
    let variables: serde_json::Value = serde_json::from_str(&variables).expect("JSON");
    assert_eq!(variables["subnet_ids"], serde_json::json!(["subnet-1", "subnet-2"]));
}

#[test]
fn cost_tells_the_sum_and_where_prices_are_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("lattice.yaml");
    std::fs::write(&config, PLATFORM).expect("write");
    let output = lattice(&["cost", "--config", &config.display().to_string()]);
    let text = text(&output);
    assert!(
        output.status.success() && text.contains("together") && text.contains("us-east-1"),
        "{text}"
    );
    let missing = lattice(&["cost", "--config", "/nonexistent.yaml"]);
    assert!(!missing.status.success());
}
