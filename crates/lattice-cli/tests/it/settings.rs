//! Settings of the worker: while it runs, and from Kafka Connect's own file.

use lattice_testkit::LatticeProcess;
use serde_json::json;

#[tokio::test]
async fn a_log_level_that_is_set_holds_for_the_next_line() {
    let mut lattice = LatticeProcess::start_with(&["--log", "warn"], &[]).await;
    assert!(!lattice.log().contains("INFO"), "{}", lattice.log());
    let level = json!({"level": "info"});
    let changed = lattice.request("PUT", "/admin/loggers/root", Some(&level)).await;
    assert_eq!(changed.body, json!(["root"]));
    let told = lattice.get("/admin/loggers/root").await;
    assert_eq!(told["level"], "INFO");
    assert!(told["last_modified"].is_number(), "{told}");
    assert_eq!(lattice.stop().await, Some(0));
    assert!(lattice.log().contains("lattice stopped"), "{}", lattice.log());
}

#[tokio::test]
async fn a_file_of_a_kafka_connect_worker_says_what_references_may_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out.properties"));
    std::fs::create_dir(&inside).expect("a folder in it");
    for file in [&inside.join("secrets.properties"), &outside] {
        std::fs::write(file, "prefix=shop\n").expect("write secrets");
    }
    let settings = folder.path().join("worker.properties");
    let class = "org.apache.kafka.common.config.provider.FileConfigProvider";
    let text = format!(
        "key.converter = org.apache.kafka.connect.json.JsonConverter\nconfig.providers = file\n\
         config.providers.file.class = {class}\nconfig.providers.file.param.allowed.paths = {}\n",
        inside.display()
    );
    std::fs::write(&settings, text).expect("write settings");
    let lattice =
        LatticeProcess::start_with(&["--worker-config", &settings.display().to_string()], &[])
            .await;
    let issues = async |file: &std::path::Path| {
        let prefix = format!("${{file:{}:prefix}}", file.display());
        let config = json!({"name": "c", "connector.class": "postgres", "topic.prefix": prefix});
        let body = json!({"name": "c", "config": config});
        let told = lattice.request("POST", "/api/v1/check", Some(&body)).await.body;
        let issues = told["issues"].as_array().cloned().unwrap_or_default();
        let of = issues.into_iter().filter(|issue| issue["key"] == "topic.prefix");
        of.map(|issue| issue["message"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(issues(&inside.join("secrets.properties")).await, Vec::<String>::new());
    let refused = issues(&outside).await;
    assert!(
        refused.iter().any(|text| text.contains("not below any of the allowed paths")),
        "{refused:?}"
    );
}
