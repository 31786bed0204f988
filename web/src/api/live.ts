// The one event stream behind every live figure, shared by all pages; connects again by itself.
import { useEffect, useSyncExternalStore } from "react";
import { BASE } from "./client";
import type { Connector, Snapshot } from "./model";

export interface Live {
  snapshot: Snapshot | null;
  /** `connecting`: not heard of yet; `lost`: was there, is gone. */
  link: "connecting" | "open" | "lost";
  /** When the last snapshot came. Units: ms, this machine's clock; 0: never. */
  heardMs: number;
  /** Rates of the last two minutes by connector, oldest first. */
  history: ReadonlyMap<string, readonly number[]>;
  /** Events per second by connector and table, from the last two snapshots. */
  tableRates: ReadonlyMap<string, number>;
}

const KEEP = 120;
const SILENCE_MS = 15_000;

let live: Live = { snapshot: null, link: "connecting", heardMs: 0, history: new Map(), tableRates: new Map() };
const listeners = new Set<() => void>();
let source: EventSource | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let delay = 500;

function publish(next: Partial<Live>) {
  live = { ...live, ...next };
  for (const listener of listeners) listener();
}

const tableKey = (connector: string, table: string) => `${connector}\n${table}`;

function eventsOf(snapshot: Snapshot): Map<string, number> {
  const events = new Map<string, number>();
  for (const connector of snapshot.connectors) {
    for (const task of connector.tasks) {
      for (const table of task.tables) {
        const key = tableKey(connector.name, table.name);
        events.set(key, (events.get(key) ?? 0) + table.events + (connector.type === "source" ? table.snapshot_rows : 0));
      }
    }
  }
  return events;
}

// Figures may come in slower steps than snapshots do: a rate is the mean since a few seconds ago.
let marks: { at: number; events: Map<string, number> }[] = [];

function take(snapshot: Snapshot) {
  delay = 500;
  const history = new Map<string, readonly number[]>();
  for (const connector of snapshot.connectors) {
    const past = live.history.get(connector.name) ?? [];
    history.set(connector.name, [...past, connector.events_per_s].slice(-KEEP));
  }
  marks = [...marks.filter((mark) => snapshot.at_ms - mark.at <= 6000), { at: snapshot.at_ms, events: eventsOf(snapshot) }];
  const [first, last] = [marks[0], marks.at(-1)];
  const tableRates = new Map<string, number>();
  if (first && last && last.at > first.at) {
    for (const [key, events] of last.events) {
      const before = first.events.get(key);
      if (before !== undefined) tableRates.set(key, Math.max(0, events - before) / ((last.at - first.at) / 1000));
    }
  }
  publish({ snapshot, link: "open", heardMs: Date.now(), history, tableRates });
}

function again() {
  source?.close();
  source = null;
  publish({ link: live.snapshot === null && delay < 2000 ? "connecting" : "lost" });
  clearTimeout(timer);
  timer = setTimeout(connect, delay);
  delay = Math.min(delay * 2, 5000);
}

function connect() {
  clearTimeout(timer);
  const stream = new EventSource(`${BASE}/api/v1/events`);
  source = stream;
  const onData = (event: MessageEvent<string>) => {
    clearTimeout(timer);
    timer = setTimeout(again, SILENCE_MS);
    take(JSON.parse(event.data) as Snapshot);
  };
  stream.addEventListener("snapshot", onData);
  stream.onmessage = onData;
  stream.onerror = again;
  timer = setTimeout(again, SILENCE_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (source === null && listeners.size === 1) connect();
  return () => listeners.delete(listener);
}

/** Everything live. */
export function useLive(): Live {
  return useSyncExternalStore(subscribe, () => live);
}

/** One connector as it is now. */
export function useConnector(name: string): Connector | undefined {
  return useLive().snapshot?.connectors.find((connector) => connector.name === name);
}

/** A topic's rate at a connector: the table that the topic is named after. */
export function topicRate(tableRates: ReadonlyMap<string, number>, connector: string, topic: string): number | null {
  const parts = topic.split(".");
  for (let from = 0; from < parts.length; from += 1) {
    const found = tableRates.get(tableKey(connector, parts.slice(from).join(".")));
    if (found !== undefined) return found;
  }
  return null;
}

/** Runs when the link comes back. */
export function useReconnected(action: () => void) {
  const { link } = useLive();
  useEffect(() => {
    if (link === "open") action();
    // Only the change of the link counts.
  }, [link]);
}
