// Line icons on a 24 px grid, drawn for this console.
import type { Tone, Shape } from "../logic/state";

const PATHS = {
  overview: "M4 5h6v6H4zM14 5h6v4h-6zM14 13h6v6h-6zM4 15h6v4H4z",
  collect: "M12 4v10m0 0 4-4m-4 4-4-4M4 16v4h16v-4",
  compose: "M4 7h16M4 12h16M4 17h10",
  connect: "M12 14V4m0 0 4 4m-4-4-4 4M4 16v4h16v-4",
  platform: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500v.1M8 16.500v.1",
  brand: "M7.2 7 16.8 11M7.2 17l9.6-4M5 3.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8zm0 12a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8zm14-6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8z",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm5 12 4 4",
  plus: "M12 5v14M5 12h14",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "m5 12.5 4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6 6 18",
  warn: "M12 4 2.8 20h18.4zM12 10v4.5m0 2.4v.1",
  info: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM12 11v5.5m0-9v.1",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  restart: "M19 12a7 7 0 1 1-2-4.9L19.500 9.500M19.500 4.500v5h-5",
  trash: "M5 7h14M10 7V4.500h4V7M7 7l.8 12.500h8.400L17 7M10.500 11v5M13.500 11v5",
  right: "m9 5 7 7-7 7",
  down: "m5 9 7 7 7-7",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M18.700 5.300l-1.400 1.400M6.700 17.300l-1.400 1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  system: "M3.500 5h17v11h-17zM9 20h6M12 16v4",
  database: "M5 6.500C5 5 8 4 12 4s7 1 7 2.500S16 9 12 9 5 8 5 6.500zM5 6.500v11C5 19 8 20 12 20s7-1 7-2.500v-11M5 12c0 1.500 3 2.500 7 2.500s7-1 7-2.500",
  eye: "M2.500 12S6 6 12 6s9.500 6 9.500 6S18 18 12 18s-9.500-6-9.500-6zM12 9.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5z",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The shape of a state; its word stands beside it or in its title. */
export function Mark({ shape, tone, title }: { shape: Shape; tone: Tone; title?: string }) {
  return (
    <svg className={`mark ${tone}`} viewBox="0 0 12 12" aria-hidden={title ? undefined : true} role={title ? "img" : undefined} aria-label={title} fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round">
      {shape === "dot" && <circle cx="6" cy="6" r="4" fill="currentColor" stroke="none" />}
      {shape === "pulse" && <circle cx="6" cy="6" r="3.500" fill="currentColor" />}
      {shape === "hollow" && <circle cx="6" cy="6" r="4" />}
      {shape === "square" && <rect x="2.500" y="2.500" width="7" height="7" rx="1" />}
      {shape === "cross" && <path d="M2.500 2.500l7 7M9.500 2.500l-7 7" strokeWidth="2.200" />}
      {shape === "ring" && <><circle cx="6" cy="6" r="4" opacity="0.3" /><path d="M6 2a4 4 0 0 1 4 4" /></>}
    </svg>
  );
}
