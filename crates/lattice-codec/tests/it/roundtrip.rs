use std::sync::Arc;

use lattice_core::{
    event::Op,
    schema::{Field, Schema, Type},
    value::{Binary, Text, Value},
};
use proptest::prelude::*;

use crate::support::*;

fn scalar() -> impl Strategy<Value = (Schema, Value<'static>)> {
    prop_oneof![
        any::<bool>().prop_map(|v| (Schema::new(Type::Boolean), Value::Bool(v))),
        any::<i8>().prop_map(|v| (Schema::new(Type::Int8), Value::Int(v.into()))),
        any::<i16>().prop_map(|v| (Schema::new(Type::Int16), Value::Int(v.into()))),
        any::<i32>().prop_map(|v| (Schema::new(Type::Int32), Value::Int(v.into()))),
        any::<i64>().prop_map(|v| (Schema::new(Type::Int64), Value::Int(v))),
        (-1e30_f32..1e30).prop_map(|v| (Schema::new(Type::Float32), Value::Float32(v))),
        (-1e300_f64..1e300).prop_map(|v| (Schema::new(Type::Float64), Value::Float64(v))),
        any::<String>().prop_map(|v| (Schema::new(Type::String), Value::Text(Text::owned(v)))),
        any::<Vec<u8>>().prop_map(|v| (Schema::new(Type::Bytes), Value::Bytes(Binary::owned(v)))),
    ]
}

fn column() -> impl Strategy<Value = (Schema, Value<'static>)> {
    let nested = scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0_usize..4).prop_map(|((schema, value), count)| {
                (Schema::array(Arc::new(schema)), Value::Array(vec![value; count]))
            }),
            (inner.clone(), any::<String>()).prop_map(|((schema, value), key)| {
                let keys = Arc::new(Schema::new(Type::String));
                let key = Value::Text(Text::owned(key));
                (Schema::map(keys, Arc::new(schema)), Value::Map(vec![(key, value)]))
            }),
            inner.prop_map(|(schema, value)| {
                // Unnamed, so that every column's struct gets a name of its own.
                let fields = vec![Field::new("f", schema)];
                (Schema { fields, ..Schema::new(Type::Struct) }, Value::Struct(vec![value]))
            }),
        ]
    });
    (nested, 0_u8..4).prop_map(|((schema, value), how)| match how {
        0 => (schema, value),
        1 => (schema.optional(), value),
        2 => (schema.optional(), Value::Null),
        _ if schema.kind == Type::Int64 => (schema.optional().with_default(Value::Int(5)), value),
        _ => (schema, value),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_was_encoded_is_decoded(columns in prop::collection::vec(column(), 1..6)) {
        let names = ["a", "b", "c", "d", "e", "f"];
        let row: Vec<Value<'static>> = columns.iter().map(|(_, value)| value.clone()).collect();
        let columns: Vec<(&str, Schema)> =
            names.into_iter().zip(columns).map(|(name, (schema, _))| (name, schema)).collect();
        let schemas: Vec<Schema> = columns.iter().map(|(_, schema)| schema.clone()).collect();
        let batch = batch("t", columns, vec![], vec![(Op::Create, None, Some(row.clone()))]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let registry = Arc::new(Registry::default());
            for extra in [&[][..], JSON] {
                let config = config(extra);
                let records = encode(&registry, &config, &batch).await.unwrap();
                let decoded = decode(&registry, &config, &records).await;
                assert!(decoded.errors.is_empty(), "{}", decoded.errors[0].error.chain());
                assert_eq!(values(&decoded, 0, false).unwrap(), row);
                let table = &decoded.batch.tables[0].1;
                for (column, schema) in table.columns.iter().zip(&schemas) {
                    assert_eq!(column.schema.kind, schema.kind);
                    assert_eq!(column.schema.optional, schema.optional);
                    assert_eq!(column.schema.default, schema.default);
                }
            }
        });
    }
}
