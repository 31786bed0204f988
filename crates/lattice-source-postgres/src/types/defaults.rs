//! Column defaults in schemas. Source: Debezium's `PostgresDefaultValueConverter`.

use lattice_core::{
    schema::Type,
    value::{Text, Value},
};

use super::{Decoder, Mapped, numeric};

/// The schema's default for a column whose `DEFAULT` is `expression` (as `pg_get_expr` gives it):
/// a literal's value; zero for a function; `None` for what cannot be known.
#[must_use]
pub fn default_value(mapped: &Mapped, expression: &str) -> Option<Value<'static>> {
    if !mapped.defaults || mapped.schema.kind == Type::Struct {
        return None;
    }
    let expression = expression.trim();
    if let Some(literal) = quoted(expression) {
        return decode(mapped, &literal);
    }
    let lower = expression.to_ascii_lowercase();
    if lower.starts_with("null") {
        return None;
    }
    let keyword = ["current_", "local", "session_user", "user"];
    if expression.contains('(') && !lower.starts_with('(')
        || keyword.iter().any(|word| lower.starts_with(word))
    {
        return decode(mapped, zero(mapped));
    }
    let raw = expression.split("::").next().unwrap_or("");
    decode(mapped, raw.trim_start_matches('(').trim_end_matches(')').trim())
}

/// The text of a leading `'…'`, with its doubled quotes undone.
fn quoted(expression: &str) -> Option<String> {
    let mut chars = expression.trim_start_matches('(').strip_prefix('\'')?.chars().peekable();
    let mut text = String::new();
    while let Some(char) = chars.next() {
        if char == '\'' && chars.next_if_eq(&'\'').is_none() {
            return Some(text);
        }
        text.push(char);
    }
    None
}

fn decode(mapped: &Mapped, literal: &str) -> Option<Value<'static>> {
    if matches!(mapped.decoder, Decoder::Text) {
        return Some(Value::Text(Text::copied(literal)));
    }
    if let (Decoder::NumericText, Some(scale)) = (&mapped.decoder, mapped.scale) {
        return numeric::text_at(literal.as_bytes(), scale).ok();
    }
    // A literal is not always in the session's form (an interval, a time without seconds):
    // what our decoders cannot read gives no default, never a wrong one.
    mapped.decoder.decode(literal.as_bytes()).ok().map(Value::into_owned)
}

/// Zero of a number that is written as text.
#[must_use]
pub fn zero_text(mapped: &Mapped) -> Option<&'static str> {
    const ZEROS: &str = "0.0000000000000000000000000000000000000000";
    match &mapped.decoder {
        Decoder::MoneyText => Some("0.00"),
        Decoder::NumericText => match mapped.scale.unwrap_or(0) {
            0 => Some("0"),
            scale => Some(ZEROS.get(..scale + 2).unwrap_or(ZEROS)),
        },
        _ => None,
    }
}

fn zero(mapped: &Mapped) -> &'static str {
    match &mapped.decoder {
        Decoder::Bool => "f",
        Decoder::Text => match mapped.schema.semantic() {
            "io.debezium.data.Uuid" => "00000000-0000-0000-0000-000000000000",
            "io.debezium.data.Json" => "{}",
            _ => "",
        },
        Decoder::Date(_) => "1970-01-01",
        Decoder::Time(_) | Decoder::TimeTz => "00:00:00",
        Decoder::Timestamp(_) | Decoder::TimestampTz(_) => "1970-01-01 00:00:00",
        Decoder::Interval(_) => "PT0S",
        _ => "0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lattice_core::schema::Schema;

    fn default(kind: Type, decoder: Decoder, expression: &str) -> Option<Value<'static>> {
        let mapped = Mapped {
            schema: Schema::new(kind),
            decoder,
            unknown: false,
            defaults: true,
            scale: None,
        };
        default_value(&mapped, expression)
    }

    #[test]
    fn literals_functions_and_null() {
        assert_eq!(default(Type::Int32, Decoder::Int, "5"), Some(Value::Int(5)));
        assert_eq!(default(Type::Int32, Decoder::Int, "'-1'::integer"), Some(Value::Int(-1)));
        assert_eq!(default(Type::Int32, Decoder::Int, "(-1)"), Some(Value::Int(-1)));
        assert_eq!(
            default(Type::Int32, Decoder::Int, "nextval('s'::regclass)"),
            Some(Value::Int(0))
        );
        assert_eq!(
            default(Type::String, Decoder::Text, "'it''s'::text"),
            Some(Value::text("it's"))
        );
        assert_eq!(default(Type::String, Decoder::Text, "NULL::text"), None);
        assert_eq!(default(Type::Boolean, Decoder::Bool, "true"), Some(Value::Bool(true)));
        let now = default(Type::String, Decoder::TimestampTz(6), "now()");
        assert_eq!(now, Some(Value::text("1970-01-01T00:00:00.000000Z")));
        assert_eq!(default(Type::Int32, Decoder::Int, "1 + 2"), None);
    }
}
