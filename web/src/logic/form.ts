// Builds a connector's form out of its key definitions, and its configuration out of the form.

export interface Definition {
  name: string;
  type: string;
  required: boolean;
  default_value: string | null;
  importance: string;
  documentation: string;
  group: string;
  order_in_group: number;
  display_name: string;
  recommended: string[];
}

export type Config = Record<string, string>;

export interface FormGroup {
  title: string;
  fields: Definition[];
}

/** Keys that the form has its own controls for. */
export const OWN_KEYS = new Set(["name", "connector.class"]);

const ALWAYS: readonly string[] = [
  "topic.prefix", "database.hostname", "database.port", "database.user", "database.password", "database.dbname",
  "table.include.list", "hostname", "port", "database", "username", "password", "topics", "topics.regex",
];

/** Whether a key is shown at once: it must be given, it is important, or everyone needs it. */
export function isFirst(definition: Definition): boolean {
  return (definition.required && definition.default_value === null) || ALWAYS.includes(definition.name);
}

const place = (name: string) => {
  const at = ALWAYS.indexOf(name);
  return at < 0 ? ALWAYS.length : at;
};

/** The fields shown at once, in the order a person fills them in. */
export function firstFields(definitions: readonly Definition[]): Definition[] {
  return definitions
    .filter((definition) => isFirst(definition) && !OWN_KEYS.has(definition.name))
    .sort((left, right) => place(left.name) - place(right.name));
}

const IMPORTANCE: Record<string, number> = { HIGH: 0, MEDIUM: 1, LOW: 2 };

/** All others by group, the important first; `search` looks in names, labels and documentation. */
export function advancedGroups(definitions: readonly Definition[], search: string): FormGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Definition[]>();
  for (const definition of definitions) {
    if (isFirst(definition) || OWN_KEYS.has(definition.name)) continue;
    const text = `${definition.name} ${definition.display_name} ${definition.documentation}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const title = definition.group || "Other";
    groups.set(title, [...(groups.get(title) ?? []), definition]);
  }
  return [...groups].map(([title, fields]) => ({
    title,
    fields: fields.sort(
      (left, right) =>
        (IMPORTANCE[left.importance] ?? 3) - (IMPORTANCE[right.importance] ?? 3) || left.order_in_group - right.order_in_group,
    ),
  }));
}

/** The configuration of a form: what is empty or equal to its default is left out. */
export function toConfig(values: Config, definitions: readonly Definition[]): Config {
  const defaults = new Map(definitions.map((definition) => [definition.name, definition.default_value]));
  const entries = Object.entries(values).filter(([name, value]) => value !== "" && defaults.get(name) !== value);
  return Object.fromEntries(entries);
}

/** Reads raw JSON: a flat map, or `{"name": …, "config": {…}}`. */
export function parseRaw(text: string): { name: string | null; config: Config } | { error: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return { error: "Expected an object of keys and values." };
  }
  const top = parsed as Record<string, unknown>;
  const nested = typeof top["config"] === "object" && top["config"] !== null;
  const map = (nested ? top["config"] : top) as Record<string, unknown>;
  const config: Config = {};
  for (const [name, value] of Object.entries(map)) {
    if (value === null || typeof value === "object") return { error: `"${name}" must be text, a number or a boolean.` };
    config[name] = String(value);
  }
  const name = typeof top["name"] === "string" ? top["name"] : null;
  return { name, config };
}

/** A regular expression that matches exactly these names, as `table.include.list` takes it. */
export function includeList(tables: readonly string[]): string {
  return tables.map((table) => table.replace(/[\\^$.*+?()[\]{}|,]/g, (char) => `\\${char}`)).join(",");
}

/** Whether a list of patterns, each matching a whole name, matches `table`. Bad patterns match nothing. */
export function isIncluded(list: string, table: string): boolean {
  return list
    .split(/(?<!\\),/)
    .map((pattern) => pattern.trim())
    .filter(Boolean)
    .some((pattern) => {
      try {
        return new RegExp(`^(?:${pattern})$`, "i").test(table);
      } catch {
        return false;
      }
    });
}

const SECRET = /password|secret|token|credential|passphrase|jaas|user\.info|private\.key/i;

/** Whether a key's name says that its value is a secret. */
export function looksSecret(name: string): boolean {
  return SECRET.test(name);
}

/** Whether a value stands for a secret that the server keeps to itself. */
export function isMasked(value: string): boolean {
  return value === "[hidden]" || /^\*{3,}$/.test(value) || /^•+$/.test(value);
}

/** What of an edited configuration is sent as a patch: changed values, and `null` for removed keys. */
export function patchOf(before: Config, after: Config): Record<string, string | null> {
  const patch: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(after)) {
    if (before[name] === value || (isMasked(value) && name in before)) continue;
    patch[name] = value;
  }
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  return patch;
}
