// Lays out the overview: sources, topics and sinks in three columns, and what flows between them.

export interface FlowConnector {
  name: string;
  type: string;
  topics: readonly string[];
  rank: number;
}

export interface Flow {
  sources: string[];
  topics: string[];
  sinks: string[];
  edges: { from: string; to: string; source: string | null; sink: string | null; topic: string }[];
  /** Topics that are not drawn, since there are too many. */
  folded: number;
}

/** Which nodes there are and which edges. At most `limit` topics, those with traffic first. */
export function flowOf(
  connectors: readonly FlowConnector[],
  known: readonly string[],
  rateOf: (topic: string) => number,
  limit: number,
): Flow {
  const byUrgency = (left: FlowConnector, right: FlowConnector) =>
    left.rank - right.rank || left.name.localeCompare(right.name);
  const sources = connectors.filter((connector) => connector.type === "source").sort(byUrgency);
  const sinks = connectors.filter((connector) => connector.type === "sink").sort(byUrgency);
  const all = [...new Set([...known, ...sources.flatMap((source) => source.topics)])];
  const maker = (topic: string) => sources.findIndex((source) => source.topics.includes(topic));
  const shown = (all.length > limit ? [...all].sort((left, right) => rateOf(right) - rateOf(left)).slice(0, limit) : all).sort(
    (left, right) => {
      const [a, b] = [maker(left), maker(right)];
      return (a < 0 ? 1e9 : a) - (b < 0 ? 1e9 : b) || left.localeCompare(right);
    },
  );
  const edges: Flow["edges"] = [];
  for (const topic of shown) {
    for (const source of sources) {
      if (source.topics.includes(topic)) edges.push({ from: `source:${source.name}`, to: `topic:${topic}`, source: source.name, sink: null, topic });
    }
    for (const sink of sinks) {
      if (sink.topics.includes(topic)) edges.push({ from: `topic:${topic}`, to: `sink:${sink.name}`, source: null, sink: sink.name, topic });
    }
  }
  return {
    sources: sources.map((source) => source.name),
    topics: shown,
    sinks: sinks.map((sink) => sink.name),
    edges,
    folded: all.length - shown.length,
  };
}

/** Tops of `count` boxes of `height`, spread evenly around the middle of `total`. */
export function column(count: number, height: number, gap: number, total: number): number[] {
  const used = count * height + Math.max(0, count - 1) * gap;
  const start = Math.max(0, (total - used) / 2);
  return Array.from({ length: count }, (_, index) => start + index * (height + gap));
}

/** An edge's thickness: logarithmic in events per second, from 1.25 to 6 pixels. */
export function thickness(rate: number): number {
  return Math.min(6, 1.25 + Math.log10(1 + Math.max(0, rate)) * 1.1);
}
