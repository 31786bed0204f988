// Chooses tables out of the live database, and topics out of the log.
import { useState } from "react";
import { tables as loadTables } from "../api/client";
import { useLive } from "../api/live";
import type { SourceTable } from "../api/model";
import { bytes, count, plural } from "../logic/format";
import { type Config, includeList, isIncluded } from "../logic/form";
import { Icon } from "./icons";
import { Callout, Search, Segmented } from "./parts";

export function TablePicker({ name, config, value, onChange }: { name: string; config: Config; value: string; onChange: (value: string) => void }) {
  const [tables, setTables] = useState<SourceTable[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [search, setSearch] = useState("");
  const load = async () => {
    setBusy(true);
    setError(null);
    try {
      setTables(await loadTables(name, { ...config, "table.include.list": "" }));
    } catch (problem) {
      setTables(null);
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  const picked = (tables ?? []).filter((table) => isIncluded(value, table.name)).map((table) => table.name);
  const shown = (tables ?? []).filter((table) => table.name.toLowerCase().includes(search.toLowerCase()));
  const toggle = (table: string, on: boolean) => onChange(includeList(on ? [...picked, table] : picked.filter((one) => one !== table)));
  return (
    <section className="card">
      <div className="card-head">
        <h2 className="grow">Tables <span className="count">{value === "" ? "all that the user may read" : tables ? `${picked.length} of ${tables.length}` : "as listed"}</span></h2>
        <button type="button" className="btn" disabled={busy} onClick={() => void load()}><Icon name={tables ? "restart" : "database"} />{busy ? "Asking the database…" : tables ? "Load again" : "Load tables"}</button>
      </div>
      <div className="card-body stack">
        {error && <Callout tone="bad" title="The tables could not be read"><p className="wrap" style={{ whiteSpace: "pre-line" }}>{error}</p></Callout>}
        {tables && tables.length === 0 && <Callout tone="warn" title="The database shows no tables to this user">Grant it the right to read them, then load again.</Callout>}
        {tables && tables.length > 0 && (
          <>
            <div className="row">
              <Search value={search} onChange={setSearch} label="Search tables" />
              <span className="grow" />
              <button type="button" className="btn small-btn" onClick={() => onChange(includeList([...new Set([...picked, ...shown.map((table) => table.name)])]))}>Choose {search ? "these" : "all"}</button>
              <button type="button" className="btn small-btn" onClick={() => onChange("")}>Clear</button>
            </div>
            <ul className="pick-list" aria-label="Tables">
              {shown.map((table) => (
                <li key={table.name}>
                  <label className="check grow wrap"><input type="checkbox" checked={picked.includes(table.name)} onChange={(event) => toggle(table.name, event.target.checked)} />{table.name}</label>
                  {table.key.length === 0 && <span className="tag">no key</span>}
                  <span className="small muted nowrap">{plural(table.columns.length, "column")} · {table.rows === null ? "rows unknown" : `about ${count(table.rows)} rows`} · {bytes(table.bytes)}</span>
                  {picked.includes(table.name) && table.issues.map((issue) => <span key={issue.message} className={`msg ${issue.severity === "error" ? "bad" : "warn"}`} style={{ flexBasis: "100%" }}><Icon name="warn" />{issue.message}{issue.remedy && `. ${issue.remedy}`}</span>)}
                </li>
              ))}
              {shown.length === 0 && <li className="muted">No table is called so.</li>}
            </ul>
          </>
        )}
        <div className="field">
          <div className="field-label"><label htmlFor="include">Which tables</label><code>table.include.list</code></div>
          <input id="include" className="input mono" spellCheck={false} autoComplete="off" placeholder="empty: all tables" value={value} onChange={(event) => onChange(event.target.value)} />
          <span className="doc">Regular expressions, separated by commas, each for a whole <code>schema.table</code>, for example <code>public\..*</code></span>
        </div>
      </div>
    </section>
  );
}

export function TopicPicker({ topics, regex, onChange }: { topics: string; regex: string; onChange: (topics: string, regex: string) => void }) {
  const { snapshot } = useLive();
  const [mode, setMode] = useState<"topics" | "regex">(regex ? "regex" : "topics");
  const [search, setSearch] = useState("");
  const all = (snapshot?.topics ?? []).filter((topic) => !topic.internal);
  const picked = topics.split(",").map((topic) => topic.trim()).filter(Boolean);
  const shown = all.filter((topic) => topic.name.toLowerCase().includes(search.toLowerCase()));
  const matching = all.filter((topic) => isIncluded(regex, topic.name));
  const toggle = (topic: string, on: boolean) => onChange((on ? [...picked, topic] : picked.filter((one) => one !== topic)).join(","), "");
  return (
    <section className="card">
      <div className="card-head">
        <h2 className="grow">Topics <span className="count">{mode === "topics" ? `${picked.length} chosen` : regex ? `${matching.length} match now` : ""}</span></h2>
        <Segmented label="How to choose topics" value={mode} onChange={(next) => { setMode(next); onChange(next === "topics" ? topics : "", next === "regex" ? regex : ""); }} options={[{ id: "topics", title: "Choose" }, { id: "regex", title: "By pattern" }]} />
      </div>
      <div className="card-body stack">
        {mode === "regex" ? (
          <>
            <div className="field">
              <div className="field-label"><label htmlFor="regex">Pattern</label><code>topics.regex</code></div>
              <input id="regex" className="input mono" spellCheck={false} autoComplete="off" placeholder="fulfillment\.public\..*" value={regex} onChange={(event) => onChange("", event.target.value)} />
              <span className="doc">A regular expression for the whole name. Topics that come later and match are taken too.</span>
            </div>
            {regex && <p className="small muted wrap">{matching.length > 0 ? `Now: ${matching.map((topic) => topic.name).join(", ")}` : "No topic matches now."}</p>}
          </>
        ) : all.length === 0 ? <p className="muted">There are no topics yet. Add a source first, or choose by pattern.</p> : (
          <>
            <div className="row"><Search value={search} onChange={setSearch} label="Search topics" /><span className="grow" /><button type="button" className="btn small-btn" onClick={() => onChange([...new Set([...picked, ...shown.map((topic) => topic.name)])].join(","), "")}>Choose {search ? "these" : "all"}</button><button type="button" className="btn small-btn" onClick={() => onChange("", "")}>Clear</button></div>
            <ul className="pick-list" aria-label="Topics">
              {shown.map((topic) => (
                <li key={topic.name}><label className="check grow wrap"><input type="checkbox" checked={picked.includes(topic.name)} onChange={(event) => toggle(topic.name, event.target.checked)} />{topic.name}</label><span className="small muted nowrap">{plural(topic.records, "record")} · {bytes(topic.bytes)}</span></li>
              ))}
              {shown.length === 0 && <li className="muted">No topic is called so.</li>}
            </ul>
          </>
        )}
      </div>
    </section>
  );
}
