// Reads an Avro schema into the rows of a table.

export interface SchemaField {
  name: string;
  depth: number;
  type: string;
  /** Kafka Connect's semantic name, if it has one. */
  semantic: string | null;
  optional: boolean;
  default: unknown;
}

type Avro = unknown;

function isObject(value: Avro): value is Record<string, Avro> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The schema's text, indented; text that is not JSON as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function describe(type: Avro): { type: string; optional: boolean; inner: Avro } {
  if (Array.isArray(type)) {
    const rest = type.filter((member) => member !== "null");
    const optional = rest.length < type.length;
    if (rest.length === 1) return { ...describe(rest[0]), optional };
    return { type: rest.map((member) => describe(member).type).join(" | "), optional, inner: null };
  }
  if (!isObject(type)) return { type: String(type), optional: false, inner: type };
  if (type["type"] === "array") return { type: `${describe(type["items"]).type}[]`, optional: false, inner: type };
  if (type["type"] === "map") return { type: `map<${describe(type["values"]).type}>`, optional: false, inner: type };
  if (typeof type["logicalType"] === "string") return { type: `${type["type"]} (${type["logicalType"]})`, optional: false, inner: type };
  if (type["type"] === "record") return { type: "record", optional: false, inner: type };
  return { ...describe(type["type"]), optional: false, inner: type };
}

/** All fields, nested ones below their record. Errors: none; what is no record has no fields. */
export function schemaFields(text: string): SchemaField[] {
  let root: Avro;
  try {
    root = JSON.parse(text);
  } catch {
    return [];
  }
  const named = new Map<string, Avro>();
  const rows: SchemaField[] = [];
  const walk = (schema: Avro, depth: number, namespace: string) => {
    if (!isObject(schema) || !Array.isArray(schema["fields"]) || depth > 6) return;
    const space = typeof schema["namespace"] === "string" ? schema["namespace"] : namespace;
    if (typeof schema["name"] === "string") {
      named.set(schema["name"], schema);
      named.set(`${space}.${schema["name"]}`, schema);
    }
    for (const field of schema["fields"]) {
      if (!isObject(field)) continue;
      const told = describe(field["type"]);
      const known = typeof told.inner === "string" ? named.get(told.inner) : undefined;
      const inner = told.inner;
      const semantic = isObject(inner) && typeof inner["connect.name"] === "string" ? inner["connect.name"] : null;
      rows.push({
        name: String(field["name"]),
        depth,
        type: known ? `record ${told.inner as string}` : told.type,
        semantic: told.type === "record" ? null : semantic,
        optional: told.optional,
        default: field["default"],
      });
      if (told.type === "record") walk(inner, depth + 1, space);
    }
  };
  walk(root, 0, "");
  return rows;
}
