import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { topics } from "../api/client";
import type { TopicDetail } from "../api/model";
import { useResource } from "../api/resource";
import { bytes, count, exact, plural } from "../logic/format";
import { Icon } from "../ui/icons";
import { connectorPath, subjectPath } from "../ui/links";
import { Messages } from "../ui/messages";
import { ConfirmDelete, Empty, LoadError, Loading, Name, Stat, Tabs } from "../ui/parts";
import { SchemaVersions } from "../ui/schemas";
import { useAct } from "../ui/toast";

type Tab = "messages" | "schemas" | "partitions" | "consumers";

export function TopicPage() {
  const { topic = "" } = useParams();
  const navigate = useNavigate();
  const act = useAct();
  const detail = useResource<TopicDetail>(`topic ${topic}`, () => topics.get(topic), 3000);
  const [tab, setTab] = useState<Tab>("messages");
  const [deleting, setDeleting] = useState(false);
  const { data } = detail;
  const sum = (pick: (partition: TopicDetail["partitions"][number]) => number) => data?.partitions.reduce((total, partition) => total + pick(partition), 0);
  return (
    <div className="page">
      <div className="head">
        <div className="grow">
          <nav className="crumb" aria-label="Path"><Link to="/compose/topics">Compose</Link><span aria-hidden="true">/</span><span>Topic</span></nav>
          <h1><Name text={topic} /></h1>
        </div>
        {data && <button type="button" className="btn danger" onClick={() => setDeleting(true)}><Icon name="trash" />Delete</button>}
      </div>
      {!data && detail.error && <LoadError what={`The topic ${topic}`} error={detail.error} retry={detail.reload} />}
      {!data && !detail.error && <div className="card"><Loading lines={8} /></div>}
      {data && (
        <>
          <dl className="stats">
            <Stat label="Records" value={count(sum((p) => p.records))} sub={plural(data.partitions.length, "partition")} title={exact(sum((p) => p.records))} />
            <Stat label="Size" value={bytes(sum((p) => p.bytes))} sub="compressed" title={exact(sum((p) => p.bytes))} />
            <Stat label="Schemas" value={data.value_schemas.length || "–"} sub={data.value_schemas.length > 0 ? `value, version ${data.value_schemas.at(-1)!.version}` : "none registered"} />
            <Stat label="From" value={<span style={{ fontSize: 14 }}>{data.producers.length > 0 ? data.producers.map((name) => <Link key={name} to={connectorPath("source", name)}>{name} </Link>) : "–"}</span>} sub={data.producers.length > 0 ? "source" : "no source writes it now"} />
            <Stat label="Consumers" value={new Set(data.consumers.map((consumer) => consumer.group)).size || "–"} sub={data.consumers.length > 0 ? `${count(data.consumers.reduce((total, consumer) => total + consumer.behind, 0))} records behind` : "nothing reads it"} />
          </dl>
          <Tabs label="Parts of the topic" value={tab} onChange={setTab} tabs={[{ id: "messages", title: "Messages" }, { id: "schemas", title: "Schemas", count: data.key_schemas.length + data.value_schemas.length }, { id: "partitions", title: "Partitions", count: data.partitions.length }, { id: "consumers", title: "Consumers", count: data.consumers.length }]} />
          {tab === "messages" && <Messages key={topic} topic={topic} />}
          {tab === "schemas" && <TopicSchemas detail={data} />}
          {tab === "partitions" && <Partitions detail={data} />}
          {tab === "consumers" && <Consumers detail={data} />}
        </>
      )}
      {deleting && (
        <ConfirmDelete what="topic" name={topic} onClose={() => setDeleting(false)} onConfirm={async () => {
          const deleted = await act(`${topic} is deleted`, `${topic} could not be deleted`, () => topics.remove(topic));
          if (deleted) void navigate("/compose/topics");
          return deleted;
        }}>
          <p>All {count(sum((p) => p.records))} records in it are lost. Sinks that have not read them yet never will. A source that still writes to it makes it again, with new changes only.</p>
        </ConfirmDelete>
      )}
    </div>
  );
}

function TopicSchemas({ detail }: { detail: TopicDetail }) {
  if (detail.key_schemas.length + detail.value_schemas.length === 0) return <div className="card"><Empty icon="compose" title="No schemas">Its records carry none, or none was written yet.</Empty></div>;
  return (
    <>
      {[detail.value_schemas, detail.key_schemas].filter((versions) => versions.length > 0).map((versions) => (
        <section key={versions[0]!.subject} className="stack">
          <h2 className="row">{versions === detail.value_schemas ? "Value" : "Key"} <Link className="mono" style={{ fontWeight: 400 }} to={subjectPath(versions[0]!.subject)}>{versions[0]!.subject}</Link></h2>
          <SchemaVersions versions={versions} />
        </section>
      ))}
    </>
  );
}

function Partitions({ detail }: { detail: TopicDetail }) {
  return (
    <div className="card table-wrap">
      <table>
        <thead><tr><th className="num">Partition</th><th className="num">First offset</th><th className="num">Next offset</th><th className="num">Records</th><th className="num">Size</th></tr></thead>
        <tbody>
          {detail.partitions.map((partition) => (
            <tr key={partition.partition}><td className="num">{partition.partition}</td><td className="num mono">{partition.log_start_offset}</td><td className="num mono">{partition.end_offset}</td><td className="num">{exact(partition.records)}</td><td className="num">{bytes(partition.bytes)}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Consumers({ detail }: { detail: TopicDetail }) {
  if (detail.consumers.length === 0) return <div className="card"><Empty icon="connect" title="Nothing reads this topic" action={<Link className="btn primary" to="/connect/new"><Icon name="plus" />Add a sink</Link>}>A sink that takes it is listed here with how far it has come.</Empty></div>;
  return (
    <div className="card table-wrap">
      <table>
        <thead><tr><th>Group</th><th className="num">Partition</th><th className="num">Next offset</th><th className="num">Behind</th></tr></thead>
        <tbody>
          {detail.consumers.map((consumer) => (
            <tr key={`${consumer.group} ${consumer.partition}`}><td>{consumer.connector ? <Link className="name" to={connectorPath("sink", consumer.connector)}>{consumer.connector}</Link> : consumer.group}</td><td className="num">{consumer.partition}</td><td className="num mono">{consumer.offset}</td><td className="num">{exact(consumer.behind)}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
