//! Kafka Connect's own transformations (`org.apache.kafka.connect.transforms`).

mod cast;
mod fields;
mod flatten;
mod headers;
mod insert_field;
mod mask_field;
mod metadata;
mod replace_field;
mod routers;
mod timestamps;

pub(crate) use flatten::flat;

use crate::{
    catalog::{TransformClass, whole},
    record::Side,
};

/// Both classes of a transformation that works on the key or on the value.
macro_rules! sided {
    ($name:literal, $doc:literal, $($module:ident)::+) => {
        &[
            TransformClass {
                class: concat!("org.apache.kafka.connect.transforms.", $name, "$Key"),
                doc: concat!($doc, " Works on the key."),
                keys: $($module::)+KEYS,
                side: Side::Key,
                make: $($module::)+make,
            },
            TransformClass {
                class: concat!("org.apache.kafka.connect.transforms.", $name, "$Value"),
                doc: concat!($doc, " Works on the value."),
                keys: $($module::)+KEYS,
                side: Side::Value,
                make: $($module::)+make,
            },
        ]
    };
}

pub(crate) static CLASSES: &[&[TransformClass]] = &[
    sided!("Cast", "Gives fields, or the whole, another type.", cast),
    &[whole(
        "org.apache.kafka.connect.transforms.DropHeaders",
        "Removes headers by name.",
        headers::DROP_KEYS,
        headers::drop_headers,
    )],
    sided!("ExtractField", "Makes one field the whole.", fields::extract),
    &[whole(
        "org.apache.kafka.connect.transforms.Filter",
        "Drops records; of use with a predicate.",
        &[],
        routers::filter,
    )],
    sided!("Flatten", "Makes the fields of inner structs fields of the outer one.", flatten),
    sided!("HeaderFrom", "Moves or copies fields into headers.", headers::from),
    sided!("HoistField", "Makes the whole one field of a new struct.", fields::hoist),
    sided!("InsertField", "Adds fields from the record's metadata, or a fixed one.", insert_field),
    &[whole(
        "org.apache.kafka.connect.transforms.InsertHeader",
        "Adds a header.",
        headers::INSERT_KEYS,
        headers::insert_header,
    )],
    sided!("MaskField", "Replaces values by their type's zero or by a replacement.", mask_field),
    &[whole(
        "org.apache.kafka.connect.transforms.RegexRouter",
        "Changes the topic by a regular expression.",
        routers::REGEX_KEYS,
        routers::regex,
    )],
    sided!("ReplaceField", "Leaves fields out or renames them.", replace_field),
    sided!("SetSchemaMetadata", "Sets the schema's name and version.", metadata),
    sided!("TimestampConverter", "Gives a time another form.", timestamps),
    &[
        whole(
            "org.apache.kafka.connect.transforms.TimestampRouter",
            "Makes the topic of the old one and the record's timestamp.",
            routers::TIMESTAMP_KEYS,
            routers::timestamp,
        ),
        whole(
            "org.apache.kafka.connect.transforms.ValueToKey",
            "Makes the key of fields of the value.",
            fields::to_key::KEYS,
            fields::to_key::make,
        ),
    ],
];
