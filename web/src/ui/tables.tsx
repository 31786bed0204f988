// A connector's tables: state, snapshot progress, counters.
import { useState } from "react";
import { useLive } from "../api/live";
import type { Connector, Table } from "../api/model";
import { ago, bytes, count, exact, instant, rate } from "../logic/format";
import { look } from "../logic/state";
import { Empty, Name, Progress, Search, State } from "./parts";

export function TablesCard({ connector }: { connector: Connector }) {
  const live = useLive();
  const [search, setSearch] = useState("");
  const tables = connector.tasks.flatMap((task) => task.tables);
  if (tables.length === 0) {
    const why = connector.state === "STOPPED" ? "A stopped connector reports no tables. Resume it and they come back." : "They are listed as soon as the connector has seen them.";
    return <div className="card"><Empty icon="database" title="No tables yet">{why}</Empty></div>;
  }
  const rows = tables
    .filter((table) => table.name.toLowerCase().includes(search.toLowerCase()))
    .sort((a, b) => look(a.state).rank - look(b.state).rank || a.name.localeCompare(b.name));
  const source = connector.type !== "sink";
  const snapshotting = tables.filter((table) => table.state === "SNAPSHOTTING");
  const read = snapshotting.reduce((total, table) => total + table.snapshot_rows, 0);
  const expected = snapshotting.reduce((total, table) => total + table.snapshot_rows_expected, 0);
  return (
    <div className="card">
      {(tables.length > 8 || snapshotting.length > 0) && (
        <div className="card-head">
          <div className="grow muted">{snapshotting.length > 0 && <>Snapshot of {snapshotting.length} {snapshotting.length === 1 ? "table" : "tables"}: {count(read)}{expected > 0 && ` of about ${count(expected)}`} rows</>}</div>
          {tables.length > 8 && <Search value={search} onChange={setSearch} label="Search tables" />}
        </div>
      )}
      <div className="table-wrap">
        <table>
          <thead>
            <tr>
              <th>Table</th><th className="hide-s">State</th>{source && <th style={{ minWidth: 130 }}>Snapshot</th>}
              <th className="num">{source ? "Changes" : "Rows written"}</th><th className="num hide-s">Rows/s</th><th className="num hide-s">Bytes</th><th className="num hide-s">Errors</th><th className="num hide-s">Last change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((table) => (
              <tr key={table.name}>
                <td><span className="name wrap"><Name text={table.name} /></span><div className="show-s"><State state={table.state} /></div>{table.message && <div className="small wrap" style={{ color: table.state === "FAILED" ? "var(--bad)" : "var(--warn)" }}>{table.message}</div>}</td>
                <td className="hide-s"><State state={table.state} /></td>
                {source && <td><Snapshot table={table} /></td>}
                <td className="num" title={exact(table.events)}>{exact(table.events)}</td>
                <td className="num hide-s">{rate(live.tableRates.get(`${connector.name}\n${table.name}`))}</td>
                <td className="num hide-s" title={exact(table.bytes)}>{bytes(table.bytes)}</td>
                <td className="num hide-s" style={table.errors > 0 ? { color: "var(--bad)", fontWeight: 600 } : undefined}>{exact(table.errors)}</td>
                <td className="num hide-s" title={instant(table.last_event_ms)}>{ago(table.last_event_ms, live.snapshot?.at_ms ?? Date.now())}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Snapshot({ table }: { table: Table }) {
  const active = table.state === "SNAPSHOTTING";
  if (!active && table.snapshot_rows === 0) return <span className="muted small">none in this run</span>;
  const known = table.snapshot_rows_expected > 0 || table.snapshot_chunks_expected > 0;
  const [value, max] = table.snapshot_rows_expected > 0 ? [table.snapshot_rows, table.snapshot_rows_expected] : [table.snapshot_chunks, table.snapshot_chunks_expected];
  // The expected number is an estimate: a running snapshot is never shown as complete.
  const shown = active ? Math.min(value, max * 0.99) : 1;
  return (
    <div className="stack" style={{ gap: 3, padding: "3px 0" }}>
      {(known || !active) && <Progress value={shown} max={active ? max : 1} label={`Snapshot of ${table.name}`} />}
      <span className="small muted" title={`${exact(table.snapshot_rows)} rows`}>
        {active ? `${count(table.snapshot_rows)}${table.snapshot_rows_expected > 0 ? ` of about ${count(table.snapshot_rows_expected)}` : ""} rows` : `done, ${count(table.snapshot_rows)} rows`}
        {active && table.snapshot_chunks_expected > 1 && ` · chunk ${table.snapshot_chunks} of ${table.snapshot_chunks_expected}`}
      </span>
    </div>
  );
}
