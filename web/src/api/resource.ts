// Loads a value once, again on demand, and optionally every so often.
import { useCallback, useEffect, useRef, useState } from "react";
import { useLive } from "./live";

export interface Resource<T> {
  data: T | undefined;
  error: Error | undefined;
  loading: boolean;
  reload: () => void;
}

/** `key`: what the value depends on; while it is `null` nothing is loaded. Old data stays until new data is there. */
export function useResource<T>(key: string | null, load: () => Promise<T>, everyMs?: number): Resource<T> {
  const [state, setState] = useState<{ key: string | null; data?: T; error?: Error }>({ key: null });
  const [round, setRound] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const { link } = useLive();
  useEffect(() => {
    if (key === null) return;
    let current = true;
    const run = () =>
      loader.current().then(
        (data) => current && setState({ key, data }),
        (error: Error) => current && setState((old) => (old.key === key && old.data !== undefined ? { ...old, error } : { key, error })),
      );
    void run();
    const timer = everyMs ? setInterval(() => document.visibilityState === "visible" && void run(), everyMs) : undefined;
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [key, round, everyMs, link === "lost"]);
  const reload = useCallback(() => setRound((value) => value + 1), []);
  const mine = state.key === key ? state : undefined;
  return { data: mine?.data, error: mine?.error, loading: key !== null && mine === undefined, reload };
}
