//! Which registry a connector uses: this process's own, or one elsewhere.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lattice_core::Result;

use crate::{ClientSettings, RegistryClient, SchemaRegistry};

/// The registries in use. Connectors with equal settings share a client, its connections and what
/// it has asked for.
pub struct Registries {
    own: Arc<dyn SchemaRegistry>,
    /// Host and port where this process serves its own.
    address: Option<(String, u16)>,
    clients: Mutex<Vec<Weak<RegistryClient>>>,
}

impl Registries {
    /// `own` is what connectors use that name none; `address` (`host:port`) is where it is served,
    /// so that a connector that names it by URL does not go over the network.
    pub fn new(own: Arc<dyn SchemaRegistry>, address: &str) -> Self {
        let address = address.rsplit_once(':').and_then(|(host, port)| {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            Some((host.to_owned(), port.parse().ok()?))
        });
        Self { own, address, clients: Mutex::default() }
    }

    /// The registry for these settings; none: the own one.
    ///
    /// Errors: `Config` for files and options of TLS that cannot be used.
    pub fn of(&self, settings: Option<ClientSettings>) -> Result<Arc<dyn SchemaRegistry>> {
        let Some(settings) = settings.filter(|settings| !self.is_own(settings)) else {
            return Ok(Arc::clone(&self.own));
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| client.strong_count() > 0);
        let known = clients.iter().filter_map(Weak::upgrade);
        if let Some(client) = known.into_iter().find(|client| *client.settings() == settings) {
            return Ok(client);
        }
        let client = Arc::new(RegistryClient::new(settings)?);
        clients.push(Arc::downgrade(&client));
        Ok(client)
    }

    /// Whether every URL leads back to this process.
    fn is_own(&self, settings: &ClientSettings) -> bool {
        let Some((own_host, own_port)) = &self.address else { return false };
        let local = |host: &str| {
            matches!(host, "localhost" | "127.0.0.1" | "::1" | "[::1]" | "0.0.0.0" | "::" | "[::]")
        };
        settings.authorities().all(|(host, port)| {
            port == *own_port && (host == own_host || (local(host) && local(own_host)))
        })
    }
}
