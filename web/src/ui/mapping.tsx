// What a sink would do with a topic's records, before anything is written.
import { useState } from "react";
import { preview } from "../api/client";
import { useLive } from "../api/live";
import type { Preview } from "../api/model";
import { type Config, isIncluded } from "../logic/form";
import { Icon } from "./icons";
import { Callout, Code, Issues } from "./parts";

export function MappingPreview({ config, topics, regex }: { config: Config; topics: string; regex: string }) {
  const { snapshot } = useLive();
  const names = regex
    ? (snapshot?.topics ?? []).filter((topic) => !topic.internal && isIncluded(regex, topic.name)).map((topic) => topic.name)
    : topics.split(",").map((topic) => topic.trim()).filter(Boolean);
  const [topic, setTopic] = useState<string | null>(null);
  const [shown, setShown] = useState<{ topic: string; preview?: Preview; error?: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const chosen = topic !== null && names.includes(topic) ? topic : names[0];
  const load = async (name: string) => {
    setBusy(true);
    try {
      setShown({ topic: name, preview: await preview(config, name) });
    } catch (problem) {
      setShown({ topic: name, error: problem instanceof Error ? problem.message : String(problem) });
    }
    setBusy(false);
  };
  return (
    <section className="card">
      <div className="card-head">
        <h2 className="grow">Mapping</h2>
        {names.length > 1 && <select className="select" style={{ width: "auto", maxWidth: "100%" }} aria-label="Topic to preview" value={chosen} onChange={(event) => { setTopic(event.target.value); void load(event.target.value); }}>{names.map((name) => <option key={name}>{name}</option>)}</select>}
        <button type="button" className="btn" disabled={busy || chosen === undefined} onClick={() => chosen && void load(chosen)}><Icon name="eye" />{busy ? "Asking the target…" : "Preview"}</button>
      </div>
      {shown === null && <p className="card-body muted">{chosen === undefined ? "Choose a topic, and see here how its fields become columns." : "See how each field becomes a column, and what would be made in the target. Nothing is changed."}</p>}
      {shown?.error && <div className="card-body"><Callout tone="bad" title={`${shown.topic} cannot be previewed`}><p className="wrap" style={{ whiteSpace: "pre-line" }}>{shown.error}</p></Callout></div>}
      {shown?.preview && <Mapping preview={shown.preview} />}
    </section>
  );
}

function Mapping({ preview }: { preview: Preview }) {
  return (
    <>
      <div className="card-body stack">
        <p className="wrap"><span className="muted">Table</span> <strong className="mono">{preview.table}</strong> <span className="tag">{preview.exists ? "exists, is honoured" : "will be made"}</span></p>
        {preview.issues.length > 0 && <Issues issues={preview.issues} />}
      </div>
      <div className="table-wrap" style={{ borderTop: "1px solid var(--border)" }}>
        <table className="fields">
          <thead><tr><th>Field</th><th className="hide-s">Type</th><th>Column</th><th>Column type</th></tr></thead>
          <tbody>
            {preview.columns.map((column, index) => (
              <tr key={index}>
                <td className="mono wrap">{column.field || <span className="muted">by Lattice</span>}</td><td className="mono muted hide-s">{column.field_type}</td>
                <td className="mono wrap">{column.column || <span className="state warn">not mapped</span>}</td><td className="mono muted wrap">{column.column_type}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {preview.statements.length > 0 && <details className="card-body"><summary className="muted">Statements that would run first ({preview.statements.length})</summary><Code text={preview.statements.join(";\n\n")} label="statements" /></details>}
    </>
  );
}
