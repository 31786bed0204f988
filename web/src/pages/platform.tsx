import { Link, useNavigate, useParams } from "react-router";
import { platform } from "../api/client";
import { useLive } from "../api/live";
import { useResource } from "../api/resource";
import type { ConsumerGroup } from "../api/model";
import { bytes, count, DASH, exact } from "../logic/format";
import { Icon, Mark } from "../ui/icons";
import { connectorPath, topicPath } from "../ui/links";
import { Callout, Empty, Loading, LoadError, Name, Tabs } from "../ui/parts";
import { Clusters } from "./clusters";

const TABS = [
  { id: "workers", title: "Workers" },
  { id: "groups", title: "Consumer groups" },
  { id: "log", title: "Log and registries" },
  { id: "clusters", title: "Other clusters" },
] as const;
type Tab = (typeof TABS)[number]["id"];

/** How often what the event stream does not tell is asked for. */
const EVERY_MS = 3000;

export function PlatformPage() {
  const navigate = useNavigate();
  const { tab = "workers" } = useParams();
  const shown: Tab = TABS.find((one) => one.id === tab)?.id ?? "workers";
  return (
    <div className="page">
      <div className="head"><div className="grow"><h1>Platform</h1><p>What runs the connectors, who reads the topics, and where both are kept.</p></div></div>
      <Tabs label="Platform" value={shown} onChange={(id) => void navigate(`/platform/${id}`)} tabs={TABS} />
      {shown === "workers" && <Workers />}
      {shown === "groups" && <Groups />}
      {shown === "log" && <Log />}
      {shown === "clusters" && <Clusters />}
    </div>
  );
}

/** A link to the task's connector, whichever kind it is of. */
function TaskLink({ task }: { task: string }) {
  const { snapshot } = useLive();
  const name = task.slice(0, task.lastIndexOf("-"));
  const connector = snapshot?.connectors.find((one) => one.name === name);
  return connector ? <Link to={connectorPath(connector.type, name)}>{task}</Link> : <>{task}</>;
}

