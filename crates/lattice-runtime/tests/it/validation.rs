//! What is wrong with a configuration is said before anything starts.

use lattice_core::config::Severity;
use lattice_runtime::{InitialState, State};

use crate::fixture::{House, TOPIC, config};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_configuration_is_refused_with_every_error() {
    let (_ground, house) = House::new().await;
    let pairs =
        [("connector.class", "scripted"), ("tasks.max", "many"), ("errors.tolerance", "some")];
    let created = house.worker.create("shop", config(&pairs), InitialState::Running).await;
    let error = created.unwrap_err();
    assert_eq!(error.status(), 400);
    let text = error.to_string();
    assert!(
        text.starts_with(
            "Connector configuration is invalid and contains the following 3 error(s):\n"
        ),
        "{text}"
    );
    for key in ["tasks.max", "errors.tolerance", "topic.prefix"] {
        assert!(text.contains(key), "{text}");
    }
    assert!(house.worker.connectors().await.is_empty());
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_class_is_refused_with_the_one_that_was_meant() {
    let (_ground, house) = House::new().await;
    let issues = house.worker.check(&config(&[("connector.class", "scriptd")])).await;
    assert_eq!(issues[0].key, "connector.class");
    assert_eq!(issues[0].remedy.as_deref(), Some("did you mean \"scripted\"?"));
    assert_eq!(house.worker.validate("nope", config(&[]), &[]).await.unwrap_err().status(), 400);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connectors_own_checks_and_mistyped_keys_are_part_of_the_preflight() {
    let (_ground, house) = House::new().await;
    let pairs = [
        ("name", "shop"),
        ("connector.class", "scripted"),
        ("topic.prefix", "shop"),
        ("script.password", "wrong"),
        ("script.prot", "1"),
    ];
    let issues = house.worker.check(&config(&pairs)).await;
    let typo = issues.iter().find(|issue| issue.key == "script.prot").unwrap();
    assert_eq!(typo.severity, Severity::Warning);
    assert_eq!(typo.remedy.as_deref(), Some("did you mean \"script.port\"?"));
    let refused = issues.iter().find(|issue| issue.severity == Severity::Error).unwrap();
    assert_eq!(refused.message, "the password is wrong");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validate_answers_as_kafka_connect_and_hides_secrets() {
    let (_ground, house) = House::new().await;
    let pairs = [
        ("connector.class", "test.ScriptedConnector"),
        ("topic.prefix", "shop"),
        ("script.password", "hunter2"),
        ("tasks.max", "0"),
    ];
    let validation = house.worker.validate("Scripted", config(&pairs), &[]).await.unwrap();
    assert_eq!(validation.name, "test.ScriptedConnector");
    // The name is missing and tasks.max is out of range.
    assert_eq!(validation.error_count, 2);
    assert_eq!(validation.groups[0], "Common");
    let of = |name: &str| validation.configs.iter().find(|info| info.value.name == name).unwrap();
    assert_eq!(of("script.password").value.value.as_deref(), Some("[hidden]"));
    assert_eq!(of("tasks.max").value.errors.len(), 1);
    let definition = of("tasks.max").definition.as_ref().unwrap();
    assert_eq!((definition.kind, definition.required), ("INT", false));
    assert_eq!(definition.default_value.as_deref(), Some("1"));
    let other = config(&[("connector.class", "collecting")]);
    assert_eq!(house.worker.validate("scripted", other, &[]).await.unwrap_err().status(), 400);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sink_reads_either_topics_or_a_pattern_and_never_its_own_dead_letters() {
    let (_ground, house) = House::new().await;
    let check = async |more: &[(&str, &str)]| {
        let mut pairs = vec![("name", "copy"), ("connector.class", "collecting")];
        pairs.extend(more);
        let issues = house.worker.check(&config(&pairs)).await;
        let errors = issues.into_iter().filter(|issue| issue.severity == Severity::Error);
        errors.map(|issue| issue.key).collect::<Vec<_>>()
    };
    assert_eq!(check(&[]).await, ["topics", "topics.regex"]);
    assert_eq!(check(&[("topics", "a"), ("topics.regex", "b")]).await, ["topics", "topics.regex"]);
    assert_eq!(check(&[("topics.regex", "(")]).await, ["topics.regex"]);
    let dead = "errors.deadletterqueue.topic.name";
    assert_eq!(check(&[("topics", "a,b"), (dead, "b")]).await, ["topics"]);
    assert!(check(&[("topics", "a,b"), (dead, "c")]).await.is_empty());
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transformations_that_are_not_built_are_refused_by_name_and_those_not_needed_told() {
    let (_ground, house) = House::new().await;
    let check = async |class: &str| {
        let pairs = [
            ("name", "copy"),
            ("connector.class", "collecting"),
            ("topics", "a"),
            ("transforms", "t"),
            ("transforms.t.type", class),
        ];
        house.worker.check(&config(&pairs)).await
    };
    let refused = check("io.debezium.transforms.Filter").await;
    assert_eq!(refused[0].severity, Severity::Error);
    assert!(refused[0].message.contains("Filter is not supported"), "{refused:?}");
    assert!(check("org.apache.kafka.connect.transforms.Flatten$Value").await.is_empty());
    let accepted = check("io.debezium.transforms.ExtractNewRecordState").await;
    assert_eq!(accepted[0].severity, Severity::Warning);
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_are_resolved_late_and_never_shown_resolved() {
    let (_ground, house) = House::new().await;
    house.create_source(&[("script.password", "${env:LATTICE_IT}")]).await;
    house.task_becomes("shop", State::Running).await;
    let info = house.worker.connector("shop").await.unwrap();
    assert_eq!(info.config.get("script.password"), Some("${env:LATTICE_IT}"));
    let tasks = house.worker.task_configs("shop").await.unwrap();
    assert_eq!(tasks[0].1.get("script.password"), Some("${env:LATTICE_IT}"));
    let pairs = [
        ("name", "x"),
        ("connector.class", "scripted"),
        ("topic.prefix", "shop"),
        ("script.password", "${env:NOPE}"),
    ];
    let issues = house.worker.check(&config(&pairs)).await;
    assert_eq!(issues[0].message, "environment variable NOPE is not set");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sinks_mapping_is_previewed_by_the_topics_records() {
    let (_ground, house) = House::new().await;
    house.create_source(&[]).await;
    house.script.add_good(0..3);
    house.log_holds(TOPIC, 3).await;
    let sink = config(&[("connector.class", "collecting"), ("topics", TOPIC)]);
    let preview = house.worker.preview(&sink, TOPIC).await.unwrap();
    let columns: Vec<_> = preview.columns.iter().map(|column| column[0].as_str()).collect();
    assert_eq!(columns, ["id", "name"]);
    assert_eq!(house.worker.preview(&sink, "nope").await.unwrap_err().status(), 404);
    let source = config(&[("connector.class", "scripted"), ("topic.prefix", "shop")]);
    assert_eq!(house.worker.tables(&source).await.unwrap()[0].name, "public.orders");
    house.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_converter_is_refused_before_anything_starts() {
    let (_ground, house) = House::new().await;
    let pairs = [
        ("connector.class", "scripted"),
        ("topic.prefix", "shop"),
        ("value.converter", "com.example.NoConverter"),
    ];
    let created = house.worker.create("shop", config(&pairs), InitialState::Running).await;
    let text = created.unwrap_err().to_string();
    assert!(text.contains("value.converter") && text.contains("NoConverter"), "{text}");
    house.leave().await;
}
