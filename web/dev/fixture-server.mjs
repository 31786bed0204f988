// A stand-in for the server while a page is designed: made-up answers in the shapes of the OpenAPI
// document. Development only; no test of record runs against it. `node dev/fixture-server.mjs [port] [empty]`
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";

const port = Number(process.argv[2] ?? 8090);
const empty = process.argv[3] === "empty";
const dist = new URL("../dist/", import.meta.url);
const started = Date.now();
const TABLES = ["customers", "products", "orders", "order_lines"];
const prefix = "fulfillment.public.";
const seconds = () => (Date.now() - started) / 1000;
const table = (name, over) => ({ name, state: "STREAMING", snapshot_rows: 0, snapshot_rows_expected: 0, snapshot_chunks: 0, snapshot_chunks_expected: 0, events: 0, bytes: 0, errors: 0, last_event_ms: Date.now() - 800, message: null, ...over });
const task = (tables, over) => ({ id: 0, state: "RUNNING", trace: null, events: 184201 + Math.round(seconds() * 240), bytes: 31_400_000 + Math.round(seconds() * 40_000), events_per_s: 240 + Math.sin(seconds() / 5) * 60, bytes_per_s: 41_000, dead_letters: 0, retries: 0, behind_ms: 42, behind_records: {}, gauges: {}, notes: {}, tables, ...over });
const connector = (name, type, title, cls, tasks, over) => ({ name, type, title, class: cls, state: "RUNNING", trace: null, worker_id: "127.0.0.1:8083", topics: TABLES.map((t) => prefix + t), events_per_s: tasks.reduce((a, t) => a + t.events_per_s, 0), bytes_per_s: 41_000, behind_ms: 42, behind_records: null, tasks, ...over });
const PG = "io.debezium.connector.postgresql.PostgresConnector";
const CH = "com.clickhouse.kafka.connect.ClickHouseSinkConnector";

