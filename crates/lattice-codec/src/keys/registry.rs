//! The keys of a converter's schema registry: Confluent's and Apicurio's.

use lattice_core::config::{Importance, Key, KeyType, Rule};

const GROUP: &str = "Schema registry";

/// A key for the key's and the value's converter.
macro_rules! both {
    ($($option:literal $kind:ident $importance:ident $doc:literal $(.$more:ident($value:expr))*;)*) => {
        &[$(
            Key::new(concat!("key.converter.", $option), KeyType::$kind, concat!("Avro keys: ", $doc))
                .importance(Importance::$importance).group(GROUP)$(.$more($value))*,
            Key::new(concat!("value.converter.", $option), KeyType::$kind, concat!("Avro values: ", $doc))
                .importance(Importance::$importance).group(GROUP)$(.$more($value))*,
        )*]
    };
}

pub(super) static KEYS: &[Key] = both! {
    "schema.registry.url" String Medium
        "the schema registry: one or more URLs, separated by commas, each tried when the one before does not answer. Lattice's own when not given. Example: http://registry:8081";
    "auto.register.schemas" Boolean Medium
        "whether a schema that the registry does not have is registered."
        .default("true");
    "use.latest.version" Boolean Low
        "without auto.register.schemas: whether the subject's latest version is used, which must make the same bytes."
        .default("false");
    "use.schema.id" Int Low
        "the id of the schema that is used whatever the subject has; it must make the same bytes. -1: none."
        .default("-1");
    "normalize.schemas" Boolean Low
        "whether the registry brings texts into one form before it compares them."
        .default("false");
    "basic.auth.credentials.source" String Medium
        "where user and password for the registry are: in the URL, or USER_INFO for basic.auth.user.info."
        .default("URL")
        .rule(Rule::OneOf(&["URL", "USER_INFO"]));
    "basic.auth.user.info" Password Medium
        "user and password for the registry: user:password.";
    "bearer.auth.credentials.source" String Low
        "where a token for the registry is from: STATIC_TOKEN for bearer.auth.token, or OAUTHBEARER for a token endpoint."
        .rule(Rule::OneOf(&["STATIC_TOKEN", "OAUTHBEARER"]));
    "bearer.auth.token" Password Low
        "the token for the registry.";
    "bearer.auth.issuer.endpoint.url" String Low
        "the token endpoint.";
    "bearer.auth.client.id" String Low
        "the client id at the token endpoint.";
    "bearer.auth.client.secret" Password Low
        "the client's secret at the token endpoint.";
    "bearer.auth.scope" String Low
        "the scope asked for at the token endpoint.";
    "schema.registry.ssl.truststore.location" String Low
        "PEM file with the authorities that sign the registry's certificate; the system's when not given.";
    "schema.registry.ssl.truststore.type" String Low
        "the file's form."
        .default("PEM")
        .rule(Rule::OneOf(&["PEM"]));
    "schema.registry.ssl.keystore.location" String Low
        "PEM file with our certificate for the registry and its key.";
    "schema.registry.ssl.keystore.type" String Low
        "the file's form."
        .default("PEM")
        .rule(Rule::OneOf(&["PEM"]));
    "proxy.host" String Low
        "an HTTP proxy on the way to the registry.";
    "proxy.port" Int Low
        "the proxy's port."
        .default("80");
    "max.retries" Int Low
        "how often a registry that does not answer is asked again before the task's own retry."
        .default("3")
        .rule(Rule::Range(0, 100));
    "retries.wait.ms" Long Low
        "the first pause before that; it doubles. Unit: ms."
        .default("300")
        .rule(Rule::Range(0, 60_000));
    "apicurio.registry.url" String Medium
        "Apicurio's API: http://host:8080/apis/registry/v3, …/v2 or …/apis/ccompat/v7; several as above.";
    "apicurio.registry.auto-register" Boolean Medium
        "Apicurio: whether a schema that the registry does not have is registered."
        .default("false");
    "apicurio.registry.auto-register.if-exists" String Low
        "Apicurio: what registering does where the artifact exists."
        .default("FIND_OR_CREATE_VERSION")
        .rule(Rule::OneOf(&["FIND_OR_CREATE_VERSION", "CREATE_VERSION", "FAIL", "RETURN_OR_UPDATE", "RETURN", "UPDATE"]));
    "apicurio.registry.find-latest" Boolean Low
        "Apicurio: without auto-register, whether the artifact's latest version is used, which must make the same bytes."
        .default("false");
    "apicurio.registry.artifact-resolver-strategy" Class Low
        "Apicurio: which artifact holds a schema: TopicIdStrategy, SimpleTopicIdStrategy, RecordIdStrategy, QualifiedRecordIdStrategy or TopicRecordIdStrategy.";
    "apicurio.registry.artifact.group-id" String Low
        "Apicurio: the artifacts' group.";
    "apicurio.registry.artifact.artifact-id" String Low
        "Apicurio: the artifact, whatever the strategy says.";
    "apicurio.registry.artifact.version" String Low
        "Apicurio: the artifact's version.";
    "apicurio.registry.use-id" String Low
        "Apicurio: which id stands in records; contentId is what Confluent's clients read."
        .default("contentId")
        .rule(Rule::OneOf(&["contentId", "globalId"]));
    "apicurio.registry.id-handler" Class Low
        "Apicurio: Default4ByteIdHandler, or Legacy8ByteIdHandler for ids of 8 bytes.";
    "apicurio.registry.headers.enabled" Boolean Low
        "Apicurio: whether ids stand in headers; only false is supported for writing."
        .default("false");
    "apicurio.registry.retry-count" Int Low
        "Apicurio: how often a registry that does not answer is asked again before the task's own retry."
        .default("3")
        .rule(Rule::Range(0, 100));
    "apicurio.registry.retry-backoff-ms" Long Low
        "Apicurio: the first pause before that; it doubles. Unit: ms."
        .default("300")
        .rule(Rule::Range(0, 60_000));
    "apicurio.registry.auth.username" String Low
        "Apicurio: the user.";
    "apicurio.registry.auth.password" Password Low
        "Apicurio: the password.";
    "apicurio.registry.auth.service.token.endpoint" String Low
        "Apicurio: the token endpoint.";
    "apicurio.registry.auth.client.id" String Low
        "Apicurio: the client id at the token endpoint.";
    "apicurio.registry.auth.client.secret" Password Low
        "Apicurio: the client's secret at the token endpoint.";
    "apicurio.registry.auth.client.scope" String Low
        "Apicurio: the scope asked for at the token endpoint.";
    "apicurio.registry.tls.truststore.location" String Low
        "Apicurio: PEM file with the authorities that sign the registry's certificate.";
    "apicurio.registry.tls.keystore.location" String Low
        "Apicurio: PEM file with our certificate for the registry and its key.";
};
