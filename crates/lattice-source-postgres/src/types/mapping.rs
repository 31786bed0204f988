//! Which schema and decoder a column's type has. Source: `debezium-connector-postgres`'s
//! `PostgresValueConverter`.

use std::sync::Arc;

use lattice_core::schema::{Field, Schema, Type};

use super::{
    BinaryMode, DecimalMode, Decoder, Modes, TimeMode, UnknownMode,
    catalog::{Catalog, Kind, TypeInfo},
    temporal::Unit,
};

/// A column type's schema (required; the caller makes it optional) and decoder.
#[derive(Debug, Clone)]
pub struct Mapped {
    /// Its schema.
    pub schema: Schema,
    /// Its decoder.
    pub decoder: Decoder,
    /// Whether the type has no mapping of its own and its text is used.
    pub unknown: bool,
    /// Whether the schema may carry a default.
    pub defaults: bool,
    /// Decimal places of a number that is written as text.
    pub scale: Option<usize>,
}

impl Mapped {
    fn new(schema: Schema, decoder: Decoder) -> Self {
        Self { schema, decoder, unknown: false, defaults: true, scale: None }
    }

    fn plain(kind: Type, decoder: Decoder) -> Self {
        Self::new(Schema::new(kind), decoder)
    }

    fn without_default(mut self) -> Self {
        self.defaults = false;
        self
    }
}

/// Maps a column of type `oid`. `None`: the column is left out.
#[must_use]
pub fn map_type(
    catalog: &Catalog,
    oid: u32,
    typmod: i32,
    modes: &Modes,
    optional: bool,
) -> Option<Mapped> {
    map(catalog, oid, typmod, modes, optional, 0)
}

/// Domains over arrays over domains end somewhere, but a damaged catalog must not hang us.
const MAX_DEPTH: usize = 8;

fn map(
    catalog: &Catalog,
    oid: u32,
    typmod: i32,
    modes: &Modes,
    optional: bool,
    depth: usize,
) -> Option<Mapped> {
    let Some(info) = catalog.get(oid).filter(|_| depth < MAX_DEPTH) else {
        return unknown(modes);
    };
    match &info.kind {
        Kind::Domain { base, typmod: own } => {
            let typmod = if *own == -1 { typmod } else { *own };
            map(catalog, *base, typmod, modes, optional, depth + 1)
        }
        Kind::Enum(labels) => {
            let schema = Schema::new(Type::String)
                .named("io.debezium.data.Enum", 1)
                .parameter("allowed", labels);
            Some(Mapped::new(schema, Decoder::Text))
        }
        Kind::Array { element, delimiter } => {
            let inner = map(catalog, *element, typmod, modes, true, depth + 1)?;
            let schema = inner.schema.optional();
            let decoder =
                Decoder::Array { element: Box::new(inner.decoder), delimiter: *delimiter };
            let mapped = Mapped::new(Schema::array(Arc::new(schema)), decoder).without_default();
            Some(Mapped { unknown: inner.unknown, ..mapped })
        }
        Kind::Range => Some(Mapped::plain(Type::String, Decoder::Text).without_default()),
        Kind::Base => base(info, typmod, modes, optional).or_else(|| unknown(modes)),
        Kind::Other => unknown(modes),
    }
}

fn unknown(modes: &Modes) -> Option<Mapped> {
    let (kind, decoder) = match modes.unknown {
        UnknownMode::Drop => return None,
        UnknownMode::Text => (Type::String, Decoder::Text),
        UnknownMode::Bytes => (binary_type(modes.binary), Decoder::Raw(modes.binary)),
    };
    Some(Mapped { unknown: true, ..Mapped::plain(kind, decoder).without_default() })
}

fn binary_type(mode: BinaryMode) -> Type {
    if mode == BinaryMode::Bytes { Type::Bytes } else { Type::String }
}

