//! Values as text: what Java's `toString` and the simple header converter give.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{decimal, schema::Schema, value::Value};

use crate::json::float_text;

/// The StringConverter's form: a struct is `Struct{a=1,b=x}`, its NULLs left out.
pub(crate) fn java_text(schema: &Schema, value: &Value<'_>, out: &mut String) {
    match value {
        Value::Struct(items) => {
            out.push_str("Struct{");
            let mut first = true;
            for (field, item) in schema.fields.iter().zip(items) {
                if item.is_absent() {
                    continue;
                }
                separate(&mut first, out);
                out.push_str(&field.name);
                out.push('=');
                java_text(&field.schema, item, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                java_text(schema.element.as_deref().unwrap_or(schema), item, out);
            }
            out.push(']');
        }
        Value::Map(items) => {
            out.push('{');
            for (index, (key, item)) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                java_text(schema.key.as_deref().unwrap_or(schema), key, out);
                out.push('=');
                java_text(schema.element.as_deref().unwrap_or(schema), item, out);
            }
            out.push('}');
        }
        value => scalar(schema, value, out),
    }
}

/// The SimpleHeaderConverter's form: JSON-like, texts inside of something quoted.
pub(crate) fn simple_text(schema: &Schema, value: &Value<'_>, embedded: bool, out: &mut String) {
    let element = schema.element.as_deref().unwrap_or(schema);
    let mut first = true;
    match value {
        Value::Struct(items) => {
            out.push('{');
            for (field, item) in schema.fields.iter().zip(items) {
                separate(&mut first, out);
                quoted(&field.name, out);
                out.push(':');
                simple_text(&field.schema, item, true, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                separate(&mut first, out);
                simple_text(element, item, true, out);
            }
            out.push(']');
        }
        Value::Map(items) => {
            out.push('{');
            for (key, item) in items {
                separate(&mut first, out);
                simple_text(schema.key.as_deref().unwrap_or(schema), key, true, out);
                out.push(':');
                simple_text(element, item, true, out);
            }
            out.push('}');
        }
        Value::Text(text) if embedded => quoted(text.as_str(), out),
        value => scalar(schema, value, out),
    }
}

fn separate(first: &mut bool, out: &mut String) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
    out.push('"');
}

fn scalar(schema: &Schema, value: &Value<'_>, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match value {
        Value::Bool(value) => write!(out, "{value}"),
        Value::Int(value) => write!(out, "{value}"),
        Value::Float32(value) => {
            out.push_str(&float_text(*value));
            Ok(())
        }
        Value::Float64(value) => {
            out.push_str(&float_text(*value));
            Ok(())
        }
        Value::Text(text) => {
            out.push_str(text.as_str());
            Ok(())
        }
        Value::Bytes(bytes) if schema.semantic() == "org.apache.kafka.connect.data.Decimal" => {
            let scale = schema.get_parameter("scale").and_then(|scale| scale.parse().ok());
            out.push_str(&decimal::plain_text(bytes.as_slice(), scale.unwrap_or(0)));
            Ok(())
        }
        Value::Bytes(bytes) => {
            out.push_str(&STANDARD.encode(bytes.as_slice()));
            Ok(())
        }
        _ => {
            out.push_str("null");
            Ok(())
        }
    };
}