function connectors() {
  if (empty) return [];
  const rows = Math.min(1_200_000, 300_000 + seconds() * 20_000);
  return [
    connector("shop", "source", "PostgreSQL", PG, [task(TABLES.map((t, i) => table(`public.${t}`, { events: 40_000 * (i + 1) + Math.round(seconds() * 60), snapshot_rows: 50_000 * (i + 1), snapshot_rows_expected: 50_000 * (i + 1), bytes: 9_000_000 })), { gauges: { source_retained_wal_bytes: 16_777_216, source_behind_ms: 42 } })]),
    connector("crm", "source", "PostgreSQL", PG, [task([table("public.contacts", { state: "SNAPSHOTTING", snapshot_rows: Math.round(rows), snapshot_rows_expected: 1_400_000, snapshot_chunks: 5, snapshot_chunks_expected: 24 }), table("public.notes", { state: "PENDING" })], { events_per_s: 19_800, behind_ms: null })], { topics: ["crm.public.contacts"], behind_ms: null }),
    connector("warehouse", "sink", "ClickHouse", CH, [task(TABLES.map((t) => table(prefix + t, { events: 90_000 })), { behind_ms: 180, behind_records: { [`${prefix}orders`]: 120 } })], { behind_ms: 180, behind_records: 120 }),
    connector("archive", "sink", "ClickHouse", CH, [task([], { state: "FAILED", trace: "cannot insert into archive.orders: authentication failed for user \"writer\" (remedy: check \"username\" and \"password\"; on the server: ALTER USER writer IDENTIFIED BY 'the-new-password';)", events_per_s: 0, dead_letters: 3, behind_ms: 95_000 })], { state: "FAILED", topics: [`${prefix}orders`], behind_ms: 95_000, behind_records: 48_120, events_per_s: 0 }),
  ];
}
function topics() {
  if (empty) return [];
  return [...TABLES.map((t) => prefix + t), "crm.public.contacts"].map((name, i) => ({ name, partitions: 1, records: 48_000 * (i + 1), bytes: 3_200_000 * (i + 1), end_offset: 48_000 * (i + 1), internal: false, cleanup_policy: "delete", retention_ms: i ? null : 604_800_000, retention_bytes: null }));
}
const log = { writable: true, message: null, bytes: 42_000_000, free_bytes: 90_000_000_000 };
const snapshot = () => ({ at_ms: Date.now(), connectors: connectors(), topics: topics(), log });
const decoded = (data) => ({ format: "avro", schema_id: 3, data });
let offset = 48_000;
function record() {
  offset += 1;
  const op = ["c", "u", "u", "d"][offset % 4];
  const row = { id: offset % 977, customer_id: offset % 113, status: "new", total: "129.90", note: null, placed_at: 1_790_000_000_000_000 + offset };
  const after = op === "d" ? null : op === "u" ? { ...row, status: "paid", total: "119.90", note: "voucher" } : row;
  const before = op === "c" ? null : row;
  return { partition: 0, offset, timestamp_ms: Date.now(), key: decoded({ id: row.id }), value: decoded({ before, after, op, ts_ms: Date.now() }), headers: [], op, before, after, tombstone: false };
}
const value = (extra) => JSON.stringify({ type: "record", name: "Envelope", namespace: "fulfillment.public.orders", fields: [{ name: "before", type: ["null", { type: "record", name: "Value", fields: [{ name: "id", type: "int" }, { name: "status", type: "string" }, { name: "total", type: ["null", { type: "bytes", logicalType: "decimal", scale: 2, precision: 10 }], default: null }, ...extra] }], default: null }, { name: "after", type: ["null", "Value"], default: null }, { name: "op", type: "string" }] });
const versions = (subject) => [{ subject, version: 1, id: 3, schema: value([]) }, { subject, version: 2, id: 9, schema: value([{ name: "note", type: ["null", "string"], default: null }]) }];
const key = (name, group, importance, type, documentation, over) => ({ name, type, required: false, default_value: null, importance, documentation, group, width: "MEDIUM", display_name: name, dependents: [], order_in_group: 1, ignored: null, ...over });
const must = { required: true };
const KEYS = {
  source: [key("database.hostname", "Connection", "HIGH", "STRING", "Host of the PostgreSQL server.", { ...must, display_name: "Host" }), key("database.port", "Connection", "MEDIUM", "INT", "Its port.", { default_value: "5432", display_name: "Port" }), key("database.user", "Connection", "HIGH", "STRING", "User with the right to replicate.", { ...must, display_name: "User" }), key("database.password", "Connection", "HIGH", "PASSWORD", "The user's password.", { display_name: "Password" }), key("database.dbname", "Connection", "HIGH", "STRING", "The database to capture.", { ...must, display_name: "Database" }), key("topic.prefix", "Common", "HIGH", "STRING", "First part of the topics' names.", { ...must, display_name: "Topic prefix" }), key("table.include.list", "Filters", "HIGH", "LIST", "Tables to capture."), key("snapshot.mode", "Snapshot", "MEDIUM", "STRING", "When a snapshot is read.", { default_value: "initial", display_name: "Snapshot mode" }), key("slot.name", "Replication", "MEDIUM", "STRING", "Name of the replication slot.", { default_value: "debezium" }), key("tombstones.on.delete", "Events", "LOW", "BOOLEAN", "Whether a delete is followed by a tombstone.", { default_value: "true" })],
  sink: [key("hostname", "Connection", "HIGH", "STRING", "Host of ClickHouse.", { ...must, display_name: "Host" }), key("port", "Connection", "MEDIUM", "INT", "Its HTTP port.", { default_value: "8123", display_name: "Port" }), key("database", "Connection", "HIGH", "STRING", "Database to write to.", { default_value: "default", display_name: "Database" }), key("username", "Connection", "HIGH", "STRING", "User.", { default_value: "default", display_name: "User" }), key("password", "Connection", "HIGH", "PASSWORD", "Password.", { display_name: "Password" }), key("topics", "Topics", "HIGH", "LIST", "Topics."), key("topics.regex", "Topics", "HIGH", "STRING", "Pattern.")],
};
const issues = [{ key: "", severity: "error", message: "role \"lattice\" may not replicate", remedy: "ALTER ROLE lattice REPLICATION;" }, { key: "table.include.list", severity: "warning", message: "public.audit has no primary key and replica identity nothing: updates and deletes fail in the database", remedy: "ALTER TABLE public.audit REPLICA IDENTITY FULL;" }];
const columns = ["id", "status", "total"].map((name) => ({ name, type: "int32", database_type: "integer", optional: false }));