fn base(info: &TypeInfo, typmod: i32, modes: &Modes, optional: bool) -> Option<Mapped> {
    let text = |name: &str| {
        let schema = Schema::new(Type::String);
        Mapped::new(if name.is_empty() { schema } else { schema.named(name, 1) }, Decoder::Text)
    };
    // A user's type may have a built-in one's name: only these schemas are the system's.
    let built_in = &*info.schema == "pg_catalog";
    Some(match (&*info.name, built_in) {
        ("bool", true) => Mapped::plain(Type::Boolean, Decoder::Bool),
        ("int2", true) => Mapped::plain(Type::Int16, Decoder::Int),
        ("int4", true) => Mapped::plain(Type::Int32, Decoder::Int),
        ("int8", true) => Mapped::plain(Type::Int64, Decoder::Int),
        ("oid", true) => Mapped::plain(Type::Int64, Decoder::Int).without_default(),
        ("float4", true) => Mapped::plain(Type::Float32, Decoder::Float32),
        ("float8", true) => Mapped::plain(Type::Float64, Decoder::Float64),
        ("text" | "varchar" | "bpchar", true) => text(""),
        ("char" | "name" | "inet" | "cidr" | "macaddr" | "macaddr8", true)
        | ("citext" | "isbn" | "isbn13", false) => text("").without_default(),
        ("uuid", true) => text("io.debezium.data.Uuid"),
        ("json" | "jsonb", true) => text("io.debezium.data.Json"),
        ("xml", true) => text("io.debezium.data.Xml"),
        ("tsvector", true) => text("io.debezium.data.Tsvector").without_default(),
        ("ltree", false) => text("io.debezium.data.Ltree").without_default(),
        ("bytea", true) => {
            Mapped::plain(binary_type(modes.binary), Decoder::Bytes(modes.binary)).without_default()
        }
        ("numeric", true) => numeric(typmod, modes, optional),
        ("money", true) => money(modes).without_default(),
        ("bit" | "varbit", true) => bits(&info.name, typmod),
        ("date" | "time" | "timestamp", true) => temporal(&info.name, typmod, modes.time),
        ("timestamptz", true) => Mapped::new(
            Schema::new(Type::String).named("io.debezium.time.ZonedTimestamp", 1),
            Decoder::TimestampTz(precision(typmod)),
        ),
        ("timetz", true) => Mapped::new(
            Schema::new(Type::String).named("io.debezium.time.ZonedTime", 1),
            Decoder::TimeTz,
        )
        .without_default(),
        ("interval", true) if modes.interval_text => Mapped::new(
            Schema::new(Type::String).named("io.debezium.time.Interval", 1),
            Decoder::Interval(true),
        ),
        ("interval", true) => Mapped::new(
            Schema::new(Type::Int64).named("io.debezium.time.MicroDuration", 1),
            Decoder::Interval(false),
        ),
        ("point", true) => Mapped::new(point_schema(), Decoder::Point).without_default(),
        (name, false) => extension(name, modes)?.without_default(),
        _ => return None,
    })
}

/// Types of well-known extensions, which may live in any schema.
fn extension(name: &str, modes: &Modes) -> Option<Mapped> {
    let field = |name: &str, schema: Schema| Field::new(name, schema);
    Some(match name {
        "hstore" if modes.hstore_map => {
            let key = Arc::new(Schema::new(Type::String));
            let value = Arc::new(Schema::new(Type::String).optional());
            Mapped::new(Schema::map(key, value), Decoder::Hstore(true))
        }
        "hstore" => Mapped::new(
            Schema::new(Type::String).named("io.debezium.data.Json", 1),
            Decoder::Hstore(false),
        ),
        "geometry" | "geography" => {
            let kind = if name == "geometry" { "Geometry" } else { "Geography" };
            let fields = vec![
                field("wkb", Schema::new(Type::Bytes)),
                field("srid", Schema::new(Type::Int32).optional()),
            ];
            let name = format!("io.debezium.data.geometry.{kind}");
            let schema = Schema { fields, ..Schema::new(Type::Struct) }.named(&name, 1);
            Mapped::new(schema, Decoder::Geometry)
        }
        "vector" | "halfvec" => {
            let half = name == "halfvec";
            let (kind, name) = if half {
                (Type::Float32, "io.debezium.data.FloatVector")
            } else {
                (Type::Float64, "io.debezium.data.DoubleVector")
            };
            let schema = Schema::array(Arc::new(Schema::new(kind))).named(name, 1);
            Mapped::new(schema, Decoder::Vector(half))
        }
        "sparsevec" => {
            let (key, value) = (Schema::new(Type::Int16), Schema::new(Type::Float64));
            let fields = vec![
                field("dimensions", Schema::new(Type::Int16)),
                field("vector", Schema::map(Arc::new(key), Arc::new(value))),
            ];
            let schema = Schema {
                fields,
                doc: Some("Sparse double vector".into()),
                ..Schema::new(Type::Struct)
            };
            Mapped::new(
                schema.named("io.debezium.data.SparseDoubleVector", 1),
                Decoder::SparseVector,
            )
        }
        _ => return None,
    })
}

fn point_schema() -> Schema {
    let fields = vec![
        Field::new("x", Schema::new(Type::Float64)),
        Field::new("y", Schema::new(Type::Float64)),
        Field::new("wkb", Schema::new(Type::Bytes).optional()),
        Field::new("srid", Schema::new(Type::Int32).optional()),
    ];
    let doc = Some("Geometry (POINT)".into());
    let schema = Schema { fields, doc, ..Schema::new(Type::Struct) };
    schema.named("io.debezium.data.geometry.Point", 1)
}

/// Decimal places of a time; none declared means six.
fn precision(typmod: i32) -> u8 {
    u8::try_from(typmod).ok().filter(|digits| *digits <= 6).unwrap_or(6)
}

