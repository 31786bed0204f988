import { describe, expect, test } from "vitest";
import { remoteConnectors } from "./clusters";
import { diffLines, diffRows } from "./diff";
import { advancedGroups, type Definition, firstFields, includeList, isIncluded, isMasked, parseRaw, patchOf, toConfig } from "./form";
import { ago, bytes, count, DASH, duration, rate } from "./format";
import { column, flowOf, thickness } from "./graph";
import { schemaFields } from "./schema";
import { causeOf, look, shownState, sqlOf } from "./state";

describe("numbers", () => {
  test("unknown is a dash, zero is a zero", () => {
    expect([count(null), bytes(undefined), rate(null), duration(null), ago(0, 1)]).toEqual(Array(5).fill(DASH));
    expect([count(0), bytes(0), rate(0), duration(0)]).toEqual(["0", "0 B", "0", "0 ms"]);
  });
  test("large numbers take a unit and never read 1000 of it", () => {
    expect([count(999), count(1000), count(12_430), count(999_960)]).toEqual(["999", "1k", "12.4k", "1M"]);
    expect([bytes(3_200_000), bytes(512)]).toEqual(["3.2 MB", "512 B"]);
  });
  test("small rates keep a digit", () => {
    expect([rate(0.04), rate(2.34), rate(340.6), rate(18_200)]).toEqual(["<0.1", "2.3", "341", "18.2k"]);
  });
  test("time is told in the unit that fits", () => {
    expect([duration(340), duration(2100), duration(61_000), duration(7_200_000), duration(259_200_000)]).toEqual(["340 ms", "2.1 s", "1 min", "2 h", "3 d"]);
    expect(ago(1000, 13_000)).toBe("12 s ago");
  });
});

describe("differences of rows", () => {
  test("an update marks the changed fields alone", () => {
    const diff = diffRows({ id: 1, name: "a", tags: [1, 2] }, { id: 1, name: "b", tags: [1, 2] });
    expect(diff.map((field) => field.change)).toEqual(["same", "changed", "same"]);
  });
  test("an insert has no before, a delete no after", () => {
    expect(diffRows(null, { id: 1 })[0]).toEqual({ name: "id", before: undefined, after: 1, change: "added" });
    expect(diffRows({ id: 1 }, null)[0]?.change).toBe("removed");
  });
  test("null and missing are two different things", () => {
    expect(diffRows({ a: null }, { a: null })[0]?.change).toBe("same");
    expect(diffRows({}, { a: null })[0]?.change).toBe("added");
  });
});

test("lines of two schemas are compared by the shortest edit", () => {
  const marks = diffLines("a\nb\nc", "a\nx\nc\nd").map((line) => line.mark + line.text);
  expect(marks).toEqual([" a", "-b", "+x", " c", "+d"]);
});

const key = (name: string, over: Partial<Definition> = {}): Definition => ({
  name, type: "STRING", required: false, default_value: "x", importance: "MEDIUM", documentation: "", group: "Common", order_in_group: 1, display_name: name, recommended: [], ...over,
});

describe("forms", () => {
  const keys = [key("slot.name", { group: "Replication", documentation: "the replication slot" }), key("database.hostname", { required: true, default_value: null }), key("topic.prefix"), key("z.must", { required: true, default_value: null }), key("name"), key("a.high", { importance: "HIGH" }), key("b.low", { importance: "LOW" })];
  test("what must be given comes first, in the order of filling in", () => {
    expect(firstFields(keys).map((field) => field.name)).toEqual(["topic.prefix", "database.hostname", "z.must"]);
  });
  test("the rest is grouped, the important first, and searched in documentation too", () => {
    expect(advancedGroups(keys, "").map((group) => [group.title, ...group.fields.map((field) => field.name)])).toEqual([["Replication", "slot.name"], ["Common", "a.high", "b.low"]]);
    expect(advancedGroups(keys, "replication slot").flatMap((group) => group.fields).map((field) => field.name)).toEqual(["slot.name"]);
  });
  test("empty values and defaults are left out of the configuration", () => {
    expect(toConfig({ "slot.name": "x", "database.hostname": "db", "topic.prefix": "", free: "1" }, keys)).toEqual({ "database.hostname": "db", free: "1" });
  });
  test("raw JSON is a flat map or a name with a config", () => {
    expect(parseRaw('{"a":1,"b":true}')).toEqual({ name: null, config: { a: "1", b: "true" } });
    expect(parseRaw('{"name":"n","config":{"a":"x"}}')).toEqual({ name: "n", config: { a: "x" } });
    expect(parseRaw("{")).toHaveProperty("error");
    expect(parseRaw('{"a":[1]}')).toEqual({ error: '"a" must be text, a number or a boolean.' });
  });
  test("picked tables become a list of patterns that matches them alone", () => {
    const list = includeList(["public.a.b", "public.c,d"]);
    expect(isIncluded(list, "public.a.b")).toBe(true);
    expect(isIncluded(list, "public.c,d")).toBe(true);
    expect(isIncluded(list, "public.axb")).toBe(false);
    expect(isIncluded("public\\..*", "public.orders")).toBe(true);
    expect(isIncluded("(", "public.orders")).toBe(false);
  });
  test("a masked secret is never sent back", () => {
    expect(isMasked("********")).toBe(true);
    expect(patchOf({ a: "1", password: "********", gone: "x" }, { a: "2", password: "********", fresh: "y" })).toEqual({ a: "2", fresh: "y", gone: null });
  });
});

