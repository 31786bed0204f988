import { useState } from "react";
import { Link } from "react-router";
import { topicRate, useLive } from "../api/live";
import type { Connector, Snapshot } from "../api/model";
import { bytes, count, DASH, duration, exact, rate } from "../logic/format";
import { causeOf, look, shownState } from "../logic/state";
import { Graph } from "../ui/graph";
import { ConnectorActions } from "../ui/actions";
import { Icon } from "../ui/icons";
import { connectorPath, topicPath } from "../ui/links";
import { Callout, Empty, Failure, Loading, Spark, Stat, State } from "../ui/parts";

export function OverviewPage() {
  const live = useLive();
  const [picked, setPicked] = useState<string | null>(null);
  const { snapshot } = live;
  return (
    <div className="page">
      <div className="head">
        <div className="grow">
          <h1>Overview</h1>
        </div>
        <Link className="btn" to="/collect/new"><Icon name="plus" />Source</Link>
        <Link className="btn" to="/connect/new"><Icon name="plus" />Sink</Link>
      </div>
      {snapshot === null ? <div className="card"><Loading lines={8} /></div> : <Body snapshot={snapshot} picked={picked} pick={setPicked} stale={live.link === "lost"} />}
    </div>
  );
}

function sum(connectors: readonly Connector[]): number {
  return connectors.reduce((total, connector) => total + connector.events_per_s, 0);
}

function worstLag(connectors: readonly Connector[]): number | null {
  const known = connectors.flatMap((connector) => (connector.behind_ms === null ? [] : [connector.behind_ms]));
  return known.length > 0 ? Math.max(...known) : null;
}

function Body({ snapshot, picked, pick, stale }: { snapshot: Snapshot; picked: string | null; pick: (id: string | null) => void; stale: boolean }) {
  const sources = snapshot.connectors.filter((connector) => connector.type === "source");
  const sinks = snapshot.connectors.filter((connector) => connector.type === "sink");
  const topics = snapshot.topics.filter((topic) => !topic.internal);
  const failed = snapshot.connectors.filter((connector) => shownState(connector) === "FAILED");
  const records = topics.reduce((total, topic) => total + topic.records, 0);
  const size = topics.reduce((total, topic) => total + topic.bytes, 0);
  const behind = sinks.flatMap((sink) => (sink.behind_records === null ? [] : [sink.behind_records]));
  const running = (list: readonly Connector[]) => `${list.filter((connector) => ["RUNNING", "SNAPSHOTTING"].includes(shownState(connector))).length} of ${list.length} running`;
  if (snapshot.connectors.length === 0 && topics.length === 0) {
    return (
      <div className="card">
        <Empty icon="database" title="Nothing flows yet" action={<Link className="btn primary" to="/collect/new"><Icon name="plus" />Add a source</Link>}>
          A source reads the changes of a database into topics; a sink writes topics into another database. Begin with a source.
        </Empty>
      </div>
    );
  }
  return (
    <>
      {failed.map((connector) => <Failed key={connector.name} connector={connector} />)}
      <dl className="stats">
        <Stat label="Captured" value={rate(sum(sources))} unit="rows/s" sub={sources.length > 0 ? running(sources) : "no sources"} title={exact(sum(sources))} stale={stale} />
        <Stat label="Delivered" value={rate(sum(sinks))} unit="rows/s" sub={sinks.length > 0 ? running(sinks) : "no sinks"} title={exact(sum(sinks))} stale={stale} />
        <Stat label="Source lag" value={duration(worstLag(sources))} sub="the latest source" stale={stale} />
        <Stat label="Sink lag" value={duration(worstLag(sinks))} sub={behind.length > 0 ? `${count(behind.reduce((a, b) => a + b, 0))} records to deliver` : "the latest sink"} stale={stale} />
        <Stat label="In topics" value={count(records)} unit="records" sub={`${topics.length} ${topics.length === 1 ? "topic" : "topics"}, ${bytes(size)}`} title={exact(records)} stale={stale} />
      </dl>
      <div className={`overview ${picked ? "with-panel" : ""}`}>
        <Graph snapshot={snapshot} picked={picked} onPick={pick} />
        {picked && <Panel snapshot={snapshot} id={picked} onClose={() => pick(null)} />}
      </div>
    </>
  );
}

