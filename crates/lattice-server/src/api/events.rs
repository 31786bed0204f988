//! `/api/v1/events`: the overview as a stream, every second and at every change of a state.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};

use super::overview;
use crate::state::ServerState;

const PERIOD: Duration = Duration::from_secs(1);

pub(crate) async fn events(
    State(state): State<ServerState>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = state.worker().subscribe();
    let first = true;
    let stream =
        stream::unfold((state, changes, first), |(state, mut changes, first)| async move {
            if !first {
                tokio::select! {
                    () = tokio::time::sleep(PERIOD) => {}
                    // A worker that is gone changes no more: the period alone goes on.
                    Ok(()) = changes.changed() => {}
                    () = state.stopping().cancelled() => return None,
                }
                changes.borrow_and_update();
            }
            let event = match overview::snapshot(&state).await {
                Ok(snapshot) => Event::default().event("snapshot").data(snapshot.to_string()),
                Err(refusal) => Event::default().event("trouble").data(format!("{refusal:?}")),
            };
            Some((Ok(event), (state, changes, false)))
        });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
