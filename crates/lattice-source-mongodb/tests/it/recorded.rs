//! The same operations as those that Debezium 3.6.1 was recorded with, on the same server: keys, members
//! and source blocks must be equal, save what differs by nature.

use lattice_core::schema::{Schema, Type};
use mongodb::bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp, doc,
    oid::ObjectId, spec::BinarySubtype,
};
use serde_json::{Value as Json, json};

use crate::harness::{Seen, Source};

const RECORDED: &str = include_str!("../recorded/debezium-3.6.1.json");

/// A value of every type that the server keeps.
fn types() -> Document {
    let bytes = |subtype, bytes: Vec<u8>| Bson::Binary(Binary { subtype, bytes });
    let ms = |ms| Bson::DateTime(DateTime::from_millis(ms));
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().expect("a decimal"));
    let text = "zür \"q\" \\ \n\t\u{1} \u{1F600} \u{2b0}\u{301}\u{2028}\u{ad} 漢 / é";
    let regex = Regex {
        pattern: "a+".try_into().expect("no zero"),
        options: "im".try_into().expect("no zero"),
    };
    let sixteen: Vec<u8> = (0..16).collect();
    doc! {
        "dbl": 1.5, "dbl2": 2.0, "big": 1e20, "small": 0.000_999, "nan": f64::NAN,
        "inf": f64::NEG_INFINITY, "s": text, "d": {"a": 1, "e": {}},
        "arr": [1, "x", Bson::Null, [], 5_i64],
        "bin": bytes(BinarySubtype::Generic, vec![1, 2, 3]),
        "uuid": bytes(BinarySubtype::Uuid, sixteen.clone()),
        "old": bytes(BinarySubtype::UuidOld, sixteen),
        "user": bytes(BinarySubtype::UserDefined(0x80), vec![9]),
        "b": true, "n": Bson::Null, "dt": ms(1_577_836_800_000), "dtf": ms(1_577_836_800_500),
        "dtm": ms(1_582_934_399_729), "dneg": ms(-1), "re": Bson::RegularExpression(regex),
        "code": Bson::JavaScriptCode("f()".into()),
        "scoped": JavaScriptCodeWithScope { code: "g()".into(), scope: doc! {"x": 1} },
        "i": 5, "ts": Timestamp { time: 7, increment: 8 }, "l": i64::MAX, "dec": decimal("1.50"),
        "dece": decimal("-1.234E+400"), "decn": decimal("NaN"), "min": Bson::MinKey,
        "max": Bson::MaxKey, "oid": object_id(), "": "empty", "do.t": 1, "$dollar": 1,
    }
}

fn object_id() -> ObjectId {
    ObjectId::parse_str("596e275826f08b2730779e1f").expect("an id")
}

fn with(id: impl Into<Bson>, more: Document) -> Document {
    let mut document = doc! {"_id": id.into()};
    document.extend(more);
    document
}

async fn change(source: &Source) {
    let uuid = Binary { subtype: BinarySubtype::Uuid, bytes: (0..16).collect() };
    let ids: [Bson; 10] = [
        10.into(),
        11_i64.into(),
        12.34.into(),
        "s\"x".into(),
        object_id().into(),
        DateTime::from_millis(1_577_836_800_000).into(),
        uuid.into(),
        Bson::Decimal128("1.50".parse().expect("a decimal")),
        doc! {"hi": "kafka", "nums": [10, 100_i64, 2.0]}.into(),
        true.into(),
    ];
    for (i, id) in (0_i32..).zip(ids) {
        source.insert("t", with(id, doc! {"i": i})).await;
    }
    source.insert("t", with(2, types())).await;
    let t = source.collection("t");
    let odd = ["", "do.t", "$dollar"];
    let more: Document = types()
        .into_iter()
        .filter(|(name, _)| !odd.contains(&name.as_str()))
        .map(|(name, value)| (format!("u_{name}"), value))
        .collect();
    let updates = [
        doc! {"$set": more},
        doc! {"$set": {"d.a": 5, "arr.1": "y"}, "$unset": {"s": "", "n": ""}},
    ];
    for update in updates {
        t.update_one(doc! {"_id": 2}, update).await.expect("is updated");
    }
    let cut = vec![doc! {"$set": {"arr": {"$slice": ["$arr", 1]}}}];
    t.update_one(doc! {"_id": 2}, cut).await.expect("is updated");
    t.replace_one(doc! {"_id": 2}, doc! {"r": 1}).await.expect("is replaced");
    t.delete_one(doc! {"_id": 2}).await.expect("is deleted");
    let mut session = source.client.start_session().await.expect("a session");
    session.start_transaction().await.expect("begins");
    t.insert_one(doc! {"_id": 3}).session(&mut session).await.expect("is inserted");
    let update = doc! {"$set": {"x": 1}};
    t.update_one(doc! {"_id": 3}, update).session(&mut session).await.expect("is updated");
    session.commit_transaction().await.expect("commits");
    t.delete_many(doc! {"_id": {"$in": [10, "s\"x"]}}).await.expect("are deleted");
    source.insert("t", doc! {"_id": "end"}).await;
}