function answer(method, path, body) {
  const part = decodeURIComponent(path.split("/")[4] ?? "");
  if (path === "/api/v1/info") return { version: "0.1.0", worker_id: "127.0.0.1:8083", started_ms: started, data_folder: "/data", log };
  if (path === "/api/v1/overview") return snapshot();
  if (path === "/connector-plugins") return [{ class: PG, type: "source", version: "3.6.0", alias: "postgres", title: "PostgreSQL", doc: "Captures every change of a PostgreSQL database." }, { class: CH, type: "sink", version: "1.3.8", alias: "clickhouse", title: "ClickHouse", doc: "Keeps ClickHouse tables equal to their topics." }];
  if (path.endsWith("/validate")) return { name: body["connector.class"], error_count: 0, groups: [], configs: KEYS[path.includes("postgresql") ? "source" : "sink"].map((definition) => ({ definition, value: { name: definition.name, value: body[definition.name] ?? null, recommended_values: definition.name === "snapshot.mode" ? ["initial", "always", "never", "when_needed"] : [], errors: definition.required && !body[definition.name] ? [`missing required configuration "${definition.name}"`] : [], warnings: [], visible: true } })) };
  if (path === "/api/v1/check") return { ok: false, issues };
  if (path === "/api/v1/tables") return [...TABLES, "audit"].map((name, i) => ({ name: `public.${name}`, columns, key: name === "audit" ? [] : ["id"], rows: 50_000 * (i + 1), bytes: 9_000_000, captured: true, issues: name === "audit" ? [issues[1]] : [] }));
  if (path === "/api/v1/preview") return { table: body.topic, exists: body.topic.endsWith("products"), columns: columns.map((column) => ({ field: column.name, field_type: column.type, column: column.name, column_type: "Int32" })), statements: ["CREATE TABLE …"], issues: [] };
  if (path.startsWith("/api/v1/connectors/")) {
    const found = connectors().find((one) => one.name === part);
    return found && { connector: found, config: { "connector.class": found.class, "database.hostname": "db.internal", "database.password": "********", "topic.prefix": "fulfillment" }, offsets: [{ partition: { server: "fulfillment" }, offset: { lsn: 26_732_144, row: 4, snapshot: false } }] };
  }
  if (path.endsWith("/messages")) return { records: Array.from({ length: 30 }, record) };
  if (path.startsWith("/api/v1/topics/")) return { ...topics().find((one) => one.name === part), partitions: [{ partition: 0, log_start_offset: 0, end_offset: 48_000, bytes: 3_200_000, records: 48_000 }], key_schemas: [{ subject: `${part}-key`, version: 1, id: 2, schema: '{"type":"record","name":"Key","fields":[{"name":"id","type":"int"}]}' }], value_schemas: versions(`${part}-value`), consumers: [{ group: "connect-warehouse", connector: "warehouse", partition: 0, offset: 47_880, behind: 120 }], producers: ["shop"] };
  if (path === "/api/v1/topics") return topics();
  if (path === "/registry/subjects") return empty ? [] : TABLES.flatMap((t) => [`${prefix}${t}-key`, `${prefix}${t}-value`]);
  if (path.startsWith("/registry/config/")) return { compatibilityLevel: "BACKWARD" };
  if (/^\/registry\/subjects\/[^/]+\/versions$/.test(path)) return [1, 2];
  if (path.startsWith("/registry/subjects/")) return versions(decodeURIComponent(path.split("/")[3]))[Number(path.split("/")[5]) - 1];
  return method === "GET" ? undefined : null;
}

createServer(async (request, response) => {
  const path = new URL(request.url, "http://x").pathname;
  const stream = path === "/api/v1/events" ? [snapshot, "snapshot", 1000] : path.endsWith("/stream") ? [record, "record", 600] : null;
  if (stream) {
    const [make, name, every] = stream;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = () => response.write(`event: ${name}\ndata: ${JSON.stringify(make())}\n\n`);
    send();
    const timer = setInterval(send, every);
    request.on("close", () => clearInterval(timer));
    return;
  }
  if (path === "/" || path.startsWith("/assets/")) {
    const file = path === "/" ? "index.html" : path.slice(1);
    const kind = file.endsWith(".js") ? "text/javascript" : file.endsWith(".css") ? "text/css" : "text/html";
    response.writeHead(200, { "content-type": kind }).end(await readFile(new URL(file, dist)).catch(() => ""));
    return;
  }
  let text = "";
  for await (const chunk of request) text += chunk;
  const found = answer(request.method, path, text ? JSON.parse(text) : {});
  if (found === undefined) response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error_code: 404, message: "not found" }));
  else if (found === null) response.writeHead(204).end();
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
}).listen(port, "127.0.0.1", () => console.log(`fixture server (made-up answers) on http://127.0.0.1:${port}`));
