//! The table of connectors: the only place that names them.

use std::sync::Arc;

use lattice_runtime::Plugins;

/// Every connector this binary has.
pub(crate) fn plugins() -> Plugins {
    Plugins {
        sources: vec![Arc::new(lattice_source_postgres::PostgresSource::default())],
        sinks: vec![
            Arc::new(lattice_sink_clickhouse::ClickHouseSink),
            Arc::new(lattice_sink_jdbc::JdbcSink::debezium()),
            Arc::new(lattice_sink_jdbc::JdbcSink::confluent()),
        ],
    }
}
