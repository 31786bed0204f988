//! Debezium's transformations (`io.debezium.transforms`).

mod added;
mod headers;
mod json_payload;
mod messages;
mod outbox;
mod partitions;
mod routing;
mod unwrap;
mod zones;

pub(crate) use added::{ADD_FIELDS, Added, FIELDS_PREFIX, HEADERS_PREFIX};

use crate::catalog::{TransformClass, whole};

pub(crate) static CLASSES: &[TransformClass] = &[
    whole(
        "io.debezium.transforms.ExtractNewRecordState",
        "Makes a change event its row: the state after the change.",
        unwrap::KEYS,
        unwrap::make,
    ),
    whole(
        "io.debezium.transforms.ExtractChangedRecordState",
        "Puts the names of changed and unchanged fields into headers.",
        headers::CHANGED_KEYS,
        headers::changed,
    ),
    whole(
        "io.debezium.transforms.outbox.EventRouter",
        "Makes new rows of an outbox table events in topics of their own.",
        outbox::KEYS,
        outbox::make,
    ),
    whole(
        "io.debezium.transforms.ByLogicalTableRouter",
        "Brings the changes of several tables together in one topic.",
        routing::KEYS,
        routing::make,
    ),
    whole(
        "io.debezium.transforms.HeaderToValue",
        "Makes headers fields of the value.",
        headers::TO_VALUE_KEYS,
        headers::to_value,
    ),
    whole(
        "io.debezium.transforms.partitions.PartitionRouting",
        "Chooses the partition by values of the event.",
        partitions::KEYS,
        partitions::make,
    ),
    whole(
        "io.debezium.transforms.SchemaChangeEventFilter",
        "Drops schema changes by their kind.",
        messages::FILTER_KEYS,
        messages::filter,
    ),
    whole(
        "io.debezium.transforms.TimezoneConverter",
        "Converts times to another time zone.",
        zones::KEYS,
        zones::make,
    ),
    whole(
        "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
        "Makes a logical decoding message with JSON content a change event.",
        messages::DECODE_KEYS,
        messages::decode,
    ),
];
