// Short answers to actions. Good news leaves by itself; bad news stays until it was read.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Icon } from "./icons";

interface Toast {
  id: number;
  tone: "ok" | "bad";
  title: string;
  detail: string | undefined;
}

interface Toasts {
  ok: (title: string, detail?: string) => void;
  bad: (title: string, detail?: string) => void;
}

const Context = createContext<Toasts>({ ok: () => undefined, bad: () => undefined });
let next = 0;

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const show = useCallback(
    (tone: Toast["tone"], title: string, detail?: string) => {
      next += 1;
      const id = next;
      setToasts((all) => [...all.slice(-3), { id, tone, title, detail }]);
      if (tone === "ok") setTimeout(() => drop(id), 4000);
    },
    [drop],
  );
  const value = useMemo<Toasts>(
    () => ({ ok: (title, detail) => show("ok", title, detail), bad: (title, detail) => show("bad", title, detail) }),
    [show],
  );
  return (
    <Context.Provider value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={`toast ${toast.tone}`}>
            <Icon name={toast.tone === "ok" ? "check" : "warn"} />
            <div className="grow wrap">
              <strong>{toast.title}</strong>
              {toast.detail && <div className="small muted">{toast.detail}</div>}
            </div>
            <button type="button" className="btn ghost icon-only small-btn" aria-label="Dismiss" onClick={() => drop(toast.id)}><Icon name="cross" /></button>
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}

export const useToast = () => useContext(Context);

/** Runs an action and tells its result; gives whether it succeeded. */
export function useAct() {
  const toast = useToast();
  return useCallback(
    async (done: string, failed: string, action: () => Promise<unknown>): Promise<boolean> => {
      try {
        await action();
        toast.ok(done);
        return true;
      } catch (error) {
        toast.bad(failed, error instanceof Error ? error.message : String(error));
        return false;
      }
    },
    [toast],
  );
}
