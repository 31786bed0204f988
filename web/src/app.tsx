import { useEffect, useRef, useState } from "react";
import { Navigate, NavLink, Route, Routes, useLocation, useNavigate } from "react-router";
import { info } from "./api/client";
import { useLive } from "./api/live";
import { useResource } from "./api/resource";
import { shownState } from "./logic/state";
import { ConnectorPage } from "./pages/connector";
import { ConnectorsPage } from "./pages/connectors";
import { CreatePage } from "./pages/create";
import { OverviewPage } from "./pages/overview";
import { PlatformPage } from "./pages/platform";
import { SchemaPage, SchemasPage } from "./pages/schemas";
import { TopicPage } from "./pages/topic";
import { TopicsPage } from "./pages/topics";
import { Boundary } from "./ui/boundary";
import { Icon, Mark } from "./ui/icons";
import { Empty } from "./ui/parts";
import { ThemeSwitch } from "./ui/theme";

const GO: Record<string, string> = { o: "/", c: "/collect", t: "/compose/topics", s: "/compose/schemas", k: "/connect", p: "/platform" };

/** `g c` goes to Collect, `/` to the search, `?` lists the keys. */
function useKeys(help: () => void) {
  const navigate = useNavigate();
  const pending = useRef(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
      if (event.key === "/") {
        const search = document.querySelector<HTMLElement>("[data-search]");
        if (search) {
          event.preventDefault();
          search.focus();
        }
      } else if (event.key === "?") help();
      else if (event.key === "g") pending.current = event.timeStamp;
      else if (event.timeStamp - pending.current < 1200 && GO[event.key]) {
        pending.current = 0;
        void navigate(GO[event.key]!);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate, help]);
}

function KeysDialog({ onClose }: { onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const keys = [["g o", "Overview"], ["g c", "Collect: sources"], ["g t", "Compose: topics"], ["g s", "Compose: schemas"], ["g k", "Connect: sinks"], ["g p", "Platform: workers, groups, log"], ["/", "Search in this page"], ["?", "This list"]];
  return (
    <dialog ref={box} onClose={onClose} aria-label="Keys">
      <div className="body">
        <h2>Keys</h2>
        <dl className="facts" style={{ gridTemplateColumns: "max-content 1fr" }}>
          {keys.map(([key, what]) => <div key={key} style={{ display: "contents" }}><dt><code>{key}</code></dt><dd style={{ margin: 0 }}>{what}</dd></div>)}
        </dl>
        <div className="actions"><button type="button" className="btn" onClick={() => box.current?.close()}>Close</button></div>
      </div>
    </dialog>
  );
}

function Banner() {
  const live = useLive();
  if (live.link === "lost") {
    return <div className="banner bad" role="alert"><Icon name="link" /><span>The server does not answer. Trying again; figures are those of the last moment.</span></div>;
  }
  const log = live.snapshot?.log;
  if (log && !log.writable) {
    return <div className="banner" role="alert"><Icon name="warn" /><span>The log takes no records: {log.message ?? "no reason given"}. Sources wait and go on by themselves.</span></div>;
  }
  return null;
}

function Side() {
  const live = useLive();
  const { data } = useResource("info", info);
  const connectors = live.snapshot?.connectors ?? [];
  const failed = (type: string) => connectors.some((connector) => connector.type === type && shownState(connector) === "FAILED");
  const total = (type: string) => (live.snapshot ? connectors.filter((connector) => connector.type === type).length : "");
  const hint = (type: string) => (failed(type) ? <span className="hint"><Mark shape="cross" tone="bad" title="something failed" /></span> : <span className="hint">{total(type)}</span>);
  return (
    <header className="side">
      <NavLink to="/" className="brand" aria-label="Lattice, overview"><Icon name="brand" /><span>Lattice</span></NavLink>
      <nav className="nav" aria-label="Main">
        <NavLink to="/" end><Icon name="overview" />Overview</NavLink>
        <NavLink to="/collect" title="Sources"><Icon name="collect" />Collect{hint("source")}</NavLink>
        <NavLink to="/compose" title="Topics and schemas"><Icon name="compose" />Compose<span className="hint">{live.snapshot ? live.snapshot.topics.filter((topic) => !topic.internal).length : ""}</span></NavLink>
        <NavLink to="/connect" title="Sinks"><Icon name="connect" />Connect{hint("sink")}</NavLink>
        <NavLink to="/platform" title="Workers, consumer groups, log, other clusters"><Icon name="platform" />Platform</NavLink>
      </nav>
      <div className="side-foot">
        <ThemeSwitch />
        <span className="about wrap" style={{ minHeight: 32 }}>{data && <>Lattice {data.version}<br />{data.worker_id}</>}</span>
      </div>
    </header>
  );
}

export function App() {
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp(true));
  const { pathname } = useLocation();
  // Newer browsers answer with a promise, which must not become the effect's clean-up.
  useEffect(() => {
    void scrollTo(0, 0);
  }, [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Side />
      <main className="main" id="main" tabIndex={-1} style={{ outline: "none" }}>
        <Banner />
        <Boundary key={pathname}>
        <Routes>
          <Route path="/" element={<OverviewPage />} />
          <Route path="/collect" element={<ConnectorsPage key="source" type="source" />} />
          <Route path="/collect/new" element={<CreatePage key="source" type="source" />} />
          <Route path="/collect/:name" element={<ConnectorPage type="source" />} />
          <Route path="/connect" element={<ConnectorsPage key="sink" type="sink" />} />
          <Route path="/connect/new" element={<CreatePage key="sink" type="sink" />} />
          <Route path="/connect/:name" element={<ConnectorPage type="sink" />} />
          <Route path="/compose" element={<Navigate to="/compose/topics" replace />} />
          <Route path="/compose/topics" element={<TopicsPage />} />
          <Route path="/compose/topics/:topic" element={<TopicPage />} />
          <Route path="/compose/schemas" element={<SchemasPage />} />
          <Route path="/compose/schemas/:subject" element={<SchemaPage />} />
          <Route path="/platform" element={<PlatformPage />} />
          <Route path="/platform/:tab" element={<PlatformPage />} />
          <Route path="*" element={<Empty page icon="search" title="There is no such page">Choose one from the navigation.</Empty>} />
        </Routes>
        </Boundary>
      </main>
      {help && <KeysDialog onClose={() => setHelp(false)} />}
    </div>
  );
}
