import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { connectors } from "../api/client";
import { useConnector, useLive } from "../api/live";
import type { Connector, ConnectorDetail, ConnectorType, Task } from "../api/model";
import { useResource } from "../api/resource";
import { bytes, count, duration, exact, plural, rate } from "../logic/format";
import { shownState } from "../logic/state";
import { ConnectorActions } from "../ui/actions";
import { ConfigTab, OffsetsTab } from "../ui/config";
import { Icon } from "../ui/icons";
import { topicPath } from "../ui/links";
import { Callout, Empty, Failure, LoadError, Loading, Spark, Stat, State, Tabs } from "../ui/parts";
import { TablesCard } from "../ui/tables";
import { useAct } from "../ui/toast";
import { traceOf } from "./overview";

type Tab = "tables" | "tasks" | "topics" | "config" | "offsets";

export function ConnectorPage({ type }: { type: ConnectorType }) {
  const { name = "" } = useParams();
  const live = useLive();
  const navigate = useNavigate();
  const detail = useResource<ConnectorDetail>(`connector ${name}`, () => connectors.get(name), 5000);
  const connector = useConnector(name) ?? detail.data?.connector;
  const [tab, setTab] = useState<Tab>("tables");
  const list = type === "sink" ? "/connect" : "/collect";
  if (!connector) {
    return (
      <div className="page">
        {detail.error ? (
          <div className="card"><Empty page icon="search" title={`There is no ${type} called ${name}`} action={<Link className="btn" to={list}>All {type}s</Link>}>{detail.error.message}</Empty></div>
        ) : <div className="card"><Loading lines={8} /></div>}
      </div>
    );
  }
  const state = shownState(connector);
  const trace = traceOf(connector);
  const tables = connector.tasks.flatMap((task) => task.tables);
  return (
    <div className="page">
      <div className="head">
        <div className="grow">
          <nav className="crumb" aria-label="Path"><Link to={list}>{type === "sink" ? "Connect" : "Collect"}</Link><span aria-hidden="true">/</span><span>{connector.title}</span></nav>
          <div className="row"><h1>{name}</h1><State state={state} /></div>
        </div>
        <ConnectorActions connector={connector} onDeleted={() => void navigate(list)} />
      </div>
      {trace && (state === "FAILED" || state === "RETRYING" || connector.trace) && <Failure title={state === "FAILED" ? "It has failed" : "The last failure"} trace={trace} />}
      {notesOf(connector).map(([subject, text]) => <Callout key={`${subject}${text}`} tone="warn" title={text}><code className="muted">{subject}</code></Callout>)}
      <Figures connector={connector} history={live.history.get(name) ?? []} stale={live.link === "lost"} />
      <Tabs label="Parts of the connector" value={tab} onChange={setTab} tabs={[
        { id: "tables", title: "Tables", count: tables.length },
        { id: "tasks", title: "Tasks", count: connector.tasks.length },
        { id: "topics", title: "Topics", count: connector.topics.length },
        { id: "config", title: "Configuration" },
        { id: "offsets", title: "Offsets" },
      ]} />
      {tab === "tables" && <TablesCard connector={connector} />}
      {tab === "tasks" && <Tasks connector={connector} />}
      {tab === "topics" && <Topics connector={connector} />}
      {tab === "config" && <Loaded detail={detail}>{(data) => <ConfigTab name={name} config={data.config} type={type} className={connector.class} onSaved={detail.reload} />}</Loaded>}
      {tab === "offsets" && <Loaded detail={detail}>{(data) => <OffsetsTab connector={connector} offsets={data.offsets} onChanged={detail.reload} />}</Loaded>}
    </div>
  );
}

function Loaded({ detail, children }: { detail: ReturnType<typeof useResource<ConnectorDetail>>; children: (data: ConnectorDetail) => React.ReactNode }) {
  if (detail.data) return children(detail.data);
  if (detail.error) return <LoadError what="The connector" error={detail.error} retry={detail.reload} />;
  return <div className="card"><Loading /></div>;
}

function notesOf(connector: Connector): [string, string][] {
  const notes = new Map<string, string>();
  for (const task of connector.tasks) for (const [subject, text] of Object.entries(task.notes)) notes.set(subject, text);
  return [...notes];
}

function gauge(connector: Connector, name: string): number | null {
  const values = connector.tasks.flatMap((task) => (task.gauges[name] === undefined ? [] : [task.gauges[name]]));
  return values.length > 0 ? Math.max(...values) : null;
}

