// The small parts that all pages are made of.
import { Fragment, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { exact, rate as rateText } from "../logic/format";
import { causeOf, look, sqlOf } from "../logic/state";
import type { Issue } from "../api/model";
import { Icon, type IconName, Mark } from "./icons";
import { useToast } from "./toast";

export function State({ state }: { state: string }) {
  const { word, tone, shape } = look(state);
  return (
    <span className={`state ${tone} ${shape === "pulse" ? "pulse" : ""}`}>
      <Mark shape={shape} tone={tone} />
      {word}
    </span>
  );
}

/** A dotted name that breaks after its dots rather than anywhere. */
export function Name({ text }: { text: string }) {
  return text.split(/(?<=[.-])/).map((part, index) => <Fragment key={index}>{index > 0 && <wbr />}{part}</Fragment>);
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const toast = useToast();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      toast.bad("The browser did not allow copying", "Select the text and copy it by hand.");
    }
  };
  return (
    <button type="button" className="btn ghost icon-only small-btn" onClick={() => void copy()} aria-label={done ? "Copied" : label} title={done ? "Copied" : label}>
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
}

export function Code({ text, label }: { text: string; label?: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} aria-label={label}>{text}</pre>
      <CopyButton text={text} label={label ? `Copy ${label}` : "Copy"} />
    </div>
  );
}

export function Callout({ tone, title, children }: { tone: "bad" | "warn" | "ok" | "info"; title: ReactNode; children?: ReactNode }) {
  const icons: Record<string, IconName> = { bad: "cross", warn: "warn", ok: "check", info: "info" };
  return (
    <div className={`callout ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icons[tone]!} />
      <div className="stack grow">
        <div className="title">{title}</div>
        {children}
      </div>
    </div>
  );
}

/** What went wrong, what to do, and the raw words on demand. */
export function Failure({ trace, title }: { trace: string; title: string }) {
  const cause = causeOf(trace);
  const sql = cause.remedy ? sqlOf(cause.remedy) : null;
  return (
    <Callout tone="bad" title={title}>
      <p className="wrap prose">{cause.message}</p>
      {cause.remedy && <p className="wrap prose"><strong>What to do: </strong>{cause.remedy}</p>}
      {sql && <Code text={sql} label="SQL" />}
      <details>
        <summary className="small muted">Raw message</summary>
        <Code text={trace} label="raw message" />
      </details>
    </Callout>
  );
}

export function Issues({ issues }: { issues: readonly Issue[] }) {
  return (
    <ul className="stack">
      {[...issues].sort((a, b) => a.severity.localeCompare(b.severity)).map((issue, index) => {
        const sql = issue.remedy ? sqlOf(issue.remedy) : null;
        return (
          <li key={index}>
            <Callout tone={issue.severity === "error" ? "bad" : "warn"} title={issue.message}>
              {issue.key && <code className="muted">{issue.key}</code>}
              {issue.remedy && (sql === issue.remedy ? <Code text={sql} label="SQL" /> : <><p className="wrap prose muted"><strong>What to do: </strong>{issue.remedy}</p>{sql && <Code text={sql} label="SQL" />}</>)}
            </Callout>
          </li>
        );
      })}
    </ul>
  );
}

/** Grey lines, only after a moment: what is fast never flickers. */
export function Loading({ lines = 4 }: { lines?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="skeleton" role="status" aria-label="Loading" style={{ visibility: shown ? "visible" : "hidden" }}>
      {Array.from({ length: lines }, (_, index) => <i key={index} style={{ width: `${92 - ((index * 17) % 45)}%` }} />)}
    </div>
  );
}

/** `page`: it stands for a whole page, whose heading its title is. */
export function Empty({ icon, title, children, action, page }: { icon: IconName; title: string; children?: ReactNode; action?: ReactNode; page?: boolean }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      {page ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

export function LoadError({ error, what, retry }: { error: Error; what: string; retry?: () => void }) {
  return (
    <Callout tone="bad" title={`${what} could not be loaded`}>
      <p className="wrap">{error.message}</p>
      {retry && <div><button type="button" className="btn" onClick={retry}><Icon name="restart" />Try again</button></div>}
    </Callout>
  );
}

export function Stat({ label, value, unit, sub, title, stale }: { label: string; value: ReactNode; unit?: string; sub?: ReactNode; title?: string; stale?: boolean }) {
  return (
    <div className={`stat ${stale ? "stale" : ""}`}>
      <dt>{label}</dt>
      <dd title={title}>{value}{unit && <span className="unit"> {unit}</span>}</dd>
      {sub && <dd className="sub" style={{ fontWeight: 400 }}>{sub}</dd>}
    </div>
  );
}

export function Tabs<T extends string>({ tabs, value, onChange, label }: { tabs: readonly { id: T; title: string; count?: number }[]; value: T; onChange: (id: T) => void; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const move = (step: number) => {
    const at = tabs.findIndex((tab) => tab.id === value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.id);
    box.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={box} onKeyDown={(event) => {
      if (event.key === "ArrowRight") move(1);
      if (event.key === "ArrowLeft") move(-1);
    }}>
      {tabs.map((tab) => (
        <button key={tab.id} type="button" role="tab" data-tab={tab.id} aria-selected={tab.id === value} tabIndex={tab.id === value ? 0 : -1} onClick={() => onChange(tab.id)}>
          {tab.title}{tab.count !== undefined && <span className="count">{exact(tab.count)}</span>}
        </button>
      ))}
    </div>
  );
}

export function Search({ value, onChange, label }: { value: string; onChange: (value: string) => void; label: string }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input className="input" type="search" placeholder={label} aria-label={label} value={value} data-search onChange={(event) => onChange(event.target.value)} />
    </div>
  );
}

export function Segmented<T extends string>({ value, onChange, options, label }: { value: T; onChange: (value: T) => void; options: readonly { id: T; title: string; icon?: IconName }[]; label: string }) {
  return (
    <div className="seg" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.id} type="button" aria-pressed={option.id === value} onClick={() => onChange(option.id)} title={option.icon ? option.title : undefined} aria-label={option.icon ? option.title : undefined}>
          {option.icon ? <Icon name={option.icon} /> : option.title}
        </button>
      ))}
    </div>
  );
}

/** The last two minutes of a rate. */
export function Spark({ values, wide, label }: { values: readonly number[]; wide?: boolean; label: string }) {
  const [width, height] = wide ? [600, 56] : [84, 22];
  const top = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = values.length < 2 ? width : (index / (values.length - 1)) * width;
    return `${x.toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg className={`spark ${wide ? "wide" : ""}`} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}: now ${rateText(values.at(-1) ?? 0)}, at most ${rateText(Math.max(...values, 0))}`}>
      {points.length > 1 && (
        <>
          <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} fill="currentColor" opacity="0.12" />
          <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" strokeLinejoin="round" />
        </>
      )}
    </svg>
  );
}

export function Progress({ value, max, label }: { value: number; max: number; label: string }) {
  const part = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div className={`bar ${part >= 1 ? "done" : ""}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(part * 100)}>
      <i style={{ width: `${part * 100}%` }} />
    </div>
  );
}

