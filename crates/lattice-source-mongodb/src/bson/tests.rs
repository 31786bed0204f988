//! Texts that the Java driver writes, and properties of the walk through BSON.

use mongodb::bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp, doc,
    oid::ObjectId, spec::BinarySubtype,
};
use proptest::prelude::*;

use super::{
    elements, get,
    json::{self, Mode, Style},
    number::{double, iso_date},
    wrap,
};
use crate::fields::Below;

fn text_of(document: &Document, mode: Mode, spaced: bool) -> String {
    let mut out = String::new();
    let bytes = document.to_vec().unwrap();
    json::document(&bytes, Style { mode, spaced }, &Below::default(), &mut out).unwrap();
    out
}

fn all(value: impl Into<Bson>) -> [String; 3] {
    let document = doc! {"a": value.into()};
    [Mode::Strict, Mode::Relaxed, Mode::Canonical].map(|mode| {
        let text = text_of(&document, mode, false);
        text.strip_prefix("{\"a\": ").unwrap().strip_suffix('}').unwrap().to_owned()
    })
}

#[test]
fn every_type_is_written_as_the_driver_does() {
    let id = ObjectId::parse_str("596e275826f08b2730779e1f").unwrap();
    let same = |text: &str| [text; 3].map(str::to_owned);
    assert_eq!(all(1.5), ["1.5", "1.5", "{\"$numberDouble\": \"1.5\"}"]);
    let nan = "{\"$numberDouble\": \"NaN\"}";
    assert_eq!(all(f64::NAN), ["NaN", nan, nan]);
    assert_eq!(all("x"), same("\"x\""));
    assert_eq!(all(id), same("{\"$oid\": \"596e275826f08b2730779e1f\"}"));
    assert_eq!(all(true), same("true"));
    assert_eq!(all(Bson::Null), same("null"));
    assert_eq!(all(Bson::Undefined), same("{\"$undefined\": true}"));
    assert_eq!(all(7_i32), ["7", "7", "{\"$numberInt\": \"7\"}"]);
    let long = "{\"$numberLong\": \"7\"}";
    assert_eq!(all(7_i64), [long, "7", long]);
    let canonical = "{\"$date\": {\"$numberLong\": \"1577836800000\"}}";
    assert_eq!(
        all(DateTime::from_millis(1_577_836_800_000)),
        ["{\"$date\": 1577836800000}", "{\"$date\": \"2020-01-01T00:00:00Z\"}", canonical]
    );
    let early = "{\"$date\": {\"$numberLong\": \"-1\"}}";
    assert_eq!(all(DateTime::from_millis(-1)), ["{\"$date\": -1}", early, early]);
    let new = "{\"$binary\": {\"base64\": \"AQI=\",\"subType\": \"80\"}}";
    let binary = Binary { subtype: BinarySubtype::UserDefined(0x80), bytes: vec![1, 2] };
    assert_eq!(all(binary), ["{\"$binary\": \"AQI=\",\"$type\": \"80\"}", new, new]);
    let regex = Regex { pattern: "p".try_into().unwrap(), options: "i".try_into().unwrap() };
    let new = "{\"$regularExpression\": {\"pattern\": \"p\",\"options\": \"i\"}}";
    assert_eq!(
        all(Bson::RegularExpression(regex)),
        ["{\"$regex\": \"p\",\"$options\": \"i\"}", new, new]
    );
    assert_eq!(all(Bson::JavaScriptCode("f()".into())), same("{\"$code\": \"f()\"}"));
    let scoped = JavaScriptCodeWithScope { code: "g()".into(), scope: doc! {"x": 1} };
    assert_eq!(
        all(scoped),
        [
            "{\"$code\": \"g()\",\"$scope\": {\"x\": 1}}",
            "{\"$code\": \"g()\",\"$scope\": {\"x\": 1}}",
            "{\"$code\": \"g()\",\"$scope\": {\"x\": {\"$numberInt\": \"1\"}}}"
        ]
    );
    assert_eq!(all(Bson::Symbol("s".into())), same("{\"$symbol\": \"s\"}"));
    let time = Timestamp { time: u32::MAX, increment: 2 };
    assert_eq!(all(time), same("{\"$timestamp\": {\"t\": 4294967295,\"i\": 2}}"));
    let decimal: Decimal128 = "1.50".parse().unwrap();
    assert_eq!(all(decimal), same("{\"$numberDecimal\": \"1.50\"}"));
    assert_eq!(all(Bson::MinKey), same("{\"$minKey\": 1}"));
    assert_eq!(all(Bson::MaxKey), same("{\"$maxKey\": 1}"));
}

#[test]
fn spaces_follow_the_two_writers() {
    let document = doc! {"a": 1, "b": [1, {"c": 2_i64, "d": {}}], "e": []};
    assert_eq!(
        text_of(&document, Mode::Strict, false),
        "{\"a\": 1,\"b\": [1,{\"c\": {\"$numberLong\": \"2\"},\"d\": {}}],\"e\": []}"
    );
    assert_eq!(
        text_of(&document, Mode::Relaxed, true),
        "{\"a\": 1, \"b\": [1, {\"c\": 2, \"d\": {}}], \"e\": []}"
    );
}

