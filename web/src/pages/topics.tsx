import { useState } from "react";
import { Link } from "react-router";
import { useLive } from "../api/live";
import type { Topic } from "../api/model";
import { bytes, count, duration, exact } from "../logic/format";
import { ComposeTabs } from "../ui/compose";
import { Icon } from "../ui/icons";
import { connectorPath, topicPath } from "../ui/links";
import { Empty, Loading, Name, Search } from "../ui/parts";

const retention = (topic: Topic) => {
  if (topic.cleanup_policy === "compact") return "compacted";
  const parts = [topic.retention_ms === null ? null : duration(topic.retention_ms), topic.retention_bytes === null ? null : bytes(topic.retention_bytes)].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(", ") : "kept for ever";
};

export function TopicsPage() {
  const live = useLive();
  const [search, setSearch] = useState("");
  const [internal, setInternal] = useState(false);
  const all = live.snapshot?.topics ?? [];
  const rows = all
    .filter((topic) => (internal || !topic.internal) && topic.name.toLowerCase().includes(search.toLowerCase()))
    .sort((a, b) => a.name.localeCompare(b.name));
  const links = (topic: string, type: string) => (live.snapshot?.connectors ?? []).filter((connector) => connector.type === type && connector.topics.includes(topic));
  const cell = (topic: string, type: string) => {
    const found = links(topic, type);
    return found.length === 0 ? <span className="muted">–</span> : found.map((connector, index) => <span key={connector.name}>{index > 0 && ", "}<Link to={connectorPath(type, connector.name)}>{connector.name}</Link></span>);
  };
  return (
    <div className="page">
      <div className="head">
        <div className="grow"><h1>Compose</h1><p>Topics hold the changes, schemas say what is in them.</p></div>
        <Search value={search} onChange={setSearch} label="Search topics" />
      </div>
      <ComposeTabs value="topics" />
      <div className="card">
        {live.snapshot === null ? <Loading /> : rows.length === 0 ? (
          search === "" ? (
            <Empty icon="compose" title="No topics yet" action={<Link className="btn primary" to="/collect/new"><Icon name="plus" />Add a source</Link>}>A source makes one topic for each table that it captures.</Empty>
          ) : <Empty icon="search" title="No topic is called so" action={<button type="button" className="btn" onClick={() => setSearch("")}>Clear the search</button>} />
        ) : (
          <div className="table-wrap">
            <table>
              <thead><tr><th>Topic</th><th className="num">Records</th><th className="num">Size</th><th className="num hide-s">Partitions</th><th className="hide-s">From</th><th className="hide-s">To</th><th className="hide-s">Retention</th></tr></thead>
              <tbody>
                {rows.map((topic) => (
                  <tr key={topic.name} className="link">
                    <td><Link className="name wrap" to={topicPath(topic.name)}><Name text={topic.name} /></Link>{topic.internal && <> <span className="tag">internal</span></>}</td>
                    <td className="num" title={exact(topic.records)}>{count(topic.records)}</td>
                    <td className="num" title={exact(topic.bytes)}>{bytes(topic.bytes)}</td>
                    <td className="num hide-s">{topic.partitions}</td>
                    <td className="hide-s">{cell(topic.name, "source")}</td>
                    <td className="hide-s">{cell(topic.name, "sink")}</td>
                    <td className="hide-s muted nowrap">{retention(topic)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
      {all.some((topic) => topic.internal) && <label className="check muted"><input type="checkbox" checked={internal} onChange={(event) => setInternal(event.target.checked)} />Show internal topics</label>}
    </div>
  );
}