/** Asks before something is destroyed: says what is lost, and wants the name typed. */
export function ConfirmDelete({ what, name, children, onConfirm, onClose, verb = "Delete" }: { what: string; name: string; children: ReactNode; onConfirm: () => Promise<boolean>; onClose: () => void; verb?: string }) {
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const id = useId();
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const confirm = async () => {
    setBusy(true);
    if (await onConfirm()) onClose();
    else setBusy(false);
  };
  return (
    <dialog ref={box} onClose={onClose} aria-labelledby={`${id}t`}>
      <form className="body" onSubmit={(event) => { event.preventDefault(); if (typed === name && !busy) void confirm(); }}>
        <h2 id={`${id}t`}>{verb} {what} {name}?</h2>
        <div className="muted stack">{children}</div>
        <div className="field">
          <label htmlFor={id}>Type <strong className="wrap">{name}</strong> to confirm</label>
          <input id={id} className="input" autoFocus autoComplete="off" spellCheck={false} value={typed} onChange={(event) => setTyped(event.target.value)} />
        </div>
        <div className="actions">
          <button type="button" className="btn" onClick={() => box.current?.close()}>Cancel</button>
          <button type="submit" className="btn danger primary" disabled={typed !== name || busy}>{busy ? "Working…" : `${verb} ${what}`}</button>
        </div>
      </form>
    </dialog>
  );
}
