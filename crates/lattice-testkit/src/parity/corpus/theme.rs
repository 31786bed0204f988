//! A theme's file.

use serde_json::{Map, Value};

/// A file of cases.
#[derive(Debug)]
pub struct Theme {
    /// The server that has the databases: a variable's name, such as `LATTICE_TEST_PG15`.
    pub server: String,
    /// Its runs, in the file's order.
    pub runs: Vec<Run>,
}

/// One connector on one database: the cases that it goes through together.
#[derive(Debug)]
pub struct Run {
    /// The theme's name, an underscore and the run's: the connector's name and its topics' prefix.
    pub name: String,
    /// What the connector is given besides [`Run::config`]'s own.
    own: Vec<(String, String)>,
    /// Statements before the connector is made, each sent alone.
    pub before: Vec<String>,
    /// Statements while it streams.
    pub after: Vec<String>,
    /// The cases' names.
    pub cases: Vec<String>,
    /// Whether nothing is streamed: the connector reads a snapshot and is done.
    pub snapshot_only: bool,
    /// How many records the end's topic has when all is there.
    pub end_records: u64,
}

/// The table whose rows tell that a phase is over.
const END: &str = "zz_end";

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().cloned().unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let map = value.as_object().cloned().unwrap_or_default();
    map.into_iter()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

impl Theme {
    /// Reads the theme `name`: `{"server": …, "runs": {NAME: {KEY: VALUE, …}}, "prepare": […], "cases": […]}`. A case has
    /// a `name`, a `table` (for which `{t}` stands in its statements), statements `before` and `after` the connector is there, and
    /// perhaps `runs`, those that it is part of.
    ///
    /// # Panics
    /// When the text is no theme: it is part of the project.
    #[must_use]
    pub fn read(name: &str, text: &str) -> Self {
        let theme: Value = serde_json::from_str(text).expect("a theme");
        let cases = theme["cases"].as_array().expect("cases");
        let runs = theme["runs"]
            .as_object()
            .cloned()
            .unwrap_or_else(|| Map::from_iter([("plain".to_owned(), Value::Object(Map::new()))]));
        let run = |(run, config): (&String, &Value)| Run::read(name, run, config, &theme, cases);
        Self {
            server: theme["server"].as_str().unwrap_or("LATTICE_TEST_PG15").to_owned(),
            runs: runs.iter().map(run).collect(),
        }
    }
}

impl Run {
    fn read(theme: &str, run: &str, config: &Value, whole: &Value, cases: &[Value]) -> Self {
        let mut before = texts(&whole["prepare"]);
        before.push(format!("create table {END} (id int primary key)"));
        before.push(format!("insert into {END} values (1)"));
        let (mut after, mut names, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for case in cases {
            let wanted = texts(&case["runs"]);
            if !wanted.is_empty() && !wanted.iter().any(|name| name == run) {
                continue;
            }
            let name = case["name"].as_str().expect("a case's name");
            let table = case["table"].as_str().expect("a case's table");
            assert!(!tables.contains(&table), "two cases have the table {table}");
            tables.push(table);
            names.push(name.to_owned());
            let of = |part: &str| {
                texts(&case[part])
                    .into_iter()
                    .map(|sql| sql.replace("{t}", table))
                    .collect::<Vec<_>>()
            };
            before.extend(of("before"));
            after.extend(of("after"));
        }
        let snapshot_only = config["snapshot.mode"] == "initial_only";
        let unread = config["snapshot.mode"] == "no_data";
        after.push(format!("insert into {END} values (2)"));
        Self {
            name: format!("{theme}_{run}"),
            own: pairs(config),
            before,
            after,
            cases: names,
            snapshot_only,
            end_records: if snapshot_only || unread { 1 } else { 2 },
        }
    }

    /// The connector's configuration: `database` are its `database.*` keys. The same for both sides.
    #[must_use]
    pub fn config(&self, database: Vec<(String, String)>, slot: &str) -> Vec<(String, String)> {
        let json = "org.apache.kafka.connect.json.JsonConverter";
        let both = [
            ("connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
            ("tasks.max", "1"),
            ("plugin.name", "pgoutput"),
            ("topic.prefix", &self.name),
            ("slot.name", slot),
            ("publication.autocreate.mode", "all_tables"),
            ("snapshot.max.threads", "1"),
            ("poll.interval.ms", "50"),
            ("key.converter", json),
            ("value.converter", json),
            // The real one's default.
            ("value.converter.replace.null.with.default", "true"),
            ("topic.creation.default.partitions", "1"),
            ("topic.creation.default.replication.factor", "1"),
        ];
        let both = both.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut config: Vec<(String, String)> = database;
        for (key, value) in both.into_iter().chain(self.own.iter().cloned()) {
            config.retain(|(other, _)| *other != key);
            config.push((key, value));
        }
        config
    }

    /// The topic of the end's rows.
    #[must_use]
    pub fn end_topic(&self) -> String {
        let delimiter = self.own.iter().find(|(key, _)| key == "topic.delimiter");
        let delimiter = delimiter.map_or(".", |(_, text)| text.as_str());
        [self.name.as_str(), "public", END].join(delimiter)
    }

    /// Whether a topic is this run's, and one of its cases'.
    #[must_use]
    pub fn owns(&self, topic: &str) -> bool {
        let rest = topic.strip_prefix(self.name.as_str());
        let of_prefix = rest.is_some_and(|rest| {
            rest.is_empty() || !rest.starts_with(['_']) && !rest.starts_with(char::is_alphanumeric)
        });
        let heartbeat = topic.ends_with(&format!(".{}", self.name));
        (of_prefix || heartbeat || self.own.iter().any(|(_, value)| value == topic))
            && topic != self.end_topic()
    }
}