/// Ours, as the recording has it.
fn payload(seen: &Seen) -> Json {
    let update = seen.update.as_ref().map(|(removed, updated, truncated)| {
        let some = |list: Vec<Json>| if list.is_empty() { Json::Null } else { list.into() };
        let truncated = truncated.iter().map(|(field, size)| json!({"field": field, "size": size}));
        json!({
            "removedFields": some(removed.iter().cloned().map(Json::from).collect()),
            "updatedFields": updated,
            "truncatedArrays": some(truncated.collect()),
        })
    });
    json!({
        "before": seen.before,
        "after": seen.after,
        "updateDescription": update,
        "source": Json::Object(seen.source.iter().cloned().collect()),
        "op": seen.op,
    })
}

/// Takes out what differs from run to run, after checking that it is there where it must be.
fn steady(mut value: Json) -> Json {
    for name in ["ts_ms", "transaction"] {
        value.as_object_mut().expect("an object").remove(name);
    }
    let source = value["source"].as_object_mut().expect("an object");
    for name in ["ts_ms", "ts_us", "ts_ns", "wallTime", "lsid", "txnNumber", "ord", "db"] {
        let there = source.get(name).is_some_and(|value| !value.is_null());
        let unknown = source[name] == -1;
        source.insert(name.to_owned(), json!([there, unknown]));
    }
    value
}

#[tokio::test]
async fn the_same_operations_give_debeziums_records() {
    let mode = [("capture.mode", "change_streams_update_full_with_pre_image")];
    let mut source = Source::new("recording", &mode).await;
    source.database.create_collection("t").await.expect("is made");
    let images = doc! {"collMod": "t", "changeStreamPreAndPostImages": {"enabled": true}};
    source.database.run_command(images).await.expect("images are on");
    source
        .insert(
            "t",
            with(1, [("from".to_owned(), "snapshot".into())].into_iter().chain(types()).collect()),
        )
        .await;
    let mut task = source.open().await;
    let mut seen = source.read(&mut task, 1).await;
    change(&source).await;
    let recorded: Json = serde_json::from_str(RECORDED).expect("is JSON");
    let records = recorded["records"].as_array().expect("a list");
    // The codec adds tombstones.
    let records: Vec<&Json> = records.iter().filter(|record| !record["value"].is_null()).collect();
    seen.extend(source.read(&mut task, records.len() - 1).await);
    assert_eq!(seen.len(), records.len());
    for (ours, theirs) in seen.iter().zip(&records) {
        assert_eq!(theirs["key"]["id"], ours.id.as_str());
        let (mut ours, mut theirs) = (steady(payload(ours)), steady(theirs["value"].clone()));
        // What is looked up depends on when it is looked up.
        if ours["op"] == "u" && (ours["after"].is_null() || theirs["after"].is_null()) {
            ours["after"] = Json::Null;
            theirs["after"] = Json::Null;
        }
        assert_eq!(ours, theirs);
    }
}

/// A Connect schema as the recording has it.
fn shown(schema: &Schema, field: Option<&str>) -> Json {
    let kind = match schema.kind {
        Type::String => "string",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Array => "array",
        Type::Struct => "struct",
        other => panic!("no {other:?} is expected"),
    };
    let mut shown = json!({"type": kind, "optional": schema.optional});
    let mut put = |name: &str, value: Json| shown[name] = value;
    if let Some(name) = &schema.name {
        put("name", name.to_string().into());
    }
    if let Some(version) = schema.version {
        put("version", version.into());
    }
    if let Some(field) = field {
        put("field", field.into());
    }
    if let Some(element) = &schema.element {
        put("items", self::shown(element, None));
    }
    if schema.kind == Type::Struct {
        let fields = schema.fields.iter();
        put("fields", fields.map(|field| self::shown(&field.schema, Some(&field.name))).collect());
    }
    if !schema.parameters.is_empty() {
        let pairs = schema.parameters.iter();
        let parameters: serde_json::Map<String, Json> =
            pairs.map(|(name, value)| (name.to_string(), value.to_string().into())).collect();
        put("parameters", parameters.into());
        put("default", "false".into());
    }
    shown
}

#[test]
fn schemas_of_members_and_source_are_debeziums() {
    use lattice_core::event::SourceInfo as _;

    let recorded: Json = serde_json::from_str(RECORDED).expect("is JSON");
    let fields = recorded["schemas"]["value"]["fields"].as_array().expect("a list");
    let columns = lattice_source_mongodb::row::columns();
    for (column, theirs) in columns[1..].iter().zip(fields) {
        assert_eq!(&shown(&column.schema, Some(&column.name)), theirs);
    }
    let info = lattice_source_mongodb::info::MongoInfo::new("p", true);
    assert_eq!(&shown(info.schema(), Some("source")), &fields[3]);
}