#[test]
fn strings_are_escaped_by_their_unicode_category() {
    let written = |text: &str| all(text)[0].clone();
    assert_eq!(written("\"\\\u{8}\u{c}\n\r\t/"), r#""\"\\\b\f\n\r\t/""#);
    assert_eq!(written("zür 漢 €"), "\"zür 漢 €\"");
    assert_eq!(written("😀"), r#""\ud83d\ude00""#);
    // A control, a modifier letter, a combining mark, a line separator, a soft hyphen, private use.
    assert_eq!(
        written("\u{1}\u{7f}\u{2b0}\u{301}\u{2028}\u{ad}\u{e000}"),
        r#""\u0001\u007f\u02b0\u0301\u2028\u00ad\ue000""#
    );
}

#[test]
fn doubles_have_javas_text() {
    let cases = [
        (1e20, "1.0E20"),
        (1e7, "1.0E7"),
        (9_999_999.0, "9999999.0"),
        (2.0, "2.0"),
        (0.001, "0.001"),
        (0.000_999, "9.99E-4"),
        (-0.0, "-0.0"),
        (12.34, "12.34"),
        (f64::MAX, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
    ];
    for (number, expected) in cases {
        let mut text = String::new();
        double(number, &mut text);
        assert_eq!(text, expected);
    }
}

#[test]
fn dates_have_no_trailing_zeros() {
    let cases = [
        (0, "1970-01-01T00:00:00Z"),
        (1_577_836_800_500, "2020-01-01T00:00:00.5Z"),
        (1_582_934_399_729, "2020-02-28T23:59:59.729Z"),
        (951_782_400_010, "2000-02-29T00:00:00.01Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ];
    for (ms, expected) in cases {
        let mut text = String::new();
        iso_date(ms, &mut text).unwrap();
        assert_eq!(text, expected);
    }
    assert!(iso_date(253_402_300_800_000, &mut String::new()).is_none());
}

#[test]
fn damaged_bytes_are_an_error_and_never_a_panic() {
    let whole = doc! {"a": {"b": [1, "x", 2.5]}, "c": Bson::Null}.to_vec().unwrap();
    let style = Style { mode: Mode::Strict, spaced: false };
    for cut in 0..whole.len() {
        let part = &whole[..cut];
        assert!(json::document(part, style, &Below::default(), &mut String::new()).is_err());
    }
    let mut deep = doc! {};
    for _ in 0..300 {
        deep = doc! {"a": deep};
    }
    let bytes = deep.to_vec().unwrap();
    assert!(json::document(&bytes, style, &Below::default(), &mut String::new()).is_err());
}

#[test]
fn an_id_survives_being_wrapped() {
    for id in [Bson::Int32(7), Bson::String("x".into()), Bson::Null, Bson::Document(doc! {"a": 1})]
    {
        let document = doc! {"_id": id.clone(), "more": 1}.to_vec().unwrap();
        let wrapped = wrap(get(&document, "_id").unwrap());
        assert_eq!(Document::from_reader(wrapped.as_slice()).unwrap(), doc! {"_": id});
    }
}

fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Bson::Double),
        any::<String>().prop_map(Bson::String),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i64>().prop_map(|ms| Bson::DateTime(DateTime::from_millis(ms))),
        any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(ObjectId::from_bytes(id))),
        // From text: bytes can hold a number in forms that no text gives back.
        (any::<i64>(), -200..200).prop_map(|(digits, exponent)| {
            Bson::Decimal128(format!("{digits}E{exponent}").parse().unwrap())
        }),
        Just(Bson::Null),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Bson::Array),
            proptest::collection::vec(("[a-z$é]{0,6}", inner), 0..6)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_text_is_read_back_as_the_same_document(value in value()) {
        let document = doc! {"v": value};
        let text = text_of(&document, Mode::Canonical, false);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        // A document that looks like Extended JSON is read as what it looks like.
        if !text.contains("\"$\"") && !text.contains("\"$$") {
            let back = Bson::try_from(json).unwrap();
            let Bson::Document(back) = back else { panic!("not a document") };
            prop_assert_eq!(format!("{back:?}"), format!("{document:?}"));
        }
    }

    #[test]
    fn any_bytes_are_walked_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let style = Style { mode: Mode::Relaxed, spaced: true };
        let _ = json::document(&bytes, style, &Below::default(), &mut String::new());
        if let Ok(walk) = elements(&bytes) {
            for element in walk {
                let _ = element;
            }
        }
    }

    #[test]
    fn decimals_have_the_drivers_text(bits: [u8; 16]) {
        let ours = super::number::decimal128(bits);
        prop_assert_eq!(ours, Decimal128::from_bytes(bits).to_string());
    }
}
