// A connector's configuration and offsets: seen, edited, checked.
import { useState } from "react";
import { ApiError, check, connectors } from "../api/client";
import type { Connector, ConnectorType, Issue, OffsetEntry } from "../api/model";
import { type Config, isMasked, looksSecret, parseRaw } from "../logic/form";
import { inline } from "../logic/format";
import { Icon } from "./icons";
import { Callout, Code, ConfirmDelete, CopyButton, Empty, Issues, Search } from "./parts";
import { useAct, useToast } from "./toast";

export function ConfigTab({ name, config, type, className, onSaved }: { name: string; config: Config; type: ConnectorType; className: string; onSaved: () => void }) {
  const [editing, setEditing] = useState<string | null>(null);
  const [issues, setIssues] = useState<Issue[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState<"check" | "save" | null>(null);
  const [search, setSearch] = useState("");
  const toast = useToast();
  if (editing === null) {
    const rows = Object.entries(config).filter(([key, value]) => `${key} ${value}`.toLowerCase().includes(search.toLowerCase()));
    return (
      <div className="card">
        <div className="card-head">
          <Search value={search} onChange={setSearch} label="Search keys" /><span className="grow" />
          <CopyButton text={JSON.stringify({ name, config }, null, 2)} label="Copy as JSON" />
          <button type="button" className="btn" onClick={() => setEditing(JSON.stringify(config, null, 2))}>Edit</button>
        </div>
        <div className="table-wrap">
          <table>
            <thead><tr><th>Key</th><th>Value</th></tr></thead>
            <tbody>
              {rows.map(([key, value]) => (
                <tr key={key}>
                  <td className="mono wrap">{key}</td>
                  <td className="mono wrap">{looksSecret(key) && isMasked(value) ? <span className="muted" title="The server keeps it to itself">••••••••<span className="sr"> hidden</span></span> : value || <span className="muted">empty</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
    );
  }
  const parsed = parseRaw(editing);
  const error = "error" in parsed ? parsed.error : null;
  const run = async (what: "check" | "save") => {
    if ("error" in parsed) return;
    setBusy(what);
    setFailure(null);
    try {
      if (what === "check") setIssues(await check(name, parsed.config));
      else {
        await connectors.put(name, parsed.config);
        toast.ok(`The configuration of ${name} is saved`, "The connector starts again with it.");
        onSaved();
        setEditing(null);
        setIssues(null);
      }
    } catch (problem) {
      setFailure(problem instanceof ApiError ? problem.message : String(problem));
    }
    setBusy(null);
  };
  return (
    <div className="card">
      <div className="card-body stack-l">
        <p className="muted prose">All keys of this {type} ({className}). A value shown as <code>********</code> is a secret that stays as it is; write a new one over it to change it.</p>
        <div className="field">
          <label className="sr" htmlFor="config-json">Configuration as JSON</label>
          <textarea id="config-json" className="area" rows={Math.min(26, editing.split("\n").length + 2)} spellCheck={false} value={editing} aria-invalid={error !== null} aria-describedby="config-error" onChange={(event) => { setEditing(event.target.value); setIssues(null); }} />
          <div id="config-error">{error && <div className="msg bad"><Icon name="cross" />{error}</div>}</div>
        </div>
        {failure && <Callout tone="bad" title="The server refused it"><p className="wrap" style={{ whiteSpace: "pre-line" }}>{failure}</p></Callout>}
        {issues && (issues.length === 0 ? <Callout tone="ok" title="Nothing is wrong with it" /> : <Issues issues={issues} />)}
      </div>
      <div className="sticky-foot">
        <button type="button" className="btn primary" disabled={error !== null || busy !== null} onClick={() => void run("save")}>{busy === "save" ? "Saving…" : "Save"}</button>
        <button type="button" className="btn" disabled={error !== null || busy !== null} onClick={() => void run("check")}>{busy === "check" ? "Checking…" : "Check"}</button>
        <button type="button" className="btn ghost" disabled={busy !== null} onClick={() => { setEditing(null); setIssues(null); setFailure(null); }}>Cancel</button>
      </div>
    </div>
  );
}

export function OffsetsTab({ connector, offsets, onChanged }: { connector: Connector; offsets: OffsetEntry[]; onChanged: () => void }) {
  const act = useAct();
  const [resetting, setResetting] = useState(false);
  const stopped = connector.state === "STOPPED";
  if (offsets.length === 0) {
    return <div className="card"><Empty icon="database" title="No offsets yet">{connector.type === "sink" ? "They appear with the first rows that the target has acknowledged." : "They appear with the first rows that are safe in the log."}</Empty></div>;
  }
  const pairs = (map: Record<string, unknown>) => Object.entries(map).map(([key, value]) => `${key}=${inline(value)}`).join("  ");
  return (
    <div className="card">
      <div className="card-head">
        <span className="grow muted small">{stopped ? "It is stopped: offsets can be reset." : "Offsets can be reset while it is stopped."}</span>
        <CopyButton text={JSON.stringify({ offsets }, null, 2)} label="Copy as JSON" />
        <button type="button" className="btn danger" disabled={!stopped} title={stopped ? undefined : "Stop the connector first"} onClick={() => setResetting(true)}>Reset offsets</button>
      </div>
      <div className="table-wrap">
        <table>
          <thead><tr><th>Partition</th><th>Offset</th></tr></thead>
          <tbody>
            {offsets.map((entry, index) => (
              <tr key={index}>
                <td className="mono wrap">{pairs(entry.partition)}</td>
                <td className="mono wrap">{entry.offset ? <OffsetValue text={pairs(entry.offset)} /> : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {resetting && (
        <ConfirmDelete what="offsets of" verb="Reset" name={connector.name} onClose={() => setResetting(false)} onConfirm={async () => {
          const done = await act("The offsets are reset", "The offsets could not be reset", () => connectors.resetOffsets(connector.name));
          if (done) onChanged();
          return done;
        }}>
          <p>{connector.type === "sink" ? "It begins again at the start of its topics and delivers every record once more." : "It begins anew as its snapshot mode says; changes made meanwhile that are no longer in the database's log are not captured."}</p>
        </ConfirmDelete>
      )}
    </div>
  );
}

function OffsetValue({ text }: { text: string }) {
  return text.length > 240 ? <details><summary>{text.slice(0, 120)}…</summary><Code text={text} label="offset" /></details> : text;
}
