// What a person can do to a connector.
import { useState } from "react";
import { connectors } from "../api/client";
import type { Connector } from "../api/model";
import { Icon, type IconName } from "./icons";
import { ConfirmDelete } from "./parts";
import { useAct } from "./toast";

interface Verb {
  id: "pause" | "resume" | "stop" | "restart";
  title: string;
  done: string;
  icon: IconName;
  run: (name: string) => Promise<unknown>;
}

const PAUSE: Verb = { id: "pause", title: "Pause", done: "paused", icon: "pause", run: connectors.pause };
const RESUME: Verb = { id: "resume", title: "Resume", done: "resumed", icon: "play", run: connectors.resume };
const STOP: Verb = { id: "stop", title: "Stop", done: "stopped", icon: "stop", run: connectors.stop };
const RESTART: Verb = { id: "restart", title: "Restart", done: "restarted", icon: "restart", run: connectors.restart };

function verbsFor(state: string): Verb[] {
  if (state === "PAUSED") return [RESUME, STOP];
  if (state === "STOPPED") return [RESUME];
  return [PAUSE, STOP, RESTART];
}

export function ConnectorActions({ connector, small, onDeleted }: { connector: Connector; small?: boolean; onDeleted?: () => void }) {
  const act = useAct();
  const [busy, setBusy] = useState<string | null>(null);
  const [deleting, setDeleting] = useState(false);
  const { name } = connector;
  const run = async (verb: Verb) => {
    setBusy(verb.id);
    await act(`${name} is ${verb.done}`, `${name} could not be ${verb.done}`, () => verb.run(name));
    setBusy(null);
  };
  const style = small ? "btn ghost icon-only" : "btn";
  return (
    <div className="row" style={small ? { gap: 0, flexWrap: "nowrap", justifyContent: "flex-end" } : undefined}>
      {verbsFor(connector.state).map((verb) => (
        <button key={verb.id} type="button" className={style} disabled={busy !== null} title={small ? verb.title : undefined} aria-label={small ? `${verb.title} ${name}` : undefined} onClick={() => void run(verb)}>
          <Icon name={verb.icon} />
          {!small && verb.title}
        </button>
      ))}
      <button type="button" className={`${style} danger`} disabled={busy !== null} title={small ? "Delete" : undefined} aria-label={small ? `Delete ${name}` : undefined} onClick={() => setDeleting(true)}>
        <Icon name="trash" />
        {!small && "Delete"}
      </button>
      {deleting && (
        <ConfirmDelete
          what={connector.type === "sink" ? "sink" : "source"}
          name={name}
          onClose={() => setDeleting(false)}
          onConfirm={async () => {
            const deleted = await act(`${name} is deleted`, `${name} could not be deleted`, () => connectors.remove(name));
            if (deleted) onDeleted?.();
            return deleted;
          }}
        >
          <p>Its configuration is lost and its tasks end. Topics with their records and the offsets stay.</p>
          {connector.type === "source" && <p>A replication slot in the database stays too and keeps holding back its log until you drop it or create the connector again.</p>}
        </ConfirmDelete>
      )}
    </div>
  );
}