fn numeric(typmod: i32, modes: &Modes, optional: bool) -> Mapped {
    let special_null = !modes.fail_on_special && optional;
    match modes.decimal {
        DecimalMode::Double => return Mapped::plain(Type::Float64, Decoder::Float64),
        DecimalMode::String => {
            let scale = (typmod >= 4).then(|| declared(typmod).1);
            let scale = scale.map(|scale| usize::try_from(scale).unwrap_or(0));
            return Mapped { scale, ..Mapped::plain(Type::String, Decoder::NumericText) };
        }
        DecimalMode::Precise => {}
    }
    if typmod < 4 {
        let fields = vec![
            Field::new("scale", Schema::new(Type::Int32)),
            Field::new("value", Schema::new(Type::Bytes)),
        ];
        let doc = Some("Variable scaled decimal".into());
        let schema = Schema { fields, doc, ..Schema::new(Type::Struct) }
            .named("io.debezium.data.VariableScaleDecimal", 1);
        return Mapped::new(schema, Decoder::VariableDecimal { special_null }).without_default();
    }
    let (precision, scale) = declared(typmod);
    let schema =
        decimal_schema(scale).parameter("connect.decimal.precision", &precision.to_string());
    let scale = usize::try_from(scale).unwrap_or(0);
    Mapped::new(schema, Decoder::Decimal { scale, special_null })
}

/// Precision and scale that a column declares.
fn declared(typmod: i32) -> (i32, i32) {
    let packed = typmod - 4;
    let precision = (packed >> 16) & 0xffff;
    // Eleven bits with a sign, since PostgreSQL 15. A negative scale says that the last digits
    // are zeros; they are written out.
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    if scale < 0 { (precision - scale, 0) } else { (precision, scale) }
}

fn decimal_schema(scale: i32) -> Schema {
    Schema::new(Type::Bytes)
        .named("org.apache.kafka.connect.data.Decimal", 1)
        .parameter("scale", &scale.to_string())
}

fn money(modes: &Modes) -> Mapped {
    match modes.decimal {
        DecimalMode::Double => Mapped::plain(Type::Float64, Decoder::MoneyDouble),
        DecimalMode::String => Mapped::plain(Type::String, Decoder::MoneyText),
        DecimalMode::Precise => {
            let scale = usize::try_from(modes.money_digits).unwrap_or(2);
            Mapped::new(decimal_schema(modes.money_digits), Decoder::Money(scale))
        }
    }
}

fn bits(name: &str, typmod: i32) -> Mapped {
    let length = if typmod > 0 {
        typmod
    } else if name == "bit" {
        1
    } else {
        i32::MAX
    };
    if length == 1 {
        return Mapped::plain(Type::Boolean, Decoder::Bit);
    }
    let schema = Schema::new(Type::Bytes)
        .named("io.debezium.data.Bits", 1)
        .parameter("length", &length.to_string());
    Mapped::new(schema, Decoder::Bits)
}

fn temporal(name: &str, typmod: i32, mode: TimeMode) -> Mapped {
    let named = |kind, name: &str, decoder| Mapped::new(Schema::new(kind).named(name, 1), decoder);
    let short = precision(typmod) <= 3;
    let connect = mode == TimeMode::Connect;
    match (name, mode) {
        ("date", TimeMode::IsoString) => {
            named(Type::String, "io.debezium.time.IsoDate", Decoder::Date(true))
        }
        ("date", _) => {
            let name = if connect {
                "org.apache.kafka.connect.data.Date"
            } else {
                "io.debezium.time.Date"
            };
            named(Type::Int32, name, Decoder::Date(false))
        }
        ("time", TimeMode::IsoString) => {
            named(Type::String, "io.debezium.time.IsoTime", Decoder::Time(Unit::Iso))
        }
        ("time", TimeMode::Connect) => {
            named(Type::Int32, "org.apache.kafka.connect.data.Time", Decoder::Time(Unit::Millis))
        }
        ("time", TimeMode::Nanoseconds) => {
            named(Type::Int64, "io.debezium.time.NanoTime", Decoder::Time(Unit::Nanos))
        }
        ("time", TimeMode::Adaptive) if short => {
            named(Type::Int32, "io.debezium.time.Time", Decoder::Time(Unit::Millis))
        }
        ("time", _) => {
            named(Type::Int64, "io.debezium.time.MicroTime", Decoder::Time(Unit::Micros))
        }
        (_, TimeMode::IsoString) => {
            named(Type::String, "io.debezium.time.IsoTimestamp", Decoder::Timestamp(Unit::Iso))
        }
        (_, TimeMode::Connect) => named(
            Type::Int64,
            "org.apache.kafka.connect.data.Timestamp",
            Decoder::Timestamp(Unit::Millis),
        ),
        (_, TimeMode::Nanoseconds) => {
            named(Type::Int64, "io.debezium.time.NanoTimestamp", Decoder::Timestamp(Unit::Nanos))
        }
        (_, TimeMode::Adaptive | TimeMode::AdaptiveTimeMicroseconds) if short => {
            named(Type::Int64, "io.debezium.time.Timestamp", Decoder::Timestamp(Unit::Millis))
        }
        _ => {
            named(Type::Int64, "io.debezium.time.MicroTimestamp", Decoder::Timestamp(Unit::Micros))
        }
    }
}
