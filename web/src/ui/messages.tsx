// A topic's records as they arrive: decoded, filtered, paused, each with its before and after.
import { useEffect, useMemo, useRef, useState } from "react";
import { topics } from "../api/client";
import type { Decoded, Message } from "../api/model";
import { diffRows } from "../logic/diff";
import { clock, inline, instant, plural } from "../logic/format";
import { Icon } from "./icons";
import { Code, Empty, LoadError, Loading, Search, Segmented } from "./parts";

const KEEP = 300;
const OPS: Record<string, string> = { c: "insert", u: "update", d: "delete", r: "snapshot", t: "truncate", m: "message" };

type From = "latest" | "earliest";

const idOf = (message: Message) => `${message.partition}-${message.offset}`;

function useMessages(topic: string, from: From, paused: boolean) {
  const [rows, setRows] = useState<Message[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [waiting, setWaiting] = useState(0);
  const held = useRef<Message[]>([]);
  const hold = useRef(paused);
  hold.current = paused;
  const add = (fresh: readonly Message[]) =>
    setRows((old) => {
      const seen = new Set((old ?? []).map(idOf));
      const news = fresh.filter((message) => !seen.has(idOf(message)));
      return [...news.reverse(), ...(old ?? [])].slice(0, KEEP);
    });
  useEffect(() => {
    let stopped = false;
    let stream: EventSource | undefined;
    let flush: ReturnType<typeof setInterval> | undefined;
    setRows(null);
    setError(null);
    held.current = [];
    setWaiting(0);
    topics.messages(topic, from, 100).then(
      (records) => {
        if (stopped) return;
        const ordered = [...records].sort((a, b) => a.timestamp_ms - b.timestamp_ms || a.offset - b.offset);
        setRows((from === "latest" ? ordered.reverse() : ordered).slice(0, KEEP));
        if (from === "earliest") return;
        stream = new EventSource(topics.streamUrl(topic));
        stream.addEventListener("record", (event: MessageEvent<string>) => {
          held.current.push(JSON.parse(event.data) as Message);
          if (held.current.length > KEEP) held.current.splice(0, held.current.length - KEEP);
        });
        // Few repaints, whatever the rate.
        flush = setInterval(() => {
          setWaiting(hold.current ? held.current.length : 0);
          if (hold.current || held.current.length === 0) return;
          add(held.current);
          held.current = [];
        }, 400);
      },
      (problem: Error) => !stopped && setError(problem),
    );
    return () => {
      stopped = true;
      stream?.close();
      clearInterval(flush);
    };
  }, [topic, from]);
  return { rows, error, waiting };
}

export function Messages({ topic }: { topic: string }) {
  const [from, setFrom] = useState<From>("latest");
  const [paused, setPaused] = useState(false);
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState<string | null>(null);
  const { rows, error, waiting } = useMessages(topic, from, paused || open !== null);
  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return rows;
    return rows?.filter((message) => {
      const text = `${OPS[message.op ?? ""] ?? ""} ${inline(message.key.data)} ${inline(message.value.data)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [rows, filter]);
  const live = from === "latest";
  const held = live && (paused || open !== null);
  return (
    <div className="card">
      <div className="card-head">
        <Segmented label="Which records" value={from} onChange={(next) => { setFrom(next); setOpen(null); }} options={[{ id: "latest", title: "Live" }, { id: "earliest", title: "From the beginning" }]} />
        {live && <button type="button" className="btn" aria-pressed={paused} onClick={() => setPaused(!paused)}><Icon name={paused ? "play" : "pause"} />{paused ? "Go on" : "Pause"}</button>}
        <span className="grow muted small" aria-live="polite" style={{ minWidth: 90 }}>{held ? `${waiting >= KEEP ? `${KEEP}+` : waiting} waiting${open !== null && !paused ? " while one is open" : ""}` : ""}</span>
        <Search value={filter} onChange={setFilter} label="Filter by any text" />
      </div>
      {error ? <div className="card-body"><LoadError what="Messages" error={error} /></div>
        : shown === null || shown === undefined ? <Loading lines={6} />
        : shown.length === 0 ? <Empty icon="eye" title={filter ? "No record has this text" : "No records yet"}>{filter ? `Of the ${rows?.length ?? 0} records loaded. New ones are looked at as they arrive.` : "Change a row in the source and it appears here."}</Empty>
        : (
          <div className="messages">
            {shown.map((message) => {
              const id = idOf(message);
              return <Row key={id} message={message} open={open === id} onToggle={() => setOpen(open === id ? null : id)} />;
            })}
          </div>
        )}
      {shown && shown.length > 0 && <div className="small muted" style={{ padding: "8px 14px", borderTop: "1px solid var(--border)" }}>{plural(shown.length, "record")}{rows && rows.length >= KEEP ? `, the last ${KEEP} are kept` : ""}</div>}
    </div>
  );
}

const bare = (value: unknown) => inline(value).replace(/^\{|\}$/g, "").replaceAll('"', "");

function Row({ message, open, onToggle }: { message: Message; open: boolean; onToggle: () => void }) {
  const op = message.tombstone ? "x" : (message.op ?? "");
  const word = message.tombstone ? "tombstone" : (OPS[op] ?? message.value.format);
  const image = message.op === "d" ? message.before : (message.after ?? message.value.data);
  return (
    <div className="message">
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <Icon name={open ? "down" : "right"} />
        <span className={`op ${op}`}>{word}</span>
        <span className="cell muted m-hide" title={instant(message.timestamp_ms)}>{clock(message.timestamp_ms)}</span>
        <span className="cell mono muted m-hide" title={`partition ${message.partition}, offset ${message.offset}`}>{message.partition}:{message.offset}</span>
        <span className="cell mono">{bare(message.key.data)}</span>
        <span className="cell mono muted m-hide">{message.tombstone ? "the key is gone" : bare(image)}</span>
      </button>
      {open && <Detail message={message} />}
    </div>
  );
}

const cellText = (value: unknown) => (value === undefined ? null : value === null ? "null" : inline(value));

function Detail({ message }: { message: Message }) {
  const change = !message.tombstone && message.op !== null && (message.before !== undefined || message.after !== undefined);
  const [view, setView] = useState<"change" | "value">(change ? "change" : "value");
  const asRow = (value: unknown) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null);
  const before = asRow(message.before);
  const after = asRow(message.after);
  const diff = diffRows(before, after);
  const both = before !== null && after !== null;
  const changed = both ? diff.filter((field) => field.change !== "same").length : 0;
  return (
    <div className="detail">
      <div className="row">
        {change && <Segmented label="View" value={view} onChange={setView} options={[{ id: "change", title: "Before and after" }, { id: "value", title: "Whole record" }]} />}
        <span className="small muted wrap">partition {message.partition}, offset {message.offset}, {instant(message.timestamp_ms)}{schemaText("key", message.key)}{schemaText("value", message.value)}{view === "change" && both && `, ${plural(changed, "field")} changed`}</span>
      </div>
      {view === "change" ? (
        <div className="diff" tabIndex={0} role="region" aria-label="Before and after">
          <table>
            <thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead>
            <tbody>
              {diff.map((field) => (
                <tr key={field.name} className={both ? field.change : field.change === "added" ? "added" : "removed"}>
                  <td>{field.name}{both && field.change !== "same" && <span className="sr"> ({field.change})</span>}</td>
                  <td className="before">{cellText(field.before) ?? <span className="none">none</span>}</td>
                  <td className="after">{cellText(field.after) ?? <span className="none">none</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <>
          <div className="stack"><h3>Key</h3><Code text={JSON.stringify(message.key.data ?? null, null, 2)} label="key" /></div>
          <div className="stack"><h3>Value</h3><Code text={message.tombstone ? "null" : JSON.stringify(message.value.data ?? null, null, 2)} label="value" /></div>
          {message.headers.length > 0 && <div className="stack"><h3>Headers</h3><dl className="facts">{message.headers.map((header, index) => <div key={index} style={{ display: "contents" }}><dt className="mono">{header.key}</dt><dd className="mono">{header.value ?? "null"}</dd></div>)}</dl></div>}
        </>
      )}
    </div>
  );
}

const schemaText = (what: string, decoded: Decoded) => (decoded.schema_id === null ? "" : `, ${what} schema ${decoded.schema_id}`);
