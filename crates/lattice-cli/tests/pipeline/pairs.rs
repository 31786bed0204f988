//! Every operation from every source version into every target engine.

use super::*;

/// Insert → update → delete → key change → DDL → truncate, each followed by a comparison.
async fn every_operation(name: &str, postgres: &str, clickhouse: &str) {
    let path = Path::new(name, postgres, clickhouse).await;
    path.source
        .execute(
            "create table public.products (id int primary key, name text not null, price numeric(10,2),
                 tags text[], made date, seen timestamp, body jsonb, big text, ok boolean default true);
             create table public.log (at timestamptz default now(), line text);
             create table public.pair (a int, b text, v int, primary key (a, b));
             insert into public.products select i, 'p' || i, i / 3.0, array['a', 'b' || i],
                 date '2024-01-01' + i, timestamp '2024-01-01 10:00:00.123456' + i * interval '1 hour',
                 jsonb_build_object('n', i), repeat(md5(i::text), 200), i % 2 = 0 from generate_series(1, 300) i;
             insert into public.pair values (1, 'x', 1), (1, 'y', 2);",
        )
        .await;
    path.connect().await;
    for table in ["products", "pair"] {
        path.equal(table).await;
    }
    let steps = [
        "insert into public.products (id, name) values (1000, 'only what must be'), (1001, 'ünïcode ''quotes'' \\ tab\t')",
        "update public.products set price = price + 1 where id % 3 = 0",
        "update public.products set name = name || '!' where id = 5",
        "update public.products set tags = null, made = null, body = null where id = 7",
        "delete from public.products where id % 10 = 0",
        "begin; delete from public.products where id = 11; insert into public.products (id, name) values (11, 'again'); commit",
        "update public.products set id = 5000 where id = 12",
        "begin; update public.pair set b = 't' where b = 'x'; update public.pair set b = 'x' where b = 'y'; commit",
        "alter table public.products add column note text; update public.products set note = 'n' where id = 13",
        // ClickHouse cannot alter a column of a sorting key: there the new type's values must still fit.
        "alter table public.products alter column id type bigint; insert into public.products (id, name) values (2000000000, 'wide key')",
        "alter table public.pair alter column v type bigint; insert into public.pair values (3, 'wide', 9000000000)",
        "alter table public.products drop column ok; update public.products set name = 'after drop' where id = 14",
        "begin; insert into public.products (id, name) values (6000, 'rolled back'); rollback",
        "begin; insert into public.products (id, name) values (6001, 'kept'); savepoint s; insert into public.products (id, name) values (6002, 'undone'); rollback to s; commit",
    ];
    for step in steps {
        path.source.execute(step).await;
        for table in ["products", "pair"] {
            path.equal(table).await;
        }
    }
    unchanged_large_values(&path).await;
    for table in ["products", "pair"] {
        path.source.execute(&format!("truncate public.{table}")).await;
        path.equal(table).await;
        assert_eq!(path.target.live_rows(&format!("p.public.{table}")).await, 0, "after truncate");
    }
    path.source.execute("insert into public.pair values (1, 'x', 10)").await;
    path.equal("pair").await;
    path.source
        .execute(
            "insert into public.log (line) select 'line ' || i from generate_series(1, 1000) i",
        )
        .await;
    wait_until(PATIENCE, "the rows of the table without a key", async || {
        path.target.live_rows("p.public.log").await == 1000
    })
    .await;
}

/// Values stored out of line, which the stream leaves out of updates that do not touch them: alone,
/// twice in one transaction, and after the row's key changed.
async fn unchanged_large_values(path: &Path) {
    // Incompressible, and far beyond the 2 kB up to which values stay in the row.
    let large = "(select string_agg(md5(i::text || random()), '') from generate_series(1, 400) i)";
    for (table, identity) in [("large", "default"), ("large_full", "full")] {
        let table = format!("public.{table}");
        path.source
            .execute(&format!(
                "create table {table} (id int primary key, n int, body text, raw bytea);
                 alter table {table} replica identity {identity};
                 insert into {table} select i, i, {large}, decode({large}, 'hex') from generate_series(1, 20) i"
            ))
            .await;
    }
    let steps = [
        "update {} set n = n + 100 where id <= 5",
        "begin; update {} set n = 7 where id = 6; update {} set n = 8 where id = 6; commit",
        "begin; update {} set body = 'small' where id = 7; update {} set n = 9 where id = 7; commit",
        "update {} set id = 100 where id = 8",
        "begin; insert into {} select 200, 1, body, raw from {} where id = 9; update {} set n = 2 where id = 200; commit",
        "update {} set body = null where id = 10; update {} set n = 0 where id = 10",
    ];
    for step in std::iter::once("select 1").chain(steps) {
        for table in ["large", "large_full"] {
            path.source.execute(&step.replace("{}", &format!("public.{table}"))).await;
        }
        for table in ["large", "large_full"] {
            path.equal(table).await;
        }
    }
}

#[tokio::test]
async fn postgres_15_into_the_modern_engine() {
    every_operation("pair_15_modern", "LATTICE_TEST_PG15", "LATTICE_TEST_CH").await;
}

#[tokio::test]
async fn postgres_18_into_the_modern_engine() {
    every_operation("pair_18_modern", "LATTICE_TEST_PG18", "LATTICE_TEST_CH").await;
}

#[tokio::test]
async fn postgres_15_into_the_old_engine() {
    every_operation("pair_15_old", "LATTICE_TEST_PG15", "LATTICE_TEST_CH18").await;
}

#[tokio::test]
async fn postgres_18_into_the_old_engine() {
    every_operation("pair_18_old", "LATTICE_TEST_PG18", "LATTICE_TEST_CH18").await;
}