describe("states", () => {
  const task = (state: string, notes: Record<string, string> = {}, tables: { state: string }[] = []) => ({ state, notes, tables });
  test("a failed task makes its connector failed", () => {
    expect(shownState({ state: "RUNNING", tasks: [task("RUNNING"), task("FAILED")] })).toBe("FAILED");
    expect(shownState({ state: "PAUSED", tasks: [task("FAILED")] })).toBe("PAUSED");
  });
  test("reconnecting and snapshotting are told", () => {
    expect(shownState({ state: "RUNNING", tasks: [task("RUNNING", { reconnecting: "x" })] })).toBe("RETRYING");
    expect(shownState({ state: "RUNNING", tasks: [task("RUNNING", {}, [{ state: "SNAPSHOTTING" }])] })).toBe("SNAPSHOTTING");
  });
  test("the worst sorts first", () => {
    expect(look("FAILED").rank).toBeLessThan(look("RUNNING").rank);
    expect(look("NEW").word).toBe("NEW");
  });
  test("a trace is split into cause and remedy", () => {
    expect(causeOf("cannot connect: no (x) (remedy: set (a) right)")).toEqual({ message: "cannot connect: no (x)", remedy: "set (a) right" });
    expect(causeOf("plain")).toEqual({ message: "plain", remedy: null });
  });
  test("SQL in a remedy can be copied alone", () => {
    expect(sqlOf("run ALTER ROLE x REPLICATION; as superuser")).toBe("ALTER ROLE x REPLICATION;");
    expect(sqlOf("check the password")).toBeNull();
  });
});

test("a schema's fields are listed with nested ones below", () => {
  const schema = { type: "record", name: "Envelope", fields: [{ name: "before", type: ["null", { type: "record", name: "Value", fields: [{ name: "id", type: "int" }, { name: "at", type: { type: "long", "connect.name": "io.debezium.time.MicroTimestamp" } }] }], default: null }, { name: "after", type: ["null", "Value"] }] };
  const rows = schemaFields(JSON.stringify(schema));
  expect(rows.map((row) => [row.name, row.depth, row.type, row.optional])).toEqual([["before", 0, "record", true], ["id", 1, "int", false], ["at", 1, "long", false], ["after", 0, "record Value", true]]);
  expect(rows[2]?.semantic).toBe("io.debezium.time.MicroTimestamp");
});

describe("the graph", () => {
  test("topics hang between their source and sinks", () => {
    const flow = flowOf([{ name: "s", type: "source", topics: ["b", "a"], rank: 5 }, { name: "k", type: "sink", topics: ["a"], rank: 5 }], ["z"], () => 0, 10);
    expect(flow.topics).toEqual(["a", "b", "z"]);
    expect(flow.edges.map((edge) => `${edge.from}>${edge.to}`)).toEqual(["source:s>topic:a", "topic:a>sink:k", "source:s>topic:b"]);
  });
  test("too many topics are folded, the quiet ones first", () => {
    const flow = flowOf([], ["a", "b", "c"], (topic) => (topic === "c" ? 9 : 0), 1);
    expect([flow.topics, flow.folded]).toEqual([["c"], 2]);
  });
  test("columns are centred and edges grow with the logarithm", () => {
    expect(column(2, 10, 10, 50)).toEqual([10, 30]);
    expect(thickness(0)).toBe(1.25);
    expect(thickness(1e9)).toBe(6);
  });
});

test("a remote connector is as bad as its worst task, and tells why", () => {
  const told = {
    b: { info: { config: { "connector.class": "X" } }, status: { connector: { state: "RUNNING" }, tasks: [{ id: 0, state: "RUNNING" }, { id: 1, state: "FAILED", trace: "no disk" }] } },
    a: { info: null, status: { connector: { state: "PAUSED" }, tasks: [] } },
  };
  expect(remoteConnectors(told)).toEqual([
    { name: "a", class: "", state: "PAUSED", tasks: 0, running: 0, trace: null, config: {} },
    { name: "b", class: "X", state: "FAILED", tasks: 2, running: 1, trace: "no disk", config: { "connector.class": "X" } },
  ]);
});
