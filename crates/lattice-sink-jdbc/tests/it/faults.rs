//! What goes wrong: refused rows, lost connections, deadlocks, others who write.

use lattice_core::error::ErrorKind;
use lattice_testkit::{TcpProxy, service};

use crate::{
    fixture::*,
    postgres::{PG15, database, lines, target},
};

fn source() -> Source {
    Source::new(vec![("id", int32()), ("v", string().optional())], 1)
}

fn rows(from: i64, count: i64) -> Vec<Event> {
    (from..from + count).map(|id| create(vec![int(id), text("x")])).collect()
}

#[tokio::test]
async fn a_refused_row_stops_its_partition_before_it_unless_it_is_tolerated() {
    let database = database(PG15, "jdbc_poison").await;
    database.execute("create table t (id int primary key, v varchar(5))").await;
    let mut sink = Sink::debezium(target(&database), MIRROR);
    let t = source();
    let events = || {
        let mut events = rows(1, 3);
        events.push(create(vec![int(4), text("toolongvalue")]));
        events.extend(rows(5, 200));
        events
    };
    let rejected = sink.try_write(batch("t", &t, 0, events())).await.unwrap();
    assert_eq!(rejected.iter().map(|one| one.offset).collect::<Vec<_>>(), [3]);
    let error = rejected[0].error.chain();
    assert!(
        error.contains("value too long for type character varying(5)") && error.contains("id=4"),
        "{error}"
    );
    assert_eq!(lines(&database, "select count(*) from t").await, ["3"]);
    assert_eq!(sink.position("t").await, Some(3), "it goes on with the refused row");
    sink.config.set("errors.tolerance", "all");
    sink.reopen().await;
    let rejected = sink.try_write(batch("t", &t, 0, events())).await.unwrap();
    assert_eq!(rejected.len(), 1);
    assert_eq!(lines(&database, "select count(*) from t").await, ["203"]);
    // It may not be a dead letter yet: whoever delivers it again hears of it again.
    sink.reopen().await;
    let rejected = sink.try_write(batch("t", &t, 0, events())).await.unwrap();
    assert_eq!(rejected.iter().map(|one| one.offset).collect::<Vec<_>>(), [3]);
    assert_eq!(lines(&database, "select count(*) from t").await, ["203"]);
}

#[tokio::test]
async fn a_lost_answer_to_a_commit_writes_nothing_twice() {
    let database = database(PG15, "jdbc_unknown").await;
    let proxy = TcpProxy::start(&service(PG15));
    let mut keys = target(&database);
    keys[0].1 =
        format!("jdbc:postgresql://{}/{}?socketTimeout=5", proxy.address(), database.name());
    let mut sink =
        Sink::debezium(keys, &[("insert.mode", "insert"), ("schema.evolution", "basic")]);
    let t = source();
    sink.write(batch("t", &t, 0, rows(0, 10))).await;
    let mut next = 10;
    for round in 0..6 {
        let task = sink.open().await.unwrap();
        task.close().await;
        if round % 2 == 0 {
            proxy.lose_next_answer();
        } else {
            proxy.cut();
        }
        let outcome = sink.try_write(batch("t", &t, next, rows(next, 10))).await;
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Transient, "{}", error.chain());
            next = sink.position("t").await.unwrap();
        } else {
            next += 10;
        }
        let written = lines(&database, "select count(*), count(distinct id) from t").await;
        assert_eq!(written, [format!("{next}|{next}")], "round {round}");
    }
}

#[tokio::test]
async fn of_two_tasks_for_one_partition_only_the_later_writes() {
    let database = database(PG15, "jdbc_fence").await;
    let keys = [("insert.mode", "insert"), ("schema.evolution", "basic")];
    let mut old = Sink::debezium(target(&database), &keys);
    let mut new = Sink::debezium(target(&database), &keys);
    let t = source();
    old.write(batch("t", &t, 0, rows(0, 2))).await;
    new.write(batch("t", &t, 0, rows(0, 4))).await;
    let error = old.try_write(batch("t", &t, 2, rows(2, 2))).await.unwrap_err();
    assert!(error.chain().contains("another task has taken t-0 over"), "{}", error.chain());
    assert_eq!(lines(&database, "select id from t order by id").await, ["0", "1", "2", "3"]);
}

#[tokio::test]
async fn a_deadlock_is_tried_again_and_a_target_that_only_reads_is_named() {
    let database = database(PG15, "jdbc_deadlock").await;
    let keys = [&[("flush.retry.delay.ms", "10")], MIRROR].concat();
    let mut sink = Sink::debezium(target(&database), &keys);
    let t = source();
    sink.write(batch("t", &t, 0, rows(1, 2))).await;
    // A trigger that says what the server says of a deadlock, once.
    database
        .execute(
            "create sequence once; create function refuse() returns trigger language plpgsql as $$ begin
             if nextval('once') < 3 then raise exception 'deadlock detected' using errcode = '40P01'; end if;
             return new; end $$; create trigger refuse before update on t for each row execute function refuse()",
        )
        .await;
    sink.write(batch("t", &t, 2, vec![update(vec![int(1), text("y")])])).await;
    assert_eq!(lines(&database, "select v from t where id = 1").await, ["y"]);
    database
        .execute(&format!(
            "alter database {} set default_transaction_read_only = on",
            database.name()
        ))
        .await;
    sink.reopen().await;
    let error = sink.try_write(batch("t", &t, 3, rows(5, 1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(error.chain().contains("the target only reads"), "{}", error.chain());
}

#[tokio::test]
async fn records_without_a_key_are_refused_and_keep_no_other_from_being_written() {
    let database = database(PG15, "jdbc_keyless").await;
    let keys = [&[("errors.tolerance", "all")], MIRROR].concat();
    let mut sink = Sink::debezium(target(&database), &keys);
    let keyless = Source::new(vec![("a", int32())], 0);
    let mut both = batch("k", &keyless, 0, vec![create(vec![int(1)])]);
    join(&mut both, batch("t", &source(), 0, rows(1, 2)));
    let rejected = sink.try_write(both).await.unwrap();
    assert_eq!(rejected.len(), 1);
    let error = rejected[0].error.chain();
    assert!(error.contains("records of topic k have no key"), "{error}");
    assert_eq!(lines(&database, "select count(*) from t").await, ["2"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_configuration_is_said_before_it_runs() {
    let database = database(PG15, "jdbc_wrong").await;
    let with = |keys: &[(&str, &str)]| {
        let mut all = MIRROR.to_vec();
        all.extend(keys);
        Sink::debezium(target(&database), &all)
    };
    for (keys, words) in [
        (vec![("connection.password", "wrong")], "connection.password: connect to"),
        (
            vec![("connection.url", "jdbc:postgresql://127.0.0.1:1/x")],
            "connection.url: connect to 127.0.0.1:1/x",
        ),
        (vec![("connection.url", "jdbc:oracle:thin:@h:1:x")], "connection.url: invalid value"),
        (vec![("primary.key.mode", "record_header")], "primary.key.mode: invalid value"),
        (vec![("primary.key.mode", "none")], "insert.mode: invalid value"),
        (vec![("use.time.zone", "Europe/Berlin")], "use.time.zone: invalid value"),
        (
            vec![("collection.name.format", "${source.lsn}")],
            "collection.name.format: invalid value",
        ),
        (
            vec![("schema.evolution", "none"), ("topics", "t")],
            "topics: table t of topic t does not exist",
        ),
    ] {
        let issues = with(&keys).issues().await;
        assert!(issues.iter().any(|issue| issue.starts_with(words)), "{keys:?}: {issues:?}");
    }
}
