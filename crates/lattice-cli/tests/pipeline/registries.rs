//! Schemas in a real registry elsewhere, by each of the APIs that converters name.

use lattice_testkit::service;

use super::Path;

const CONVERTERS: [&str; 2] = ["key.converter", "value.converter"];

/// The same options for both converters.
fn options(class: &str, options: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for converter in CONVERTERS {
        all.push((converter.to_owned(), class.to_owned()));
        for (option, value) in options {
            all.push((format!("{converter}.{option}"), (*value).to_owned()));
        }
    }
    all
}

/// Rows arrive with schemas from there, and our own registry stays empty.
async fn arrives(name: &str, converters: Vec<(String, String)>) {
    let path = Path::usual(name).await;
    // Named like the database, so that no other run has its subject in the shared registry.
    let table = path.source.name().to_owned();
    path.source
        .execute(&format!(
            "CREATE TABLE public.{table} (id int PRIMARY KEY, name text, price numeric(10,2));
             INSERT INTO public.{table} SELECT i, 'name ' || i, i * 1.5 FROM generate_series(1, 100) i"
        ))
        .await;
    let mut source = path.source_config(&[]);
    let mut sink = path.sink_config(&[]);
    source.extend(converters.iter().cloned());
    sink.extend(converters);
    path.lattice.create_connector("source", source).await;
    path.lattice.create_connector("sink", sink).await;
    path.equal(&table).await;
    path.source
        .execute(&format!(
            "ALTER TABLE public.{table} ADD COLUMN note text;
             INSERT INTO public.{table} VALUES (101, 'new', 1, 'with a note');
             DELETE FROM public.{table} WHERE id = 7"
        ))
        .await;
    path.equal(&table).await;
    let own = path.lattice.get("/registry/subjects").await;
    assert_eq!(own, serde_json::json!([]), "a schema went to our own registry");
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_go_through_apicurios_core_api() {
    let url = format!("{}/apis/registry/v3", service("LATTICE_TEST_APICURIO"));
    let class = "io.apicurio.registry.utils.converter.AvroConverter";
    let registering = "apicurio.registry.auto-register";
    let group = format!("pipeline-{}", std::process::id());
    let own_group = ("apicurio.registry.artifact.group-id", group.as_str());
    let all = [("apicurio.registry.url", url.as_str()), (registering, "true"), own_group];
    arrives("registry_v3", options(class, &all)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_go_through_confluents_api() {
    let url = format!("{}/apis/ccompat/v7", service("LATTICE_TEST_APICURIO"));
    let class = "io.confluent.connect.avro.AvroConverter";
    arrives("registry_ccompat", options(class, &[("schema.registry.url", &url)])).await;
}
