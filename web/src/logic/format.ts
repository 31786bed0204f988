// Numbers and times for people. Unknown is a dash, never a zero.

export const DASH = "–";

const GROUPED = new Intl.NumberFormat("en-US");

/** The exact number with thousands grouped, for titles. */
export function exact(value: number | null | undefined): string {
  return value === null || value === undefined ? DASH : GROUPED.format(value);
}

function scaled(value: number, units: readonly string[], step: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= step && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1;
  // 999.96 would read "1000"; the next unit says it better.
  if (Number(size.toFixed(digits)) >= step && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  const text = size.toFixed(unit === 0 || size >= 100 ? 0 : 1).replace(/\.0$/, "");
  return `${value < 0 ? "-" : ""}${text}${units[unit]}`;
}

/** `12.4k`, `3.1M`. */
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? DASH : scaled(value, ["", "k", "M", "G", "T"], 1000);
}

/** `3.2 MB`. */
export function bytes(value: number | null | undefined): string {
  return value === null || value === undefined ? DASH : scaled(value, [" B", " kB", " MB", " GB", " TB"], 1000);
}

/** Events per second, without the unit. */
export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return DASH;
  if (value > 0 && value < 10) return value < 0.1 ? "<0.1" : value.toFixed(1).replace(/\.0$/, "");
  return count(Math.round(value));
}

/** A length of time: `340 ms`, `2.1 s`, `4 min`, `3 h`, `2 d`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return DASH;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1).replace(/\.0$/, "") : Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 60) return `${Math.round(minutes)} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} d`;
}

/** `just now`, `12 s ago`. */
export function ago(atMs: number | null | undefined, nowMs: number): string {
  if (!atMs) return DASH;
  const past = nowMs - atMs;
  return past < 1500 ? "just now" : `${duration(past)} ago`;
}

/** The exact instant, for titles. */
export function instant(atMs: number | null | undefined): string {
  return atMs ? new Date(atMs).toISOString().replace("T", " ").replace("Z", " UTC") : DASH;
}

/** The time of day with milliseconds. */
export function clock(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** One record, two records. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${exact(value)} ${value === 1 ? one : many}`;
}

/** A JSON value in one line. */
export function inline(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}
