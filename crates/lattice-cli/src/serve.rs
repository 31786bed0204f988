//! `lattice serve`.

use std::{path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use bytes::Bytes;
use lattice_core::{config::Config, store::DocumentStore};
use lattice_log::{Membership, TopicConfig};
use lattice_registry::EmbeddedRegistry;
use lattice_runtime::{Worker, WorkerConfig, WorkerOptions, properties};
use lattice_server::{Parts, ServerOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    arguments::Serve,
    log::{OpenLog, told},
    logging, plugins,
};

/// How long tasks may take to finish their batches at a stop.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// Runs the platform until SIGTERM or SIGINT.
pub(crate) async fn run(serve: Serve) -> Result<ExitCode> {
    let levels = logging::install(&serve.log, serve.log_format)?;
    let listener = lattice_server::bind(&serve.listen).await.map_err(told)?;
    let address = listener.local_addr().context("read the address that is listened on")?;
    let default_topic = default_topic(&serve);
    let log = OpenLog::open(&serve, default_topic.clone()).await?;
    let documents = log.documents();
    let advertised = log.advertised(address)?;
    let membership = log.join_group(&advertised).await?;
    let registry = registry(Arc::clone(&documents), membership.as_deref()).await.map_err(told)?;
    let cluster_id = match log.own_cluster_id() {
        Some(id) => id,
        None => cluster_id(documents.as_ref()).await.map_err(told)?,
    };
    let settings = settings(serve.worker_config.as_deref())?;
    let worker = Worker::start(WorkerOptions {
        worker_id: advertised.worker_id.clone(),
        membership,
        log: log.shared(),
        registry: Arc::clone(&registry) as _,
        plugins: plugins::plugins(),
        environment: Arc::new(|name: &str| std::env::var(name).ok()),
        config: WorkerConfig {
            default_topic,
            defaults: settings.clone(),
            settings,
            ..WorkerConfig::default()
        },
    })
    .await
    .map_err(told)?;
    tracing::info!(
        %address, data = log.place(&serve.data), version = env!("CARGO_PKG_VERSION"),
        partitions = serve.partitions, retention_hours = serve.retention_hours,
        allowed_hosts = ?serve.allow_hosts, log = serve.log,
        "lattice serves; the console is at http://{address}"
    );
    let parts = Parts {
        worker: worker.clone(),
        log: log.shared(),
        registry,
        options: ServerOptions {
            worker_id: advertised.worker_id,
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("LATTICE_COMMIT").unwrap_or_default(),
            data_folder: serve.data,
            cluster_id,
            allowed_hosts: serve.allow_hosts,
            log_levels: Some(Arc::new(levels)),
        },
    };
    let served = lattice_server::serve(listener, parts, stop_signal()?).await;
    worker.shutdown(STOP_DEADLINE).await;
    log.close().await?;
    served.map_err(told)?;
    tracing::info!("lattice stopped");
    Ok(ExitCode::SUCCESS)
}

/// The registry in the log. Workers that share it take new schema ids by the leases they hold, so
/// that no two of them give the same one.
async fn registry(
    documents: Arc<dyn DocumentStore>,
    membership: Option<&dyn Membership>,
) -> lattice_core::Result<Arc<EmbeddedRegistry>> {
    let Some(membership) = membership else { return EmbeddedRegistry::open(documents).await };
    let views = membership.views();
    let slot = move || {
        let view = views.borrow();
        let all = u32::try_from(view.leases).ok()?;
        let own = view.held.first().and_then(|lease| u32::try_from(*lease).ok());
        (view.members.len() > 1).then_some((own?, all))
    };
    EmbeddedRegistry::open_shared(documents, Box::new(slot)).await
}

/// The worker's own settings by Kafka Connect's names.
fn settings(file: Option<&Path>) -> Result<Config> {
    let Some(file) = file else { return Ok(Config::default()) };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("read the worker's properties file {}", file.display()))?;
    Ok(Config::new(properties(&text).into_iter().collect()))
}

fn default_topic(serve: &Serve) -> TopicConfig {
    let retention_ms = match serve.retention_hours {
        0 => None,
        hours => Some(i64::from(hours) * 3_600_000),
    };
    TopicConfig { partitions: serve.partitions, retention_ms, ..TopicConfig::default() }
}

/// Ends when a stop is asked for; asked again, the process exits at once.
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: tasks finish their batches; a second signal exits at once");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(130);
        });
    })
}

/// The log's identity, made at the first start.
async fn cluster_id(store: &dyn DocumentStore) -> lattice_core::Result<String> {
    const NAMESPACE: &str = "platform";
    const KEY: &str = "cluster-id";
    let kept = store.scan(NAMESPACE).await?.into_iter().find(|(key, _)| key == KEY);
    if let Some((_, id)) = kept {
        return Ok(String::from_utf8_lossy(&id).into_owned());
    }
    let id = random_id();
    store.put(NAMESPACE, vec![(KEY.to_owned(), Some(Bytes::from(id.clone())))]).await?;
    Ok(id)
}

/// 22 letters and digits, as Kafka's cluster ids are. The standard library's hash keys are random.
fn random_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let mut id = String::with_capacity(22);
    for _ in 0..22 {
        let number = RandomState::new().build_hasher().finish();
        id.push(char::from(LETTERS[usize::try_from(number % 64).unwrap_or(0)]));
    }
    id
}
