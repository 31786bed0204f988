//! Masks going out.

use std::collections::BTreeMap;

use lattice_core::config::Config;

use crate::state::ServerState;

/// A configuration as it may be shown: secrets masked, references such as `${env:X}` kept.
pub(crate) fn masked(state: &ServerState, config: &Config) -> BTreeMap<String, String> {
    state.worker().masked(config).as_map().clone()
}
