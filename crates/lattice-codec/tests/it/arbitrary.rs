use std::sync::Arc;

use lattice_core::{
    event::Op,
    schema::{Schema, Type},
    value::Value,
};
use proptest::prelude::*;

use crate::support::*;

async fn prepared(registry: &Arc<Registry>, extra: &[(&str, &str)]) -> Vec<Record> {
    let columns = vec![
        ("id", int()),
        ("note", text()),
        ("a", Schema::array(Arc::new(Schema::new(Type::Int64)))),
    ];
    let row = vec![Value::Int(1), t("hello"), Value::Array(vec![Value::Int(1), Value::Int(2)])];
    let batch = batch("t", columns, vec![0], vec![(Op::Create, None, Some(row))]);
    encode(registry, &config(extra), &batch).await.expect("it encodes")
}

/// Decodes, and reads every row that came of it.
async fn read_all(registry: &Arc<Registry>, extra: &[(&str, &str)], records: &[Record]) {
    let decoded = decode(registry, &config(extra), records).await;
    let batch = &decoded.batch;
    assert_eq!(batch.events.len() + decoded.errors.len(), records.len());
    for (event, key) in batch.events.iter().zip(&batch.keys) {
        let table = &batch.tables[event.table as usize].1;
        for (span, table) in [(event.before, key.as_ref().unwrap_or(table)), (event.after, table)] {
            let Some(span) = span else { continue };
            let _ = table.decoder.decode(span.of(&batch.data), &mut Vec::new());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn bytes_of_any_kind_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        cut in 0_usize..100,
        flip in (0_usize..100, any::<u8>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let registry = Arc::new(Registry::default());
            for extra in [&[][..], JSON] {
                let good = prepared(&registry, extra).await.remove(0);
                let value = good.value.clone().unwrap();
                let mut damaged = value.clone();
                let place = flip.0 % damaged.len();
                damaged[place] = flip.1;
                let mut framed = vec![0, 0, 0, 0, 2];
                framed.extend_from_slice(&bytes);
                let with = |value: Option<Vec<u8>>| Record { value, ..good.clone() };
                let records = [
                    with(Some(bytes.clone())),
                    with(Some(framed)),
                    with(Some(value[..cut % value.len()].to_vec())),
                    with(Some(damaged)),
                    Record { key: Some(bytes.clone()), value: None, ..good.clone() },
                ];
                read_all(&registry, extra, &records).await;
            }
        });
    }
}

#[tokio::test]
async fn a_bad_record_is_named_with_reason_and_remedy_and_spares_the_others() {
    let registry = Arc::new(Registry::default());
    let good = prepared(&registry, &[]).await.remove(0);
    let with = |value: &[u8]| Record { value: Some(value.to_vec()), ..good.clone() };
    let whole = good.value.clone().unwrap();
    let records =
        [with(b"{}"), with(&[0, 0, 0, 3, 231, 1]), with(&whole[..whole.len() - 3]), good.clone()];
    let decoded = decode(&registry, &config(&[]), &records).await;
    assert_eq!(decoded.batch.events.len(), 1);
    let texts: Vec<String> = decoded.errors.iter().map(|error| error.error.chain()).collect();
    for (text, reason) in texts.iter().zip(["begins with 0x7b", "schema 999", "end too early"]) {
        assert!(text.contains("decode record shop.public.t-0@0"), "{text}");
        assert!(text.contains(reason) && text.contains("remedy"), "{text}");
    }
    assert_eq!(texts.len(), 3);
}
