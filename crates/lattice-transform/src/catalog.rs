//! The classes there are, by name, with their keys: what validation, `/connector-plugins`, forms and the
//! reference page are made of.

use lattice_core::{
    config::{Key, did_you_mean},
    error::{Error, Result},
};

use crate::{
    Predicate, Transform, debezium, kafka, mongodb, predicates as tests, record::Side,
    settings::Settings,
};

/// A kind of transformation.
#[derive(Debug)]
pub struct TransformClass {
    /// The class name; of a transformation of one side with `$Key` or `$Value`.
    pub class: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its keys, without `transforms.<alias>.` before them.
    pub keys: &'static [Key],
    pub(crate) side: Side,
    pub(crate) make: fn(&Settings, Side) -> Result<Box<dyn Transform>>,
}

/// A kind of predicate.
#[derive(Debug)]
pub struct PredicateClass {
    /// The class name.
    pub class: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its keys, without `predicates.<alias>.` before them.
    pub keys: &'static [Key],
    pub(crate) make: fn(&Settings) -> Result<Box<dyn Predicate>>,
}

/// A transformation that works on a record as a whole.
pub(crate) const fn whole(
    class: &'static str,
    doc: &'static str,
    keys: &'static [Key],
    make: fn(&Settings, Side) -> Result<Box<dyn Transform>>,
) -> TransformClass {
    TransformClass { class, doc, keys, side: Side::Value, make }
}

/// What is known by name and not to be had, and why.
const REFUSED: &[(&str, &str)] = &[
    ("io.debezium.transforms.Filter", SCRIPTS),
    ("io.debezium.transforms.ContentBasedRouter", SCRIPTS),
    (
        "io.debezium.transforms.ExtractSchemaToNewRecord",
        "it needs column metadata that is not kept",
    ),
    ("io.debezium.transforms.EnforceRecordSize", LATER),
    ("io.debezium.transforms.GeometryFormatTransformer", LATER),
    ("io.debezium.transforms.SwapGeometryCoordinates", LATER),
    ("io.debezium.transforms.VectorToJsonConverter", LATER),
    ("io.debezium.transforms.openlineage.OpenLineage", LATER),
    ("io.debezium.transforms.tracing.ActivateTracingSpan", "there is no tracing of spans"),
    ("io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb", LATER),
    ("io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter", LATER),
    ("io.debezium.connector.mysql.transforms.ReadToInsertEvent", LATER),
];
const SCRIPTS: &str = "it runs scripts, and no script language is built in";
const LATER: &str = "it is not built";

/// All transformations, Kafka Connect's first.
pub fn transforms() -> impl Iterator<Item = &'static TransformClass> {
    kafka::CLASSES.iter().copied().flatten().chain(debezium::CLASSES).chain(mongodb::CLASSES)
}

/// All predicates.
pub fn predicates() -> impl Iterator<Item = &'static PredicateClass> {
    tests::CLASSES.iter()
}

fn simple(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

/// The transformation of this class or simple class name.
///
/// Errors: `Config`, saying why there is none, or which was meant.
pub fn find_transform(class: &str) -> Result<&'static TransformClass> {
    let class = class.trim();
    let called = |known: &str| known == class || simple(known) == class;
    if let Some(found) = transforms().find(|known| called(known.class)) {
        return Ok(found);
    }
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| called(known)) {
        return Err(Error::config(format!("transformation {class} is not supported: {why}"))
            .with_remedy(
                "remove it from \"transforms\"; docs/transforms.md lists what there is instead",
            ));
    }
    let sides: Vec<&str> = transforms()
        .map(|known| known.class)
        .filter(|known| known.split_once('$').is_some_and(|(base, _)| called(base)))
        .collect();
    let remedy = match did_you_mean(class, transforms().map(|known| known.class)) {
        _ if !sides.is_empty() => format!("use {}", sides.join(" or ")),
        Some(close) => format!("did you mean \"{close}\"?"),
        None => "docs/transforms.md lists the classes there are".to_owned(),
    };
    Err(Error::config(format!("Class {class} could not be found: there is no such transformation"))
        .with_remedy(remedy))
}

/// The predicate of this class or simple class name.
///
/// Errors: `Config`, saying which was meant.
pub fn find_predicate(class: &str) -> Result<&'static PredicateClass> {
    let class = class.trim();
    let called = |known: &str| known == class || simple(known) == class;
    if let Some(found) = predicates().find(|known| called(known.class)) {
        return Ok(found);
    }
    let remedy = match did_you_mean(class, predicates().map(|known| known.class)) {
        Some(close) => format!("did you mean \"{close}\"?"),
        None => "docs/transforms.md lists the classes there are".to_owned(),
    };
    Err(Error::config(format!("Class {class} could not be found: there is no such predicate"))
        .with_remedy(remedy))
}
