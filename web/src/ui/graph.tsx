// The overview graph: sources, topics and sinks, hand-drawn in SVG; a list on narrow screens.
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import { topicRate, useLive } from "../api/live";
import type { Connector, Snapshot } from "../api/model";
import { count, duration, rate } from "../logic/format";
import { column, flowOf, thickness } from "../logic/graph";
import { look, shownState } from "../logic/state";
import { Icon, Mark } from "./icons";
import { connectorPath, topicPath } from "./links";

const LIMIT = 36;
const CONNECTOR = 72;
const TOPIC = 28;
const NARROW = 640;

/** An edge's colour by lag. */
function lagColor(ms: number | null): string {
  if (ms === null) return "var(--border-strong)";
  return ms < 5000 ? "var(--ok)" : ms < 60_000 ? "var(--warn)" : "var(--bad)";
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width] as const;
}

const figures = (connector: Connector) => `${rate(connector.events_per_s)} rows/s · lag ${duration(connector.behind_ms)}`;

export function Graph({ snapshot, picked, onPick }: { snapshot: Snapshot; picked: string | null; onPick: (id: string | null) => void }) {
  const [box, width] = useWidth();
  const { tableRates } = useLive();
  const [hovered, setHovered] = useState<string | null>(null);
  const byName = useMemo(() => new Map(snapshot.connectors.map((connector) => [connector.name, connector])), [snapshot]);
  const flow = useMemo(() => {
    const connectors = snapshot.connectors.map((connector) => ({ name: connector.name, type: connector.type, topics: connector.topics, rank: 0 }));
    const records = new Map(snapshot.topics.map((topic) => [topic.name, topic.records]));
    return flowOf(connectors, snapshot.topics.filter((topic) => !topic.internal).map((topic) => topic.name), (topic) => records.get(topic) ?? 0, LIMIT);
  }, [snapshot]);
  const edgeRate = (connector: string, topic: string) => {
    const known = topicRate(tableRates, connector, topic);
    const whole = byName.get(connector);
    return known ?? (whole ? whole.events_per_s / Math.max(1, whole.topics.length) : 0);
  };

  const height = Math.max(220, flow.topics.length * (TOPIC + 8) + 28, Math.max(flow.sources.length, flow.sinks.length) * (CONNECTOR + 14) + 28);
  const side = Math.max(150, Math.min(230, width * 0.25));
  const middle = Math.max(170, Math.min(320, width * 0.32));
  const lefts = { source: 14, topic: (width - middle) / 2, sink: width - side - 14 };
  const places = new Map<string, { x: number; y: number; w: number; h: number }>();
  const place = (kind: "source" | "topic" | "sink", names: readonly string[]) => {
    const [w, h, gap] = kind === "topic" ? [middle, TOPIC, 8] : [side, CONNECTOR, 14];
    column(names.length, h, gap, height).forEach((y, index) => places.set(`${kind}:${names[index]}`, { x: lefts[kind], y, w, h }));
  };
  place("source", flow.sources);
  place("topic", flow.topics);
  place("sink", flow.sinks);

  // What the hovered or picked node touches, directly or through its topics.
  const focus = hovered ?? picked;
  const lit = new Set<string>();
  if (focus) {
    lit.add(focus);
    const topics = focus.startsWith("topic:") ? [focus.slice(6)] : flow.edges.filter((edge) => edge.from === focus || edge.to === focus).map((edge) => edge.topic);
    for (const edge of flow.edges) {
      if (topics.includes(edge.topic)) {
        lit.add(edge.from);
        lit.add(edge.to);
      }
    }
  }
  const faded = (id: string) => focus !== null && !lit.has(id);
  const node = (id: string, className: string, title: string, children: ReactNode) => {
    const at = places.get(id)!;
    return (
      <button key={id} type="button" className={`node ${className} ${faded(id) ? "faded" : ""}`} style={{ left: at.x, top: at.y, width: at.w, height: at.h }} aria-pressed={picked === id} title={title}
        onClick={() => onPick(picked === id ? null : id)} onMouseEnter={() => setHovered(id)} onMouseLeave={() => setHovered(null)} onFocus={() => setHovered(id)} onBlur={() => setHovered(null)}>
        {children}
      </button>
    );
  };
  const connectorNode = (kind: "source" | "sink", name: string) => {
    const connector = byName.get(name)!;
    const state = look(shownState(connector));
    return node(`${kind}:${name}`, state.tone === "bad" ? "bad" : "", `${name}: ${state.word}`, (
      <>
        <span className="top"><Mark shape={state.shape} tone={state.tone} /><span className="label">{name}</span></span>
        <span className="fig">{state.word === "Running" ? connector.title : `${state.word} · ${connector.title}`}</span>
        <span className="fig">{figures(connector)}</span>
      </>
    ));
  };
  const topicsByName = new Map(snapshot.topics.map((topic) => [topic.name, topic]));
  return (
    <section className="card" aria-label="Flow from sources through topics to sinks">
      <div ref={box}>
        {width > 0 && width < NARROW && <FlowList snapshot={snapshot} flow={flow} byName={byName} />}
        {width >= NARROW && (
          <>
            <div className="graph-heads"><h2>Sources</h2><h2>Topics</h2><h2>Sinks</h2></div>
            <div className="graph" style={{ height }}>
              <svg className="edges" aria-hidden="true">
                {flow.edges.map((edge) => {
                  const [from, to] = [places.get(edge.from), places.get(edge.to)];
                  if (!from || !to) return null;
                  const connector = byName.get(edge.source ?? edge.sink ?? "");
                  const [x1, y1, x2, y2] = [from.x + from.w, from.y + from.h / 2, to.x, to.y + to.h / 2];
                  const bend = (x2 - x1) / 2;
                  const off = focus !== null && !(lit.has(edge.from) && lit.has(edge.to));
                  const running = connector?.state === "RUNNING";
                  return <path key={`${edge.from}>${edge.to}`} d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} stroke={connector && running ? lagColor(connector.behind_ms) : "var(--border-strong)"} strokeWidth={thickness(connector ? edgeRate(connector.name, edge.topic) : 0)} strokeDasharray={running ? undefined : "3 5"} opacity={off ? 0.12 : 0.6} />;
                })}
              </svg>
              {flow.sources.map((name) => connectorNode("source", name))}
              {flow.topics.map((name) => node(`topic:${name}`, "topic", name, <span className="top"><span className="label">&lrm;{name}&lrm;</span><span className="fig">{count(topicsByName.get(name)?.records)}</span></span>))}
              {flow.sinks.map((name) => connectorNode("sink", name))}
              {flow.sinks.length === 0 && <Link className="btn" style={{ position: "absolute", right: 14, top: height / 2 - 15 }} to="/connect/new"><Icon name="plus" />Add a sink</Link>}
              {flow.sources.length === 0 && <Link className="btn" style={{ position: "absolute", left: 14, top: height / 2 - 15 }} to="/collect/new"><Icon name="plus" />Add a source</Link>}
            </div>
          </>
        )}
        <div className="row" style={{ padding: "8px 14px 12px", justifyContent: "space-between" }}>
          <span className="legend hide-s"><span><i style={{ background: "var(--ok)" }} />lag below 5 s</span><span><i style={{ background: "var(--warn)" }} />below 1 min</span><span><i style={{ background: "var(--bad)" }} />more</span><span>thicker: more rows/s</span></span>
          {flow.folded > 0 && <Link to="/compose/topics" className="small">and {flow.folded} more topics</Link>}
        </div>
      </div>
    </section>
  );
}