function Figures({ connector, history, stale }: { connector: Connector; history: readonly number[]; stale: boolean }) {
  const sum = (pick: (task: Task) => number) => connector.tasks.reduce((total, task) => total + pick(task), 0);
  const dead = sum((task) => task.dead_letters);
  const retries = sum((task) => task.retries);
  const wal = gauge(connector, "source_retained_wal_bytes");
  return (
    <dl className="stats">
      <Stat label="Rate" value={rate(connector.events_per_s)} unit="rows/s" sub={<Spark values={history} label="Rate" />} title={exact(connector.events_per_s)} stale={stale} />
      <Stat label="Lag" value={duration(connector.behind_ms)} sub={connector.behind_records === null ? `${bytes(connector.bytes_per_s)}/s` : `${count(connector.behind_records)} records to deliver`} stale={stale} />
      <Stat label="Rows since start" value={count(sum((task) => task.events))} sub={bytes(sum((task) => task.bytes))} title={exact(sum((task) => task.events))} stale={stale} />
      {wal !== null && <Stat label="Log held in the database" value={bytes(wal)} sub="until it is captured" title={exact(wal)} stale={stale} />}
      <Stat label="Dead letters" value={<span style={dead > 0 ? { color: "var(--bad)" } : undefined}>{exact(dead)}</span>} sub={plural(retries, "retry", "retries")} stale={stale} />
    </dl>
  );
}

function Tasks({ connector }: { connector: Connector }) {
  const act = useAct();
  if (connector.tasks.length === 0) {
    return <div className="card"><Empty icon="stop" title="It has no tasks">{connector.state === "STOPPED" ? "A stopped connector has none. Resume it and they come back." : "They are made when the connector starts."}</Empty></div>;
  }
  return (
    <div className="stack">
      {connector.tasks.map((task) => (
        <div className="card" key={task.id}>
          <div className="card-head">
            <h2>Task {task.id}</h2><State state={task.state} />
            <span className="muted small grow">{connector.worker_id}</span>
            <button type="button" className="btn" onClick={() => void act(`Task ${task.id} is restarted`, `Task ${task.id} could not be restarted`, () => connectors.restartTask(connector.name, task.id))}><Icon name="restart" />Restart</button>
          </div>
          <div className="card-body stack-l">
            {task.trace && <Failure title="Why it failed" trace={task.trace} />}
            <dl className="facts">
              <dt>Rows</dt><dd>{exact(task.events)}, {rate(task.events_per_s)}/s</dd>
              <dt>Bytes</dt><dd>{bytes(task.bytes)}, {bytes(task.bytes_per_s)}/s</dd>
              <dt>Lag</dt><dd>{duration(task.behind_ms)}</dd>
              <dt>Retries</dt><dd>{exact(task.retries)}</dd>
              <dt>Dead letters</dt><dd>{exact(task.dead_letters)}</dd>
              {Object.entries(task.gauges).map(([name, value]) => <div key={name} style={{ display: "contents" }}><dt className="mono">{name}</dt><dd>{name.endsWith("_bytes") ? bytes(value) : name.endsWith("_ms") ? duration(value) : exact(value)}</dd></div>)}
            </dl>
          </div>
        </div>
      ))}
    </div>
  );
}

function Topics({ connector }: { connector: Connector }) {
  const { snapshot } = useLive();
  if (connector.topics.length === 0) return <div className="card"><Empty icon="compose" title="No topics yet">{connector.type === "sink" ? "None of the existing topics match its configuration." : "A topic appears with the first row of its table."}</Empty></div>;
  const known = new Map((snapshot?.topics ?? []).map((topic) => [topic.name, topic]));
  const behind = (topic: string) => connector.tasks.reduce((total, task) => total + (task.behind_records[topic] ?? 0), 0);
  return (
    <div className="card table-wrap">
      <table>
        <thead><tr><th>Topic</th><th className="num">Records</th><th className="num">Size</th>{connector.type === "sink" && <th className="num">To deliver</th>}</tr></thead>
        <tbody>
          {[...connector.topics].sort().map((topic) => (
            <tr key={topic} className="link">
              <td><Link className="name wrap" to={topicPath(topic)}>{topic}</Link></td>
              <td className="num" title={exact(known.get(topic)?.records)}>{count(known.get(topic)?.records)}</td>
              <td className="num">{bytes(known.get(topic)?.bytes)}</td>
              {connector.type === "sink" && <td className="num">{exact(behind(topic))}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
