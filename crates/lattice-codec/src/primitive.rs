//! Kafka's converters of numbers and truth values: a fixed width, big-endian, no schema.
//!
//! Source: Kafka's `ShortSerializer` and its likes, which the converters of Connect are made of.

use lattice_core::{
    error::{Error, Result},
    schema::Type,
    value::Value,
};

/// What such a converter carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primitive {
    /// 1 byte: 0 or 1.
    Boolean,
    /// 2 bytes.
    Short,
    /// 4 bytes.
    Integer,
    /// 8 bytes.
    Long,
    /// 4 bytes, IEEE 754.
    Float,
    /// 8 bytes, IEEE 754.
    Double,
}

impl Primitive {
    pub(crate) const ALL: [Self; 6] =
        [Self::Boolean, Self::Double, Self::Float, Self::Integer, Self::Long, Self::Short];

    /// The converter's class.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Boolean => "org.apache.kafka.connect.converters.BooleanConverter",
            Self::Short => "org.apache.kafka.connect.converters.ShortConverter",
            Self::Integer => "org.apache.kafka.connect.converters.IntegerConverter",
            Self::Long => "org.apache.kafka.connect.converters.LongConverter",
            Self::Float => "org.apache.kafka.connect.converters.FloatConverter",
            Self::Double => "org.apache.kafka.connect.converters.DoubleConverter",
        }
    }

    /// By the class or its simple name.
    pub(crate) fn of_class(class: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|one| one.class() == class || one.class().rsplit('.').next() == Some(class))
    }

    /// The type of its values.
    pub(crate) const fn kind(self) -> Type {
        match self {
            Self::Boolean => Type::Boolean,
            Self::Short => Type::Int16,
            Self::Integer => Type::Int32,
            Self::Long => Type::Int64,
            Self::Float => Type::Float32,
            Self::Double => Type::Float64,
        }
    }

    /// Writes a value; NULL is no bytes at all.
    pub(crate) fn write(self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        const RANGE: &str = "a number out of the range of the converter's type";
        match (self, value) {
            (Self::Boolean, Value::Bool(flag)) => out.push(u8::from(*flag)),
            (Self::Short, Value::Int(number)) => {
                let number = i16::try_from(*number).map_err(|_| RANGE)?;
                out.extend_from_slice(&number.to_be_bytes());
            }
            (Self::Integer, Value::Int(number)) => {
                let number = i32::try_from(*number).map_err(|_| RANGE)?;
                out.extend_from_slice(&number.to_be_bytes());
            }
            (Self::Long, Value::Int(number)) => out.extend_from_slice(&number.to_be_bytes()),
            (Self::Float, Value::Float32(number)) => out.extend_from_slice(&number.to_be_bytes()),
            (Self::Double, Value::Float64(number)) => out.extend_from_slice(&number.to_be_bytes()),
            _ => return Err("a value that is not of the converter's type"),
        }
        Ok(())
    }

    /// Reads a value.
    ///
    /// Errors: `Data` for bytes of another length.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<Value<'static>> {
        let fixed = || match self {
            Self::Boolean => match bytes {
                [0] => Some(Value::Bool(false)),
                [1] => Some(Value::Bool(true)),
                _ => None,
            },
            Self::Short => Some(Value::Int(i16::from_be_bytes(bytes.try_into().ok()?).into())),
            Self::Integer => Some(Value::Int(i32::from_be_bytes(bytes.try_into().ok()?).into())),
            Self::Long => Some(Value::Int(i64::from_be_bytes(bytes.try_into().ok()?))),
            Self::Float => Some(Value::Float32(f32::from_be_bytes(bytes.try_into().ok()?))),
            Self::Double => Some(Value::Float64(f64::from_be_bytes(bytes.try_into().ok()?))),
        };
        fixed().ok_or_else(|| {
            let name = self.class().rsplit('.').next().unwrap_or_default();
            Error::data(format!("{} bytes are no value of the {name}", bytes.len()))
                .with_remedy("set the converter to what the topic was written with")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written_and_others_are_refused() {
        for (converter, value, bytes) in [
            (Primitive::Boolean, Value::Bool(true), &[1][..]),
            (Primitive::Short, Value::Int(-2), &[0xff, 0xfe]),
            (Primitive::Integer, Value::Int(258), &[0, 0, 1, 2]),
            (Primitive::Long, Value::Int(-1), &[0xff; 8]),
            (Primitive::Float, Value::Float32(1.5), &[0x3f, 0xc0, 0, 0]),
            (Primitive::Double, Value::Float64(-2.0), &[0xc0, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let mut written = Vec::new();
            converter.write(&value, &mut written).unwrap();
            assert_eq!(written, bytes);
            assert_eq!(converter.read(bytes).unwrap(), value);
            assert!(converter.read(&[9; 3]).unwrap_err().chain().contains("3 bytes"));
            assert!(converter.write(&Value::text("1"), &mut written).is_err());
            assert_eq!(Primitive::of_class(converter.class()), Some(converter));
        }
        assert!(Primitive::Short.write(&Value::Int(40_000), &mut Vec::new()).is_err());
    }
}
