// Other Kafka Connect clusters, such as one that runs Debezium, steered beside the own connectors.
import { useId, useState } from "react";
import { clusters } from "../api/client";
import type { Cluster } from "../api/model";
import { useResource } from "../api/resource";
import { type RemoteConnector, remoteConnectors } from "../logic/clusters";
import { Icon, type IconName } from "../ui/icons";
import { Callout, Code, ConfirmDelete, Empty, Loading, LoadError, State } from "../ui/parts";
import { useAct } from "../ui/toast";

const EVERY_MS = 5000;

export function Clusters() {
  const { data, error, reload } = useResource("clusters", clusters.list, EVERY_MS);
  const [adding, setAdding] = useState(false);
  if (error && !data) return <LoadError error={error} what="The clusters" retry={reload} />;
  if (!data) return <div className="card"><Loading /></div>;
  const add = <button type="button" className="btn primary" onClick={() => setAdding(true)}><Icon name="plus" />Add a cluster</button>;
  const done = () => {
    setAdding(false);
    reload();
  };
  return (
    <>
      {adding ? <AddCluster taken={data.map((one) => one.name)} onDone={done} onCancel={() => setAdding(false)} /> : data.length > 0 && <div className="row">{add}</div>}
      {!adding && data.length === 0 && <div className="card"><Empty icon="link" title="No other clusters" action={add}>A Kafka Connect cluster, for instance one that runs Debezium, can be watched and steered from here, beside Lattice’s own connectors.</Empty></div>}
      {data.map((cluster) => <ClusterCard key={cluster.name} cluster={cluster} reload={reload} />)}
    </>
  );
}

function AddCluster({ taken, onDone, onCancel }: { taken: readonly string[]; onDone: () => void; onCancel: () => void }) {
  const act = useAct();
  const id = useId();
  const [busy, setBusy] = useState(false);
  const [form, setForm] = useState({ name: "", url: "", username: "", password: "" });
  const set = (key: keyof typeof form) => (event: { target: { value: string } }) => setForm({ ...form, [key]: event.target.value });
  const clash = taken.includes(form.name.trim());
  const save = async () => {
    setBusy(true);
    const login = form.username === "" ? {} : { username: form.username, password: form.password };
    const saved = await act(`${form.name} is added`, `${form.name} could not be added`, () => clusters.put(form.name.trim(), { url: form.url.trim(), ...login }));
    setBusy(false);
    if (saved) onDone();
  };
  const field = (key: keyof typeof form, label: string, hint: string, type = "text") => (
    <div className="field">
      <label htmlFor={`${id}${key}`} style={{ fontWeight: 600 }}>{label}</label>
      <input id={`${id}${key}`} className="input" type={type} autoComplete={type === "password" ? "new-password" : "off"} spellCheck={false} value={form[key]} onChange={set(key)} aria-invalid={key === "name" && clash} />
      {key === "name" && clash ? <span className="msg bad"><Icon name="cross" />there is such a cluster already</span> : <span className="doc">{hint}</span>}
    </div>
  );
  return (
    <form className="card" onSubmit={(event) => { event.preventDefault(); void save(); }}>
      <div className="card-head"><h2>Add a Kafka Connect cluster</h2></div>
      <div className="card-body stack-l">
        <div className="form-grid">
          {field("name", "Name", "What it is called here.")}
          {field("url", "REST URL", "One of its workers, such as http://connect:8083")}
          {field("username", "User", "Only where its API asks for one.")}
          {field("password", "Password", "Kept in the log, never shown again.", "password")}
        </div>
        <div className="actions">
          <button type="button" className="btn" onClick={onCancel}>Cancel</button>
          <button type="submit" className="btn primary" disabled={busy || clash || form.name.trim() === "" || form.url.trim() === ""}>{busy ? "Adding…" : "Add"}</button>
        </div>
      </div>
    </form>
  );
}

