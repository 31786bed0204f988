//! What can be asked on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Moves every committed change of a database to where it is needed.
#[derive(Parser)]
#[command(name = "lattice", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options of every client command.
#[derive(Args, Clone)]
pub(crate) struct Global {
    /// The server to talk to
    #[arg(long, global = true, env = "LATTICE_URL", default_value = "http://127.0.0.1:8083")]
    pub(crate) url: String,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the platform: connectors, topics, registry, API and console
    Serve(Box<Serve>),
    /// Create, look at and steer connectors
    #[command(subcommand)]
    Connectors(Connectors),
    /// States, rates and lag of all connectors, or of one with its tables
    Status {
        /// Only this connector
        name: Option<String>,
        /// Go on showing it until Ctrl-C
        #[arg(long, short)]
        watch: bool,
    },
    /// Look at topics and delete them
    #[command(subcommand)]
    Topics(Topics),
    /// Print a topic's records as they arrive
    Tail {
        /// The topic
        topic: String,
        /// Begin with what is there: `earliest`, or an offset
        #[arg(long)]
        from: Option<String>,
        /// End after so many records
        #[arg(long, short = 'n')]
        limit: Option<usize>,
    },
    /// Look at registered schemas
    #[command(subcommand)]
    Schemas(Schemas),
    /// Workers that share the connectors, and what each runs
    Workers,
    /// Consumer groups, and how far each is behind
    Groups,
    /// Kinds of connectors that the server has
    Plugins,
    /// Create or update connectors from JSON or YAML files
    Apply {
        /// Files with one connector, or a list of them; `-` reads standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Only tell what would be done
        #[arg(long)]
        dry_run: bool,
    },
    /// Check connectors in files against the databases they point to; changes nothing
    Check {
        /// Files with one connector, or a list of them; `-` reads standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Take connectors over from a Kafka Connect cluster, with their offsets
    Takeover(Moving),
    /// Give connectors back to a Kafka Connect cluster, with their offsets
    Handback(Moving),
    /// What the platform of a `lattice.yaml` would cost a month on AWS, roughly
    Cost {
        /// The platform's settings
        #[arg(long, default_value = "lattice.yaml")]
        config: PathBuf,
        /// Steady stream into Kafka in MiB/s
        #[arg(long, default_value_t = 0.1)]
        rate: f64,
        /// Availability zones that the subnets lie in
        #[arg(long, default_value_t = 3)]
        zones: usize,
    },
    /// Write the AWS platform as OpenTofu modules into a folder, with the settings of a `lattice.yaml` as variables
    Eject {
        /// The folder
        folder: PathBuf,
        /// The platform's settings
        #[arg(long, default_value = "lattice.yaml")]
        config: PathBuf,
    },
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Write the reference pages of all configuration keys into a folder
    #[command(hide = true)]
    Docs {
        /// The folder
        folder: PathBuf,
    },
}

/// Options of `lattice takeover` and `lattice handback`.
#[derive(Args)]
pub(crate) struct Moving {
    /// The Kafka Connect cluster's REST API
    #[arg(long)]
    pub(crate) connect_url: String,
    /// Only this connector; may be given several times [default: all]
    #[arg(long = "connector", value_name = "NAME")]
    pub(crate) connectors: Vec<String>,
    /// The properties file of the Kafka Connect workers: its converters hold for connectors that
    /// name none
    #[arg(long)]
    pub(crate) worker_config: Option<PathBuf>,
    /// Only tell what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `lattice serve`.
#[derive(Args)]
pub(crate) struct Serve {
    /// The folder that holds topics, offsets, configurations and schemas
    #[arg(long, env = "LATTICE_DATA", default_value = "lattice-data")]
    pub(crate) data: PathBuf,
    /// Address and port to listen on
    #[arg(long, env = "LATTICE_LISTEN", default_value = "127.0.0.1:8083")]
    pub(crate) listen: String,
    /// Host names besides loopback and addresses by which browsers may reach the console
    #[arg(long = "allow-host", env = "LATTICE_ALLOW_HOST", value_delimiter = ',')]
    pub(crate) allow_hosts: Vec<String>,
    /// Partitions of a topic that is made by its first record
    #[arg(long, env = "LATTICE_PARTITIONS", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=1000))]
    pub(crate) partitions: i32,
    /// Hours that records are kept; 0: for ever
    #[arg(long, env = "LATTICE_RETENTION_HOURS", default_value_t = 168)]
    pub(crate) retention_hours: u32,
    /// What is logged, as levels by target: `info`, `warn,lattice_runtime=debug`
    #[arg(long, env = "LATTICE_LOG", default_value = "info")]
    pub(crate) log: String,
    /// A properties file of a Kafka Connect worker: its converters (`key.converter`, …) hold for
    /// connectors that name none, its `config.providers` say what references may read
    #[arg(long, env = "LATTICE_WORKER_CONFIG")]
    pub(crate) worker_config: Option<PathBuf>,
    /// How log lines look
    #[arg(long, env = "LATTICE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    #[command(flatten)]
    pub(crate) kafka: Kafka,
}

/// The Kafka cluster to run on, in place of a data folder.
#[derive(Args)]
#[command(next_help_heading = "Kafka")]
pub(crate) struct Kafka {
    /// Brokers of the Kafka cluster that holds topics, offsets, configurations and schemas, in
    /// place of the data folder: HOST:PORT, several with commas between them
    #[arg(long, env = "LATTICE_BOOTSTRAP_SERVERS")]
    pub(crate) bootstrap_servers: Option<String>,
    /// A properties file of a Kafka client (`security.protocol`, `sasl.*`, `ssl.*`) or of a Kafka
    /// Connect worker
    #[arg(long, env = "LATTICE_COMMAND_CONFIG")]
    pub(crate) command_config: Option<PathBuf>,
    /// The platform's name on the cluster, with which its topics begin [default: lattice]
    #[arg(long, env = "LATTICE_GROUP_ID")]
    pub(crate) group_id: Option<String>,
    /// The topic of connectors, as Kafka Connect keeps them [default: GROUP-configs]
    #[arg(long, env = "LATTICE_CONFIG_TOPIC")]
    pub(crate) config_topic: Option<String>,
    /// The topic of source offsets, as Kafka Connect keeps them [default: GROUP-offsets]
    #[arg(long, env = "LATTICE_OFFSET_TOPIC")]
    pub(crate) offset_topic: Option<String>,
    /// The topic of states, as Kafka Connect keeps them [default: GROUP-status]
    #[arg(long, env = "LATTICE_STATUS_TOPIC")]
    pub(crate) status_topic: Option<String>,
    /// Where the other workers of the group reach this one, as http://HOST:PORT; its HOST:PORT is
    /// the worker's name [default: the address that is listened on]
    #[arg(long, env = "LATTICE_ADVERTISED_LISTENER")]
    pub(crate) advertised_listener: Option<String>,
    /// How long after its last sign of life others run this worker's tasks [default: 10000]
    #[arg(long, env = "LATTICE_SESSION_TIMEOUT_MS")]
    pub(crate) session_timeout_ms: Option<u64>,
    /// How often this worker gives a sign of life [default: 3000, a third of the session timeout
    /// at most]
    #[arg(long, env = "LATTICE_HEARTBEAT_INTERVAL_MS")]
    pub(crate) heartbeat_interval_ms: Option<u64>,
}

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Subcommand)]
pub(crate) enum Connectors {
    /// Names and states
    List,
    /// One connector: configuration, state, tasks
    Get { name: String },
    /// Create a connector from a file
    Create { file: PathBuf },
    /// Replace a connector's configuration from a file
    Update { name: String, file: PathBuf },
    /// Delete a connector; its topics and offsets stay
    Delete { name: String },
    /// Hold a connector; it keeps its connections
    Pause { name: String },
    /// Let a paused or stopped connector go on
    Resume { name: String },
    /// Stop a connector and give its connections back
    Stop { name: String },
    /// Restart a connector and its tasks
    Restart {
        name: String,
        /// Only what failed
        #[arg(long)]
        only_failed: bool,
    },
    /// Show a connector's offsets
    Offsets {
        name: String,
        /// Forget them; the connector must be stopped
        #[arg(long)]
        reset: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum Topics {
    /// All topics with their sizes
    List {
        /// The platform's own topics too
        #[arg(long)]
        all: bool,
    },
    /// One topic: partitions, schemas, consumers
    Show { topic: String },
    /// Delete a topic with its records
    Delete { topic: String },
}

#[derive(Subcommand)]
pub(crate) enum Schemas {
    /// All subjects
    List,
    /// A subject's schema, the latest or one version
    Show {
        subject: String,
        /// The version
        #[arg(long, default_value = "latest")]
        version: String,
    },
}