/** What is wrong stands first, with what to do. */
function Failed({ connector }: { connector: Connector }) {
  const cause = causeOf(traceOf(connector) ?? "no cause was given");
  return (
    <Callout tone="bad" title={<Link to={connectorPath(connector.type, connector.name)} style={{ color: "inherit" }}>{connector.name} has failed</Link>}>
      <p className="wrap">{cause.message}</p>
      {cause.remedy && <p className="wrap muted"><strong>What to do: </strong>{cause.remedy}</p>}
    </Callout>
  );
}

/** The cause of a failure: the connector's own, else its first failed task's. */
export function traceOf(connector: Connector): string | null {
  return connector.trace ?? connector.tasks.find((task) => task.trace !== null)?.trace ?? null;
}

function Panel({ snapshot, id, onClose }: { snapshot: Snapshot; id: string; onClose: () => void }) {
  const live = useLive();
  const [kind, name] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
  const close = <button type="button" className="btn ghost icon-only small-btn" aria-label="Close panel" onClick={onClose}><Icon name="cross" /></button>;
  if (kind === "topic") {
    const topic = snapshot.topics.find((one) => one.name === name);
    const makers = snapshot.connectors.filter((connector) => connector.type === "source" && connector.topics.includes(name));
    const takers = snapshot.connectors.filter((connector) => connector.type === "sink" && connector.topics.includes(name));
    return (
      <aside className="card" aria-label={`Topic ${name}`}>
        <div className="card-head"><h2 className="grow wrap">{name}</h2>{close}</div>
        <div className="card-body stack-l">
          <dl className="facts">
            <dt>Records</dt><dd title={exact(topic?.records)}>{count(topic?.records)}</dd>
            <dt>Size</dt><dd>{bytes(topic?.bytes)}</dd>
            <dt>Partitions</dt><dd>{topic?.partitions ?? DASH}</dd>
            {makers.map((maker) => <div key={maker.name} style={{ display: "contents" }}><dt>From</dt><dd><Link to={connectorPath("source", maker.name)}>{maker.name}</Link>, {rate(topicRate(live.tableRates, maker.name, name))} rows/s</dd></div>)}
            {takers.map((taker) => <div key={taker.name} style={{ display: "contents" }}><dt>To</dt><dd><Link to={connectorPath("sink", taker.name)}>{taker.name}</Link>, {count(taker.tasks.reduce((total, task) => total + (task.behind_records[name] ?? 0), 0))} behind</dd></div>)}
          </dl>
          <Link className="btn" to={topicPath(name)}><Icon name="eye" />Messages and schemas</Link>
        </div>
      </aside>
    );
  }
  const connector = snapshot.connectors.find((one) => one.name === name);
  if (!connector) return null;
  const trace = traceOf(connector);
  const state = shownState(connector);
  return (
    <aside className="card" aria-label={`Connector ${name}`}>
      <div className="card-head"><h2 className="grow wrap">{name}</h2><State state={state} />{close}</div>
      <div className="card-body stack-l">
        {state === "FAILED" && trace && <Failure title="Failed" trace={trace} />}
        <Spark wide values={live.history.get(name) ?? []} label={`Rate of ${name}`} />
        <dl className="facts">
          <dt>Kind</dt><dd>{connector.title}</dd>
          <dt>Rate</dt><dd>{rate(connector.events_per_s)} rows/s, {bytes(connector.bytes_per_s)}/s</dd>
          <dt>Lag</dt><dd>{duration(connector.behind_ms)}{connector.behind_records !== null && `, ${count(connector.behind_records)} records`}</dd>
          <dt>Tasks</dt><dd>{connector.tasks.length}</dd>
          <dt>Topics</dt><dd>{connector.topics.length}</dd>
        </dl>
        <Link className="btn" to={connectorPath(connector.type, name)}><Icon name={look(state).tone === "bad" ? "warn" : "eye"} />Open</Link>
        <ConnectorActions connector={connector} small onDeleted={onClose} />
      </div>
    </aside>
  );
}
