//! The shop: four tables with a realistic variety of types, and what is in them before it opens.

use anyhow::Result;

use super::databases::{Source, Target};

/// The source database, and the first part of every topic's name.
pub(crate) const DATABASE: &str = "fulfillment";

/// The shop's tables.
pub(crate) const TABLES: [&str; 4] = ["customers", "products", "orders", "order_lines"];

/// Rows before the shop opens.
pub(crate) const CUSTOMERS: u64 = 20_000;
pub(crate) const PRODUCTS: u64 = 2_000;
pub(crate) const ORDERS: u64 = 60_000;

/// The target table of a source table, quoted: named like its topic.
pub(crate) fn target_name(table: &str) -> String {
    format!("default.`{DATABASE}.public.{table}`")
}

const SCHEMA: &str = "
CREATE TYPE order_status AS ENUM ('placed', 'paid', 'packed', 'shipped', 'delivered', 'returned');
CREATE TABLE customers (
    id bigint PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL, country varchar(2) NOT NULL,
    points int NOT NULL DEFAULT 0, tags text[] NOT NULL DEFAULT '{}', address jsonb, newsletter boolean,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL
);
CREATE TABLE products (
    id int PRIMARY KEY, sku text NOT NULL, title text NOT NULL, price numeric(10,2) NOT NULL, weight_kg double precision,
    stock int NOT NULL, attributes jsonb, barcode uuid NOT NULL, discontinued_on date, updated_at timestamptz NOT NULL
);
CREATE TABLE orders (
    id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, status order_status NOT NULL,
    total numeric(12,2) NOT NULL, currency varchar(3) NOT NULL, note text, ship_by date, placed_at timestamptz NOT NULL,
    local_time timestamp(3) NOT NULL
);
CREATE TABLE order_lines (
    order_id bigint NOT NULL REFERENCES orders, line_no smallint NOT NULL, product_id int NOT NULL REFERENCES products,
    quantity int NOT NULL, unit_price numeric(10,2) NOT NULL, discount real, gift boolean NOT NULL, engraving bytea,
    PRIMARY KEY (order_id, line_no)
);";

/// Made by hand before Lattice comes, as a user would who wants types of his own choice. The others are Lattice's work.
const PRODUCTS_BY_HAND: &str = "
    (id Int32, sku LowCardinality(String), title String, price Decimal(10, 2), weight_kg Nullable(Float64), stock Int32,
     attributes Nullable(String), barcode UUID, discontinued_on Nullable(Date32), updated_at DateTime64(6, 'UTC'),
     _version UInt64, is_deleted UInt8)
    ENGINE = ReplacingMergeTree(_version, is_deleted) ORDER BY id COMMENT 'made by hand, for Lattice''s demo'";

/// Makes the tables and fills them.
pub(crate) fn create(source: &Source, target: &Target) -> Result<()> {
    source.sql(SCHEMA)?;
    target.query(&format!("CREATE TABLE {} {PRODUCTS_BY_HAND}", target_name("products")))?;
    let customers = format!(
        "INSERT INTO customers SELECT i, 'customer' || i || '@example.com',
           (ARRAY['Ada','Björn','Chloé','Đorđe','Eve','Fatima','Gül','Håkon','Ines','Jürgen'])[1 + i % 10] || ' ' ||
           (ARRAY['Lovelace','O''Brien','Müller','Nguyễn','Silva','\"Quoted\"'])[1 + i % 6],
           (ARRAY['DE','FR','US','BR','JP'])[1 + i % 5], (i * 37 % 1000)::int,
           CASE WHEN i % 3 = 0 THEN ARRAY['vip', 'early bird'] ELSE '{{}}' END,
           CASE WHEN i % 4 > 0 THEN jsonb_build_object('city', 'Town ' || i % 100, 'zip', lpad((i % 99999)::text, 5, '0')) END,
           CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
           timestamptz '2024-01-01 00:00Z' + i * interval '61.234567 seconds', timestamptz '2024-06-01 00:00Z' + i * interval '1 second'
         FROM generate_series(1, {CUSTOMERS}) i"
    );
    let products = format!(
        "INSERT INTO products SELECT i, 'SKU-' || i, 'Product ' || i, (i * 7919 % 20000)::numeric / 100, CASE WHEN i % 5 > 0 THEN i / 7.0 END,
           (i % 500)::int, CASE WHEN i % 2 = 0 THEN jsonb_build_object('colour', 'blue', 'sizes', jsonb_build_array(1, 2, i)) END,
           md5(i::text)::uuid, CASE WHEN i % 50 = 0 THEN date '2025-01-01' + i::int END, timestamptz '2024-06-01 00:00Z'
         FROM generate_series(1, {PRODUCTS}) i"
    );
    let orders = format!(
        "INSERT INTO orders SELECT i, 1 + i * 31 % {CUSTOMERS}, (enum_range(null::order_status))[1 + i % 6], (i * 13 % 100000)::numeric / 100,
           (ARRAY['EUR','USD','JPY'])[1 + i % 3], CASE WHEN i % 7 = 0 THEN 'leave at the door, ring \"twice\"' END,
           CASE WHEN i % 3 > 0 THEN date '2024-01-01' + (i % 700)::int END, timestamptz '2024-03-01 00:00Z' + i * interval '17.5 seconds',
           timestamp '2024-03-01 02:00' + i * interval '17.5 seconds'
         FROM generate_series(1, {ORDERS}) i"
    );
    let lines = format!(
        "INSERT INTO order_lines SELECT o, l, (1 + (o * 7 + l) % {PRODUCTS})::int, (1 + (o + l) % 5)::int, ((o * l) % 20000)::numeric / 100,
           CASE WHEN o % 4 = 0 THEN 0.15 END, o % 11 = 0, CASE WHEN o % 90 = 0 THEN decode(md5(o::text), 'hex') END
         FROM generate_series(1, {ORDERS}) o, generate_series(1, 2) l"
    );
    source.sql(&[customers, products, orders, lines].join(";\n"))?;
    Ok(())
}