function Workers() {
  const { data, error, reload } = useResource("workers", platform.workers, EVERY_MS);
  if (error && !data) return <LoadError error={error} what="The workers" retry={reload} />;
  if (!data) return <div className="card"><Loading /></div>;
  const alone = data.generation === null;
  return (
    <>
      {data.fenced !== null && <Callout tone="warn" title="This worker runs nothing"><p className="wrap">{data.fenced}</p></Callout>}
      <div className="card">
        <div className="table-wrap">
          <table>
            <thead><tr><th>Worker</th><th className="hide-s">Version</th>{!alone && <th className="num hide-s">Leases</th>}<th>Tasks</th></tr></thead>
            <tbody>
              {data.workers.map((worker) => (
                <tr key={worker.worker_id}>
                  <td><span className="name wrap">{worker.worker_id}</span>{!alone && worker.leader && <> <span className="tag">leader</span></>}{worker.this && !alone && <> <span className="tag">this one</span></>}</td>
                  <td className="hide-s">{worker.version}</td>
                  {!alone && <td className="num hide-s">{worker.leases.length}{data.leases !== null && <span className="muted"> of {data.leases}</span>}</td>}
                  <td className="wrap">{worker.tasks.length === 0 ? <span className="muted">none</span> : worker.tasks.map((task, index) => <span key={task}>{index > 0 && ", "}<TaskLink task={task} /></span>)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
      {alone && <p className="muted small prose">This worker runs alone, on its own log. With an Apache Kafka cluster (<code>lattice serve --bootstrap-servers …</code>) several workers of one group share the tasks.</p>}
    </>
  );
}

function Groups() {
  const { data, error, reload } = useResource("groups", platform.groups, EVERY_MS);
  if (error && !data) return <LoadError error={error} what="The consumer groups" retry={reload} />;
  if (!data) return <div className="card"><Loading /></div>;
  if (data.length === 0) {
    return <div className="card"><Empty icon="connect" title="No consumer groups yet" action={<Link className="btn primary" to="/connect/new"><Icon name="plus" />Add a sink</Link>}>A sink reads its topics as the consumer group connect-NAME; other clients of the log have groups of their own.</Empty></div>;
  }
  return <>{[...data].sort((a, b) => b.behind - a.behind || a.group.localeCompare(b.group)).map((group) => <Group key={group.group} group={group} />)}</>;
}

function Group({ group }: { group: ConsumerGroup }) {
  return (
    <section className="card" aria-label={`Consumer group ${group.group}`}>
      <div className="card-head">
        <h2 className="grow wrap">{group.group}</h2>
        {group.connector !== null && <Link to={connectorPath("sink", group.connector)}>sink {group.connector}</Link>}
        <span className="tag" title={exact(group.behind)}>{count(group.behind)} behind</span>
      </div>
      <div className="table-wrap">
        <table>
          <thead><tr><th>Topic</th><th className="num hide-s">Partition</th><th className="num">Read to</th><th className="num hide-s">End</th><th className="num">Behind</th></tr></thead>
          <tbody>
            {group.partitions.map((one) => (
              <tr key={`${one.topic} ${one.partition}`}>
                <td>{one.end_offset === null ? <span className="muted wrap">{one.topic} <span className="tag">deleted</span></span> : <Link className="wrap" to={topicPath(one.topic)}><Name text={one.topic} /></Link>}</td>
                <td className="num hide-s">{one.partition}</td>
                <td className="num">{exact(one.offset)}</td>
                <td className="num hide-s">{one.end_offset === null ? DASH : exact(one.end_offset)}</td>
                <td className="num">{one.behind === null ? DASH : exact(one.behind)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Log() {
  const { snapshot } = useLive();
  const { data, error, reload } = useResource("log", platform.log, EVERY_MS);
  if (error && !data) return <LoadError error={error} what="The log" retry={reload} />;
  if (!data) return <div className="card"><Loading /></div>;
  const kind = (name: string) => snapshot?.connectors.find((one) => one.name === name)?.type ?? "source";
  return (
    <>
      {!data.writable && <Callout tone="warn" title="The log takes no records"><p className="wrap">{data.message ?? "no reason was given"}</p></Callout>}
      <section className="card" aria-label="Log">
        <div className="card-head"><h2 className="grow">{data.kind === "kafka" ? "Apache Kafka" : "Embedded log"}</h2><span className="muted">{bytes(data.bytes)}{data.free_bytes !== null && `, ${bytes(data.free_bytes)} free`}</span></div>
        {data.kind === "embedded" ? <div className="card-body muted">Topics, offsets and configurations are files in the data folder of this worker.</div> : (
          <div className="table-wrap">
            <table>
              <thead><tr><th>Broker</th><th>Address</th><th className="hide-s"><span className="sr">Role</span></th></tr></thead>
              <tbody>{data.brokers.map((broker) => <tr key={broker.id}><td>{broker.id}</td><td className="wrap">{broker.host}:{broker.port}</td><td className="hide-s">{broker.controller && <span className="tag">controller</span>}</td></tr>)}</tbody>
            </table>
          </div>
        )}
      </section>
      <section className="card" aria-label="Schema registries">
        <div className="card-head"><h2 className="grow">Schema registries in use</h2></div>
        {data.registries.length === 0 ? <div className="card-body muted">No connector uses one.</div> : (
          <div className="table-wrap">
            <table>
              <thead><tr><th>Registry</th><th>Connectors</th></tr></thead>
              <tbody>
                {data.registries.map((registry) => (
                  <tr key={registry.url ?? ""}>
                    <td className="wrap">{registry.url ?? <>Lattice’s own <span className="muted">(/registry)</span></>}</td>
                    <td className="wrap">{registry.connectors.map((name, index) => <span key={name}>{index > 0 && ", "}<Link to={connectorPath(kind(name), name)}>{name}</Link></span>)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      {data.kind === "kafka" && <p className="muted small"><Mark shape="dot" tone="ok" /> The brokers are those that the cluster last told of.</p>}
    </>
  );
}
