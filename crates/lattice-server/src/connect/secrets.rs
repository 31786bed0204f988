//! Masks going out, and masks coming back.

use std::collections::BTreeMap;

use lattice_core::{config::Config, secret::MASK};

use crate::state::ServerState;

/// A configuration as it may be shown: secrets masked, references such as `${env:X}` kept.
pub(crate) fn masked(state: &ServerState, config: &Config) -> BTreeMap<String, String> {
    state.worker().masked(config).as_map().clone()
}

/// Puts the stored secret where a client sent back the mask it was shown.
pub(crate) async fn unmask(state: &ServerState, name: &str, config: &mut Config) {
    let shown: Vec<String> =
        config.iter().filter(|(_, value)| *value == MASK).map(|(key, _)| key.to_owned()).collect();
    if shown.is_empty() {
        return;
    }
    if let Ok(stored) = state.worker().connector(name).await {
        for key in shown {
            if let Some(secret) = stored.config.get(&key) {
                config.set(key, secret.to_owned());
            }
        }
    }
}
