use super::*;

fn config(pairs: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in pairs {
        config.set(*name, *value);
    }
    config
}

fn settings(pairs: &[(&str, &str)]) -> ClientSettings {
    ClientSettings::from_config("value", &config(pairs)).unwrap().unwrap()
}

const APICURIO: (&str, &str) =
    ("value.converter", "io.apicurio.registry.utils.converter.AvroConverter");

#[test]
fn a_converter_without_a_url_names_no_registry() {
    let none = ClientSettings::from_config("value", &config(&[APICURIO])).unwrap();
    assert!(none.is_none());
}

#[test]
fn several_urls_and_the_credentials_in_them_are_taken_apart() {
    let made = settings(&[(
        "value.converter.schema.registry.url",
        "http://us%40er:p%3Aw@one:8081,https://two/base/",
    )]);
    let urls: Vec<String> = made.urls.iter().map(ToString::to_string).collect();
    assert_eq!(urls, ["http://one:8081/", "https://two/base/"]);
    assert_eq!(made.auth, Auth::Basic("us@er".to_owned(), Secret::new("p:w")));
    assert_eq!(made.authorities().collect::<Vec<_>>(), [("one", 8081), ("two", 443)]);
    assert!(!format!("{made:?}").contains("p:w"), "a secret can be printed");
}

#[test]
fn confluents_credentials_have_their_sources() {
    let url = ("value.converter.schema.registry.url", "http://r:1");
    let name = |option: &str| format!("value.converter.{option}");
    let info = settings(&[
        url,
        (&name("basic.auth.credentials.source"), "USER_INFO"),
        (&name("basic.auth.user.info"), "u:p"),
    ]);
    assert_eq!(info.auth, Auth::Basic("u".to_owned(), Secret::new("p")));
    let bearer = settings(&[
        url,
        (&name("bearer.auth.credentials.source"), "STATIC_TOKEN"),
        (&name("bearer.auth.token"), "t"),
    ]);
    assert_eq!(bearer.auth, Auth::Bearer(Secret::new("t")));
    let missing = config(&[url, (&name("basic.auth.credentials.source"), "USER_INFO")]);
    let error = ClientSettings::from_config("value", &missing).unwrap_err();
    assert!(error.to_string().contains("value.converter.basic.auth.user.info"), "{error}");
}

#[test]
fn apicurios_api_is_told_by_the_path() {
    let url = |url: &str| settings(&[APICURIO, ("value.converter.apicurio.registry.url", url)]);
    assert_eq!(url("http://r:8080").dialect, Dialect::ApicurioV3);
    assert_eq!(url("http://r:8080").urls[0].path(), "/apis/registry/v3");
    assert_eq!(url("http://r:8080/apis/registry/v2/").dialect, Dialect::ApicurioV2);
    assert_eq!(url("http://r:8080/apis/ccompat/v7").dialect, Dialect::Confluent);
    let two = "http://a/apis/registry/v2,http://b/apis/registry/v3";
    let mixed = config(&[APICURIO, ("value.converter.apicurio.registry.url", two)]);
    assert!(ClientSettings::from_config("value", &mixed).is_err());
}

#[test]
fn what_is_registered_follows_each_librarys_precedence() {
    let confluent = |pairs: &[(&str, &str)]| {
        let mut all = vec![("value.converter.schema.registry.url", "http://r:1")];
        all.extend(pairs);
        settings(&all).registering
    };
    let off = ("value.converter.auto.register.schemas", "false");
    let latest = ("value.converter.use.latest.version", "true");
    assert_eq!(confluent(&[]), Registering::Auto);
    assert_eq!(confluent(&[latest]), Registering::Auto);
    assert_eq!(confluent(&[off]), Registering::Lookup);
    assert_eq!(confluent(&[off, latest]), Registering::Latest);
    assert_eq!(confluent(&[("value.converter.use.schema.id", "7")]), Registering::Id(7));
    let apicurio = |pairs: &[(&str, &str)]| {
        let mut all = vec![APICURIO, ("value.converter.apicurio.registry.url", "http://r:1")];
        all.extend(pairs);
        settings(&all).registering
    };
    let auto = ("value.converter.apicurio.registry.auto-register", "true");
    let find = ("value.converter.apicurio.registry.find-latest", "true");
    assert_eq!(apicurio(&[]), Registering::Lookup);
    assert_eq!(apicurio(&[find]), Registering::Latest);
    assert_eq!(apicurio(&[auto, find]), Registering::Auto);
}

#[test]
fn what_is_wrong_is_named_by_its_key_and_not_by_its_value() {
    for (option, value) in [
        ("schema.registry.url", "ftp://secret@x"),
        ("max.retries", "secret"),
        ("normalize.schemas", "secret"),
        ("basic.auth.credentials.source", "secret"),
        ("schema.registry.ssl.truststore.type", "JKS"),
    ] {
        let name = format!("value.converter.{option}");
        let mut all = config(&[
            ("value.converter.schema.registry.url", "http://r:1"),
            ("value.converter.schema.registry.ssl.truststore.location", "/a.jks"),
        ]);
        all.set(&name, value);
        let error = ClientSettings::from_config("value", &all).unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
        assert!(!error.chain().contains("secret"), "{}", error.chain());
    }
}