function FlowList({ snapshot, flow, byName }: { snapshot: Snapshot; flow: ReturnType<typeof flowOf>; byName: ReadonlyMap<string, Connector> }) {
  const connectorRow = (name: string) => {
    const connector = byName.get(name)!;
    const state = look(shownState(connector));
    return (
      <li key={name}>
        <Mark shape={state.shape} tone={state.tone} title={state.word} />
        <Link to={connectorPath(connector.type, name)}>{name}</Link>
        <span className="fig">{figures(connector)}</span>
      </li>
    );
  };
  const topics = new Map(snapshot.topics.map((topic) => [topic.name, topic]));
  const group = (title: string, rows: ReactNode[], empty: string) => (
    <>
      <h2 style={{ padding: "12px 14px 6px" }}>{title}</h2>
      <ul className="flow-list">{rows.length > 0 ? rows : <li className="muted small">{empty}</li>}</ul>
    </>
  );
  return (
    <>
      {group("Sources", flow.sources.map(connectorRow), "No sources yet.")}
      {group("Topics", flow.topics.map((name) => <li key={name}><Link to={topicPath(name)} style={{ fontWeight: 500 }}>{name}</Link><span className="fig">{count(topics.get(name)?.records)} records</span></li>), "No topics yet.")}
      {group("Sinks", flow.sinks.map(connectorRow), "No sinks yet.")}
    </>
  );
}
