// One subject's versions: fields, text, and what changed between two.
import { useState } from "react";
import type { SchemaVersion } from "../api/model";
import { diffLines } from "../logic/diff";
import { inline } from "../logic/format";
import { pretty, schemaFields } from "../logic/schema";
import { Code, Segmented } from "./parts";

type View = "fields" | "text" | "diff";

export function SchemaVersions({ versions }: { versions: readonly SchemaVersion[] }) {
  const sorted = [...versions].sort((a, b) => b.version - a.version);
  const [version, setVersion] = useState<number | null>(null);
  const [base, setBase] = useState<number | null>(null);
  const [view, setView] = useState<View>("fields");
  const shown = sorted.find((one) => one.version === version) ?? sorted[0];
  if (!shown) return null;
  const older = sorted.find((one) => one.version === base) ?? sorted[sorted.indexOf(shown) + 1] ?? sorted.at(-1)!;
  const select = (label: string, value: number, onChange: (version: number) => void) => (
    <select className="select" style={{ width: "auto" }} aria-label={label} value={value} onChange={(event) => onChange(Number(event.target.value))}>
      {sorted.map((one, index) => <option key={one.version} value={one.version}>version {one.version}{index === 0 ? " (latest)" : ""}</option>)}
    </select>
  );
  return (
    <div className="card">
      <div className="card-head">
        {view === "diff" && <>{select("Older version", older.version, setBase)}<span className="muted">to</span></>}
        {select("Version", shown.version, setVersion)}
        <span className="muted small grow">schema id <span className="mono">{shown.id}</span></span>
        <Segmented label="View" value={view} onChange={setView} options={[{ id: "fields", title: "Fields" }, { id: "text", title: "Text" }, ...(sorted.length > 1 ? [{ id: "diff" as const, title: "Changes" }] : [])]} />
      </div>
      {view === "fields" && <Fields text={shown.schema} />}
      {view === "text" && <div className="card-body"><Code text={pretty(shown.schema)} label="schema" /></div>}
      {view === "diff" && <div className="card-body"><SchemaDiff before={older.schema} after={shown.schema} /></div>}
    </div>
  );
}

function Fields({ text }: { text: string }) {
  const fields = schemaFields(text);
  if (fields.length === 0) return <div className="card-body"><Code text={pretty(text)} label="schema" /></div>;
  return (
    <div className="table-wrap">
      <table className="fields">
        <thead><tr><th>Field</th><th>Type</th><th className="hide-s">Meaning</th><th>May be null</th><th className="hide-s">Default</th></tr></thead>
        <tbody>
          {fields.map((field, index) => (
            <tr key={index}>
              <td className="mono" style={{ paddingLeft: 12 + field.depth * 20, fontWeight: field.type === "record" ? 600 : 400 }}>{field.name}</td>
              <td className="mono">{field.type}</td>
              <td className="mono muted hide-s wrap">{field.semantic ?? ""}</td>
              <td className="muted">{field.optional ? "yes" : "no"}</td>
              <td className="mono muted hide-s">{field.default === undefined ? "" : inline(field.default)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SchemaDiff({ before, after }: { before: string; after: string }) {
  const lines = diffLines(pretty(before), pretty(after));
  const changed = lines.filter((line) => line.mark !== " ").length;
  // Unchanged stretches are folded to three lines around each change.
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - 3), index + 4).some((line) => line.mark !== " "));
  return (
    <div className="stack">
      <span className="small muted">{changed === 0 ? "The two are equal." : `${lines.filter((line) => line.mark === "+").length} lines added, ${lines.filter((line) => line.mark === "-").length} removed`}</span>
      {changed > 0 && (
        <div className="lines" tabIndex={0} role="region" aria-label="Changes between the versions">
          {lines.map((line, index) =>
            near[index] ? <div key={index} className={line.mark === "+" ? "add" : line.mark === "-" ? "del" : ""} data-mark={line.mark}>{line.text || " "}</div>
              : near[index - 1] ? <div key={index} data-mark="" style={{ color: "var(--text-3)" }}>⋯</div> : null,
          )}
        </div>
      )}
    </div>
  );
}
