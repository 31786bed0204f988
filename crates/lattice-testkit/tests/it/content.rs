//! The comparison finds equal what is equal and different what is different, for each engine and type.

use lattice_testkit::{
    ClickHouseDatabase, PostgresDatabase, assert_same_content, compare_tables, service,
};

const SOURCE: &str = "CREATE TABLE items (
    id bigint PRIMARY KEY, name text, price numeric(10,2), ratio float8, made timestamptz, seen timestamp(3),
    born date, ok boolean, raw bytea, ref uuid, tags text[], doc jsonb, opens time);
  INSERT INTO items VALUES
    (1, E'it''s\\ta \\\\ \"quoted\" name\\n', 12.50, 0.1, '2024-02-29 12:00:00.123456+02', '2024-01-01 00:00:00.123',
     '1969-12-31', true, '\\x00ff27', 'aa0e8400-e29b-41d4-a716-446655440000', '{a,NULL,\"b c\"}', '{\"a\": [1, 2]}', '23:59:59.5'),
    (2, NULL, NULL, '-0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, '', -100, 'NaN', '1970-01-01 00:00:00Z', '1969-12-31 23:59:59.999', '2100-01-01', false, '', NULL, '{}', 'null', '00:00')";

const TARGET: &str = "CREATE TABLE `p.public.items` (
    id Int64, name Nullable(String), price Nullable(Decimal(10,2)), ratio Nullable(Float64), made Nullable(DateTime64(6,'UTC')),
    seen Nullable(DateTime64(3,'UTC')), born Nullable(Date32), ok Nullable(Bool), raw Nullable(String), ref Nullable(UUID),
    tags Array(Nullable(String)), doc Nullable(String), opens Nullable(Time64(6)), _version UInt64, is_deleted UInt8
  ) ENGINE = ReplacingMergeTree(_version, is_deleted) ORDER BY id";

const ROWS: &str = "INSERT INTO `p.public.items` VALUES
    (1, 'it\\'s\\ta \\\\ \"quoted\" name\\n', 12.5, 0.1, '2024-02-29 10:00:00.123456', '2024-01-01 00:00:00.123', '1969-12-31', true,
     unhex('00ff27'), 'aa0e8400-e29b-41d4-a716-446655440000', ['a',NULL,'b c'], '{\"a\": [1, 2]}', '23:59:59.5', 1, 0),
    (2, NULL, NULL, reinterpretAsFloat64(unhex('0000000000000080')), NULL, NULL, NULL, NULL, NULL, NULL, [], NULL, NULL, 1, 0),
    (3, '', -100, nan, '1970-01-01 00:00:00', '1969-12-31 23:59:59.999', '2100-01-01', false, '', NULL, [], 'null', '00:00:00', 1, 0),
    (4, 'gone', 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, [], NULL, NULL, 2, 1)";

async fn databases() -> (PostgresDatabase, ClickHouseDatabase) {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "content").await;
    let target = ClickHouseDatabase::create(&service("LATTICE_TEST_CH"), "content").await;
    (source, target)
}

#[tokio::test]
async fn tables_of_many_types_are_equal_when_they_are() {
    let (source, target) = databases().await;
    source.execute(SOURCE).await;
    target.query(TARGET).await;
    target.query(ROWS).await;
    assert_same_content(&source, "public.items", &target, "p.public.items").await;
    assert_eq!(target.live_rows("p.public.items").await, 3);
}

#[tokio::test]
async fn one_changed_value_and_one_lost_row_are_found() {
    let (source, target) = databases().await;
    source.execute(SOURCE).await;
    target.query(TARGET).await;
    target.query(ROWS).await;
    source
        .execute("UPDATE items SET price = 12.51 WHERE id = 1; INSERT INTO items (id) VALUES (5)")
        .await;
    let diff = compare_tables(&source, "public.items", &target, "p.public.items").await;
    assert_eq!((diff.missing, diff.extra, diff.changed), (1, 0, 1), "{diff}");
    assert!(diff.to_string().contains("price: 12.51 ≠ 12.5"), "{diff}");
}

#[tokio::test]
async fn a_target_that_is_not_there_lacks_every_row() {
    let (source, target) = databases().await;
    source.execute(SOURCE).await;
    let diff = compare_tables(&source, "public.items", &target, "p.public.items").await;
    assert_eq!((diff.source_rows, diff.missing), (3, 3), "{diff}");
    assert!(!diff.is_empty());
}

#[tokio::test]
async fn an_old_server_is_compared_as_well() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG18"), "content_old").await;
    let target = ClickHouseDatabase::create(&service("LATTICE_TEST_CH18"), "content_old").await;
    source.execute("CREATE TABLE t (id int PRIMARY KEY, v text, n numeric(8,3)); INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, 2)").await;
    let ddl = "CREATE TABLE `p.public.t` (id Int32, v Nullable(String), n Nullable(Decimal(8,3)), _version UInt64, is_deleted UInt8) \
               ENGINE = ReplacingMergeTree(_version) ORDER BY id";
    target.query(ddl).await;
    target.query("INSERT INTO `p.public.t` VALUES (1, 'old', 0, 1, 0), (1, 'a', 1.5, 2, 0), (2, NULL, 2, 1, 0), (3, 'x', 1, 5, 1)").await;
    assert_same_content(&source, "public.t", &target, "p.public.t").await;
}

#[tokio::test]
async fn a_database_is_gone_with_its_slots_when_its_value_is_dropped() {
    let url = service("LATTICE_TEST_PG15");
    let watcher = PostgresDatabase::create(&url, "watcher").await;
    let other = PostgresDatabase::create(&url, "dropped").await;
    let name = other.name().to_owned();
    other.query(&format!("SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")).await;
    drop(other);
    let left = format!(
        "SELECT (SELECT count(*) FROM pg_database WHERE datname = '{name}') + \
         (SELECT count(*) FROM pg_replication_slots WHERE database = '{name}')"
    );
    assert_eq!(watcher.value(&left).await, "0");
}