function ClusterCard({ cluster, reload }: { cluster: Cluster; reload: () => void }) {
  const act = useAct();
  const [removing, setRemoving] = useState(false);
  const { name } = cluster;
  const told = useResource(cluster.message === null ? `cluster ${name}` : null, () => clusters.connectors(name), EVERY_MS);
  const rows = told.data ? remoteConnectors(told.data) : undefined;
  return (
    <section className="card" aria-label={`Cluster ${name}`}>
      <div className="card-head">
        <h2 className="grow wrap">{name} <span className="muted small" style={{ fontWeight: 400 }}>{cluster.url}</span></h2>
        {cluster.version !== null && <span className="tag">Kafka Connect {cluster.version}</span>}
        <button type="button" className="btn ghost icon-only danger" aria-label={`Forget ${name}`} title="Forget" onClick={() => setRemoving(true)}><Icon name="trash" /></button>
      </div>
      {cluster.message !== null ? <div className="card-body"><Callout tone="bad" title="It does not answer"><p className="wrap">{cluster.message}</p></Callout></div>
        : told.error && !rows ? <div className="card-body"><LoadError error={told.error} what="Its connectors" retry={told.reload} /></div>
        : !rows ? <Loading />
        : rows.length === 0 ? <div className="card-body muted">It has no connectors.</div>
        : (
          <div className="table-wrap">
            <table>
              <thead><tr><th>Connector</th><th>State</th><th className="num hide-s">Tasks</th><th className="hide-s">Class</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>{rows.map((row) => <RemoteRow key={row.name} cluster={name} row={row} reload={told.reload} />)}</tbody>
            </table>
          </div>
        )}
      {removing && (
        <ConfirmDelete what="cluster" verb="Forget" name={name} onClose={() => setRemoving(false)} onConfirm={async () => {
          const gone = await act(`${name} is forgotten`, `${name} could not be forgotten`, () => clusters.remove(name));
          if (gone) reload();
          return gone;
        }}>
          <p>It is no longer listed here. The cluster and its connectors go on as they are.</p>
        </ConfirmDelete>
      )}
    </section>
  );
}

function RemoteRow({ cluster, row, reload }: { cluster: string; row: RemoteConnector; reload: () => void }) {
  const act = useAct();
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const run = async (verb: string, done: string, call: () => Promise<unknown>) => {
    setBusy(true);
    const worked = await act(`${row.name} is ${done}`, `${row.name}: ${verb} failed`, call);
    setBusy(false);
    reload();
    return worked;
  };
  const button = (title: string, icon: IconName, onClick: () => void, danger = false) => (
    <button type="button" className={`btn ghost icon-only ${danger ? "danger" : ""}`} disabled={busy} title={title} aria-label={`${title} ${row.name}`} onClick={onClick}><Icon name={icon} /></button>
  );
  const resting = row.state === "PAUSED" || row.state === "STOPPED";
  return (
    <>
      <tr>
        <td><button type="button" className="btn ghost name" style={{ flexWrap: "nowrap", textAlign: "left" }} aria-expanded={open} onClick={() => setOpen(!open)}><Icon name={open ? "down" : "right"} />{row.name}</button></td>
        <td><State state={row.state} /></td>
        <td className="num hide-s">{row.running} of {row.tasks}</td>
        <td className="hide-s wrap">{row.class}</td>
        <td>
          <div className="row" style={{ gap: 0, flexWrap: "nowrap", justifyContent: "flex-end" }}>
            {resting ? button("Resume", "play", () => void run("resume", "resumed", () => clusters.act(cluster, row.name, "resume"))) : button("Pause", "pause", () => void run("pause", "paused", () => clusters.act(cluster, row.name, "pause")))}
            {button("Restart", "restart", () => void run("restart", "restarted", () => clusters.restart(cluster, row.name)))}
            {button("Delete", "trash", () => setDeleting(true), true)}
          </div>
          {deleting && (
            <ConfirmDelete what="connector" name={row.name} onClose={() => setDeleting(false)} onConfirm={() => run("delete", "deleted", () => clusters.delete(cluster, row.name))}>
              <p>It is deleted in the cluster {cluster}: its configuration is lost there and its tasks end.</p>
            </ConfirmDelete>
          )}
        </td>
      </tr>
      {open && (
        <tr><td colSpan={5}>
          <div className="stack-l" style={{ padding: "8px 0" }}>
            {row.trace !== null && <Code text={row.trace} label="cause" />}
            <Code text={JSON.stringify(row.config, null, 2)} label="configuration" />
          </div>
        </td></tr>
      )}
    </>
  );
}
