import { useMemo, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { ApiError, check, connectors, plugins } from "../api/client";
import { useLive } from "../api/live";
import type { ConnectorType, Issue, Plugin, Validation } from "../api/model";
import { useResource } from "../api/resource";
import { advancedGroups, type Config, type Definition, firstFields, parseRaw, toConfig } from "../logic/form";
import { Field } from "../ui/field";
import { Icon } from "../ui/icons";
import { connectorPath } from "../ui/links";
import { MappingPreview } from "../ui/mapping";
import { Callout, Empty, Issues, LoadError, Loading, Search, Segmented } from "../ui/parts";
import { TablePicker, TopicPicker } from "../ui/pickers";
import { useToast } from "../ui/toast";

const WORDS = {
  source: { title: "Add a source", list: "/collect", page: "Collect", name: "shop" },
  sink: { title: "Add a sink", list: "/connect", page: "Connect", name: "warehouse" },
} as const;

export function CreatePage({ type }: { type: ConnectorType }) {
  const words = WORDS[type];
  const [params, setParams] = useSearchParams();
  const list = useResource("plugins", plugins.list);
  const fitting = (list.data ?? []).filter((plugin) => plugin.type === type);
  const chosen = fitting.find((plugin) => plugin.class === params.get("class")) ?? (fitting.length === 1 ? fitting[0] : undefined);
  return (
    <div className="page" style={{ maxWidth: 1120 }}>
      <div className="head">
        <div className="grow">
          <nav className="crumb" aria-label="Path"><Link to={words.list}>{words.page}</Link><span aria-hidden="true">/</span><span>{chosen?.title ?? "new"}</span></nav>
          <h1>{words.title}</h1>
        </div>
        {chosen && fitting.length > 1 && <button type="button" className="btn" onClick={() => setParams({})}>Another kind</button>}
      </div>
      {!list.data && (list.error ? <LoadError what="The kinds of connectors" error={list.error} retry={list.reload} /> : <div className="card"><Loading /></div>)}
      {list.data && fitting.length === 0 && <div className="card"><Empty icon="database" title={`This server has no ${type}s`}>It was built without any connector of this kind.</Empty></div>}
      {list.data && !chosen && fitting.length > 1 && (
        <div className="picker">
          {fitting.map((plugin) => (
            <button key={plugin.class} type="button" className="choice" onClick={() => setParams({ class: plugin.class })}>
              <Icon name="database" /><span className="stack" style={{ gap: 2 }}><strong>{plugin.title}</strong><span className="small muted">{plugin.doc}</span></span>
            </button>
          ))}
        </div>
      )}
      {chosen && <Editor key={chosen.class} type={type} plugin={chosen} />}
    </div>
  );
}

function definitionsOf(validation: Validation): Definition[] {
  return validation.configs.flatMap(({ definition, value }) =>
    definition === null || definition.ignored !== null ? [] : [{ ...definition, group: definition.group ?? "Other", recommended: value.recommended_values }],
  );
}

const NAME_ERROR = "Give it a name: letters, digits, dots, dashes.";

function Editor({ type, plugin }: { type: ConnectorType; plugin: Plugin }) {
  const words = WORDS[type];
  const live = useLive();
  const toast = useToast();
  const navigate = useNavigate();
  const start = useResource(`keys ${plugin.class}`, () => plugins.validate(plugin.class, { "connector.class": plugin.class }));
  const definitions = useMemo(() => (start.data ? definitionsOf(start.data) : []), [start.data]);
  const [name, setName] = useState("");
  const [values, setValues] = useState<Config>({});
  const [mode, setMode] = useState<"form" | "json">("form");
  const [raw, setRaw] = useState("");
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [found, setFound] = useState<ReadonlyMap<string, { errors: string[]; warnings: string[] }>>(new Map());
  const [issues, setIssues] = useState<Issue[] | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const [busy, setBusy] = useState<"check" | "create" | null>(null);
  const [search, setSearch] = useState("");
  const results = useRef<HTMLDivElement>(null);

  const config = useMemo<Config>(() => ({ "connector.class": plugin.class, ...toConfig(values, definitions) }), [plugin, values, definitions]);
  const parsed = mode === "json" ? parseRaw(raw) : null;
  const rawError = parsed && "error" in parsed ? parsed.error : null;
  const current = parsed && !("error" in parsed) ? { name: parsed.name ?? name, config: { ...parsed.config, "connector.class": parsed.config["connector.class"] ?? plugin.class } } : { name, config };
  const taken = live.snapshot?.connectors.some((connector) => connector.name === current.name) ?? false;

  const set = (key: string, value: string) => {
    setValues((old) => ({ ...old, [key]: value }));
    setIssues(null);
    setRefused(null);
  };
  // Checks a field as it is left: the server's own rules, for every touched key at once.
  const round = useRef(0);
  const leave = async (key: string) => {
    setTouched((old) => new Set(old).add(key));
    round.current += 1;
    const mine = round.current;
    try {
      const answer = await plugins.validate(plugin.class, { name: name || "new", ...config });
      if (mine !== round.current) return;
      setFound(new Map(answer.configs.map(({ value }) => [value.name, { errors: value.errors, warnings: value.warnings }])));
    } catch {
      // The check before creating tells it again, with the reason.
    }
  };
  const switchMode = (next: "form" | "json") => {
    if (next === "json") setRaw(JSON.stringify({ name, config }, null, 2));
    else if (parsed && !("error" in parsed)) {
      setName(parsed.name ?? name);
      const { "connector.class": _class, name: _name, ...rest } = parsed.config;
      setValues(rest);
    }
    setMode(next);
  };
  const run = async (what: "check" | "create") => {
    setBusy(what);
    setRefused(null);
    setTouched(new Set(definitions.map((definition) => definition.name)));
    try {
      const told = await check(current.name || "new", current.config);
      setIssues(told);
      const byKey = new Map<string, { errors: string[]; warnings: string[] }>();
      for (const issue of told) {
        const entry = byKey.get(issue.key) ?? { errors: [], warnings: [] };
        (issue.severity === "error" ? entry.errors : entry.warnings).push(issue.message);
        byKey.set(issue.key, entry);
      }
      setFound(byKey);
      if (what === "create" && !told.some((issue) => issue.severity === "error")) {
        await connectors.create(current.name, current.config);
        toast.ok(`${current.name} is created`);
        void navigate(connectorPath(type, current.name));
        return;
      }
    } catch (error) {
      setRefused(error instanceof ApiError ? error.message : String(error));
    }
    setBusy(null);
    requestAnimationFrame(() => results.current?.scrollIntoView({ block: "nearest" }));
  };

  if (!start.data) return start.error ? <LoadError what="The form" error={start.error} retry={start.reload} /> : <div className="card"><Loading lines={10} /></div>;
  const own = type === "source" ? ["table.include.list"] : ["topics", "topics.regex"];
  const first = firstFields(definitions).filter((field) => !own.includes(field.name));
  const groups = advancedGroups(definitions, search);
  const given = Object.keys(config).length - 1;
  const field = (definition: Definition) => {
    const told = touched.has(definition.name) ? found.get(definition.name) : undefined;
    return <Field key={definition.name} definition={definition} value={values[definition.name] ?? ""} errors={told?.errors ?? []} warnings={told?.warnings ?? []} onChange={(value) => set(definition.name, value)} onLeave={() => void leave(definition.name)} />;
  };
  const nameError = current.name === "" && touched.size > 0 && busy === null && issues !== null ? NAME_ERROR : taken ? `There is already a connector called ${current.name}.` : null;
  const errors = issues?.filter((issue) => issue.severity === "error").length ?? 0;
  return (
    <form className="stack-l" noValidate onSubmit={(event) => { event.preventDefault(); void run("create"); }}>
      <div className="row"><Segmented label="How to edit" value={mode} onChange={switchMode} options={[{ id: "form", title: "Form" }, { id: "json", title: "JSON" }]} /><span className="muted small">{mode === "json" ? "A flat map of keys, or name and config. It stays in step with the form." : plugin.doc}</span></div>
      {mode === "json" ? (
        <div className="card card-body-only"><div className="card-body field">
          <label className="sr" htmlFor="raw">Connector as JSON</label>
          <textarea id="raw" className="area" rows={20} spellCheck={false} value={raw} aria-invalid={rawError !== null} onChange={(event) => { setRaw(event.target.value); setIssues(null); }} />
          {rawError && <div className="msg bad" role="alert"><Icon name="cross" />{rawError}</div>}
        </div></div>
      ) : (
        <>
          <section className="card">
            <div className="card-head"><h2>{type === "source" ? "Where from" : "Where to"}</h2></div>
            <div className="card-body form-grid">
              <div className="field">
                <div className="field-label"><label htmlFor="connector-name">Name</label><code>name</code></div>
                <input id="connector-name" className="input" value={name} autoComplete="off" spellCheck={false} placeholder={words.name} aria-invalid={nameError !== null} aria-describedby="connector-name-doc" onChange={(event) => setName(event.target.value.trim())} />
                <span id="connector-name-doc" className="doc">{nameError ? <span className="msg bad"><Icon name="cross" />{nameError}</span> : "How it is called in this console, in the API and in metrics."}</span>
              </div>
              {first.map(field)}
            </div>
          </section>
          {type === "source"
            ? <TablePicker name={name || "new"} config={config} value={values["table.include.list"] ?? ""} onChange={(value) => set("table.include.list", value)} />
            : <TopicPicker topics={values["topics"] ?? ""} regex={values["topics.regex"] ?? ""} onChange={(topics, regex) => { set("topics", topics); set("topics.regex", regex); }} />}
          {type === "sink" && <MappingPreview config={config} topics={values["topics"] ?? ""} regex={values["topics.regex"] ?? ""} />}
          <details className="card fold">
            <summary>More settings <span className="count">{definitions.length - first.length - own.length} keys, all with defaults</span></summary>
            <div className="card-body stack-l">
              <Search value={search} onChange={setSearch} label="Search settings" />
              {groups.length === 0 && <p className="muted">No setting has these words.</p>}
              {groups.map((group) => <section key={group.title} className="stack"><h3>{group.title}</h3><div className="form-grid">{group.fields.map(field)}</div></section>)}
            </div>
          </details>
        </>
      )}
      <div ref={results} className="stack" aria-live="polite">
        {refused && <Callout tone="bad" title="The server refused it"><p className="wrap" style={{ whiteSpace: "pre-line" }}>{refused}</p></Callout>}
        {issues && issues.length === 0 && <Callout tone="ok" title="Ready">Everything that it needs is there.</Callout>}
        {issues && issues.length > 0 && <><h2>{errors > 0 ? "To be mended first" : "It can run; you should know"}</h2><Issues issues={issues} /></>}
      </div>
      <div className="card sticky-foot">
        <button type="submit" className="btn primary" disabled={busy !== null || rawError !== null || current.name === "" || taken}>{busy === "create" ? "Creating…" : "Create"}</button>
        <button type="button" className="btn" disabled={busy !== null || rawError !== null} onClick={() => void run("check")}>{busy === "check" ? "Checking…" : "Check"}</button>
        <Link className="btn ghost" to={words.list}>Cancel</Link>
        <span className="grow muted small right">{given === 1 ? "1 key given" : `${given} keys given`}</span>
      </div>
    </form>
  );
}
