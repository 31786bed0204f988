// One word, one colour, one shape for each state, the same everywhere; the worst sorts first.

export type Shape = "dot" | "ring" | "hollow" | "pulse" | "cross" | "square";
export type Tone = "ok" | "info" | "warn" | "bad" | "idle";

export interface StateLook {
  word: string;
  tone: Tone;
  shape: Shape;
  /** Lower is more urgent. */
  rank: number;
}

const LOOKS: Record<string, StateLook> = {
  FAILED: { word: "Failed", tone: "bad", shape: "cross", rank: 0 },
  RETRYING: { word: "Retrying", tone: "warn", shape: "pulse", rank: 1 },
  RESTARTING: { word: "Restarting", tone: "warn", shape: "hollow", rank: 2 },
  UNASSIGNED: { word: "Unassigned", tone: "warn", shape: "hollow", rank: 3 },
  SNAPSHOTTING: { word: "Snapshotting", tone: "info", shape: "ring", rank: 4 },
  RUNNING: { word: "Running", tone: "ok", shape: "dot", rank: 5 },
  STREAMING: { word: "Streaming", tone: "ok", shape: "dot", rank: 5 },
  PENDING: { word: "Pending", tone: "idle", shape: "hollow", rank: 6 },
  PAUSED: { word: "Paused", tone: "idle", shape: "hollow", rank: 7 },
  STOPPED: { word: "Stopped", tone: "idle", shape: "square", rank: 8 },
};

/** How a state is shown; an unknown word is shown as it is. */
export function look(state: string): StateLook {
  return LOOKS[state] ?? { word: state, tone: "idle", shape: "hollow", rank: 9 };
}

interface Stated {
  state: string;
  tasks: readonly {
    state: string;
    notes: Readonly<Record<string, string>>;
    tables: readonly { state: string }[];
  }[];
}

/** A connector's state as a person sees it: its own, made worse by its tasks, or told finer. */
export function shownState(connector: Stated): string {
  if (connector.state !== "RUNNING") return connector.state;
  const states = connector.tasks.map((task) => task.state);
  for (const word of ["FAILED", "RESTARTING"]) if (states.includes(word)) return word;
  if (connector.tasks.some((task) => "reconnecting" in task.notes)) return "RETRYING";
  if (connector.tasks.some((task) => task.tables.some((table) => table.state === "SNAPSHOTTING"))) return "SNAPSHOTTING";
  if (states.length > 0 && states.every((state) => state === "UNASSIGNED")) return "UNASSIGNED";
  return "RUNNING";
}

export interface Cause {
  message: string;
  remedy: string | null;
}

/** Splits a trace into what is wrong and what to do: the server writes `… (remedy: …)`. */
export function causeOf(trace: string): Cause {
  const at = trace.lastIndexOf(" (remedy: ");
  if (at < 0 || !trace.trimEnd().endsWith(")")) return { message: trace.trim(), remedy: null };
  const remedy = trace.slice(at + " (remedy: ".length).trimEnd().slice(0, -1);
  return { message: trace.slice(0, at).trim(), remedy };
}

/** The first SQL statement or setting in a remedy, for copying: text that starts like SQL. */
export function sqlOf(remedy: string): string | null {
  const quoted = /`([^`]+)`/.exec(remedy)?.[1];
  if (quoted) return quoted;
  const match = /\b(ALTER|CREATE|GRANT|SELECT|DROP)\s[^;]*;?/.exec(remedy);
  return match && /^(ALTER|CREATE|GRANT|SELECT|DROP)\s+\S+\s+\S+/.test(match[0]) ? match[0].trim() : null;
}
