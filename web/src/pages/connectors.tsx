import { useState } from "react";
import { Link } from "react-router";
import { useLive } from "../api/live";
import type { Connector, ConnectorType } from "../api/model";
import { bytes, count, duration, exact, rate } from "../logic/format";
import { look, shownState } from "../logic/state";
import { ConnectorActions } from "../ui/actions";
import { Icon } from "../ui/icons";
import { connectorPath } from "../ui/links";
import { Empty, Loading, Search, Spark, State } from "../ui/parts";

const WORDS = {
  source: {
    title: "Collect", one: "source", path: "/collect", icon: "collect",
    about: "Sources read every committed change of a database into topics.",
    empty: "No sources yet", first: "A source reads a snapshot of the tables you choose, then every change. Have host, user and password of the database at hand; what is missing there is told with the SQL that mends it.",
  },
  sink: {
    title: "Connect", one: "sink", path: "/connect", icon: "connect",
    about: "Sinks write topics into another database and keep it equal to the source.",
    empty: "No sinks yet", first: "A sink takes the topics you choose into tables of the same name. Before anything is written you see how each field is mapped.",
  },
} as const;

export function ConnectorsPage({ type }: { type: ConnectorType }) {
  const live = useLive();
  const words = WORDS[type];
  const [search, setSearch] = useState("");
  const all = (live.snapshot?.connectors ?? []).filter((connector) => connector.type === type || (type === "source" && connector.type === "unknown"));
  const rows = all
    .filter((connector) => `${connector.name} ${connector.title}`.toLowerCase().includes(search.toLowerCase()))
    .sort((a, b) => look(shownState(a)).rank - look(shownState(b)).rank || (b.behind_ms ?? -1) - (a.behind_ms ?? -1) || a.name.localeCompare(b.name));
  return (
    <div className="page">
      <div className="head">
        <div className="grow"><h1>{words.title}</h1><p>{words.about}</p></div>
        {all.length > 3 && <Search value={search} onChange={setSearch} label={`Search ${words.one}s`} />}
        <Link className="btn primary" to={`${words.path}/new`}><Icon name="plus" />Add a {words.one}</Link>
      </div>
      <div className="card">
        {live.snapshot === null ? <Loading /> : all.length === 0 ? (
          <Empty icon={words.icon} title={words.empty} action={<Link className="btn primary" to={`${words.path}/new`}><Icon name="plus" />Add a {words.one}</Link>}>{words.first}</Empty>
        ) : rows.length === 0 ? (
          <Empty icon="search" title={`No ${words.one} is called so`} action={<button type="button" className="btn" onClick={() => setSearch("")}>Clear the search</button>} />
        ) : <Table rows={rows} type={type} stale={live.link === "lost"} history={live.history} />}
      </div>
    </div>
  );
}

function Table({ rows, type, stale, history }: { rows: readonly Connector[]; type: ConnectorType; stale: boolean; history: ReadonlyMap<string, readonly number[]> }) {
  return (
    <div className="table-wrap">
      <table>
        <thead>
          <tr>
            <th>Name</th><th className="hide-s">State</th><th className="num hide-s">Rate, last 2 min</th><th className="num">Rows/s</th><th className="num">Lag</th>
            <th className="num hide-s">{type === "sink" ? "To deliver" : "Bytes/s"}</th><th className="num hide-s">Topics</th><th className="num hide-s">Dead letters</th><th className="hide-s"><span className="sr">Actions</span></th>
          </tr>
        </thead>
        <tbody className={stale ? "stale" : ""}>
          {rows.map((connector) => {
            const dead = connector.tasks.reduce((total, task) => total + task.dead_letters, 0);
            return (
              <tr key={connector.name} className="link">
                <td><Link className="name wrap" to={connectorPath(type, connector.name)}>{connector.name}</Link><div className="small muted">{connector.title}</div><div className="show-s"><State state={shownState(connector)} /></div></td>
                <td className="hide-s"><State state={shownState(connector)} /></td>
                <td className="num hide-s"><span style={{ display: "inline-block" }}><Spark values={history.get(connector.name) ?? []} label={`Rate of ${connector.name}`} /></span></td>
                <td className="num" title={exact(connector.events_per_s)}>{rate(connector.events_per_s)}</td>
                <td className="num">{duration(connector.behind_ms)}</td>
                <td className="num hide-s">{type === "sink" ? count(connector.behind_records) : bytes(connector.bytes_per_s)}</td>
                <td className="num hide-s">{connector.topics.length}</td>
                <td className="num hide-s" style={dead > 0 ? { color: "var(--bad)", fontWeight: 600 } : undefined}>{exact(dead)}</td>
                <td className="hide-s"><ConnectorActions connector={connector} small /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
