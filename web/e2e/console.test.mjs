// The console in a real browser against the real server, a real PostgreSQL and a real ClickHouse.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { launch } from "../scripts/browser.mjs";
import { psql } from "./postgres.mjs";

const BIN = process.env.LATTICE_BIN ?? fileURLToPath(new URL("../../target/debug/lattice", import.meta.url));
const PG = new URL(process.env.LATTICE_TEST_PG15 ?? "postgres://postgres:postgres@127.0.0.1:15415/postgres");
const CH = new URL(process.env.LATTICE_TEST_CH ?? "http://127.0.0.1:18200");
const DATABASE = `console_${process.pid}_${Date.now().toString(36)}`;
const PATIENCE = 60_000;

let server;
let log = "";
let url;
let folder;
let browser;
let page;
const complaints = [];
/** Refusals that a test provokes: the browser reports their status as an error of its own. */
let refusalsExpected = false;

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function until(what, check) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    let last;
    try {
      last = await check();
      if (last) return last;
    } catch (error) {
      last = error.message;
    }
    assert.ok(Date.now() < deadline, `${what} did not come to be within ${PATIENCE} ms; last: ${last}\n${log.slice(-3000)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function clickhouse(sql) {
  const answer = await fetch(CH, { method: "POST", body: sql });
  const text = (await answer.text()).trim();
  assert.ok(answer.ok, `ClickHouse at ${CH} refused ${sql}: ${text.slice(0, 300)}; start the services with: cargo x services up`);
  return text;
}

async function start(port) {
  server = spawn(BIN, ["serve", "--data", join(folder, "data"), "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => { log += text; });
  await until("lattice answers /health", async () => (await fetch(`${url}/health`)).ok);
}

async function stop() {
  if (!server || server.exitCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
}

async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const tab = await context.newPage();
  tab.setDefaultTimeout(PATIENCE);
  tab.on("console", (message) => {
    const refusal = refusalsExpected && message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !refusal) complaints.push(`${path}: ${message.text()}`);
  });
  tab.on("pageerror", (error) => complaints.push(`${path}: ${error.message}`));
  await tab.goto(`${url}/#${path}`);
  await tab.locator("h1").first().waitFor();
  return tab;
}

const go = async (path) => {
  await page.goto(`${url}/#${path}`);
  await page.locator("h1").first().waitFor();
};
const field = (key) => page.locator(".field", { has: page.locator("code", { hasText: new RegExp(`^${key.replaceAll(".", "\\.")}$`) }) }).locator("input, select").first();

async function fillSource(name, password) {
  await go("/collect/new");
  await field("name").fill(name);
  await field("topic.prefix").fill("shop");
  await field("database.hostname").fill(PG.hostname);
  await field("database.port").fill(PG.port);
  await field("database.user").fill(decodeURIComponent(PG.username));
  await field("database.password").fill(password);
  await field("database.dbname").fill(DATABASE);
}

before(async () => {
  assert.ok(existsSync(BIN), `no lattice binary at ${BIN}; build it with: cargo build -p lattice-cli`);
  await psql(PG, "postgres", `CREATE DATABASE ${DATABASE}`);
  await psql(PG, DATABASE, "CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, credit numeric(10,2)); CREATE TABLE audit (line text); INSERT INTO customers SELECT n, 'customer ' || n, n FROM generate_series(1, 50) n; ALTER TABLE customers REPLICA IDENTITY FULL");
  await clickhouse(`CREATE DATABASE ${DATABASE}`);
  folder = await mkdtemp(join(tmpdir(), "lattice-console-"));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  await start(port);
  browser = await launch();
  page = await open("/");
});

after(async () => {
  await browser?.close();
  if (url && server?.exitCode === null) {
    for (const name of ["shop", "warehouse", "wrong"]) await fetch(`${url}/connectors/${name}`, { method: "DELETE" }).catch(() => undefined);
  }
  await stop();
  await psql(PG, "postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${DATABASE}'`).catch(() => undefined);
  await until("the slot is free", async () => {
    await psql(PG, "postgres", `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '${DATABASE}'`);
    return true;
  }).catch(() => undefined);
  await psql(PG, "postgres", `DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`).catch(() => undefined);
  await clickhouse(`DROP DATABASE IF EXISTS ${DATABASE}`).catch(() => undefined);
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe("the console", { concurrency: 1 }, () => {
  test("an empty platform offers the first step", async () => {
    await page.getByText("Nothing flows yet").waitFor();
    await page.getByRole("link", { name: "Add a source" }).click();
    await page.getByRole("heading", { name: "Add a source", exact: true }).waitFor();
  });

  test("a wrong password is told with its remedy before anything is created", async () => {
    refusalsExpected = true;
    await fillSource("wrong", "not-the-password");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("To be mended first").waitFor();
    await page.locator(".callout.bad", { hasText: /password/i }).first().waitFor();
    await page.getByText("What to do:").first().waitFor();
    assert.ok(!(await page.locator("main").innerText()).includes("not-the-password"), "the password is shown");
    assert.equal((await fetch(`${url}/connectors/wrong`)).status, 404);
    refusalsExpected = false;
  });

  test("a source is created by form, with tables picked from the live database", async () => {
    await fillSource("shop", decodeURIComponent(PG.password));
    await page.getByRole("button", { name: "Load tables" }).click();
    await page.getByRole("checkbox", { name: "public.customers" }).check();
    assert.match(await page.locator("#include").inputValue(), /^public\\?\.customers$/);
    const more = page.locator("details.fold");
    await more.locator("summary").click();
    await more.getByRole("searchbox").fill("slot.name");
    await field("slot.name").fill(`${DATABASE}_slot`);
    await more.getByRole("searchbox").fill("publication.name");
    await field("publication.name").fill(`${DATABASE}_pub`);
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { name: "shop", exact: true }).waitFor();
    await page.locator("tr", { hasText: "public.customers" }).locator(".state:visible", { hasText: "Streaming" }).waitFor();
    await page.getByText("done, 50 rows").waitFor();
  });

  test("secrets are masked on the connector's page and in the API behind it", async () => {
    await page.getByRole("tab", { name: "Configuration" }).click();
    await page.locator("tr", { hasText: "database.password" }).getByText("••••••••").waitFor();
    const text = await (await fetch(`${url}/api/v1/connectors/shop`)).json();
    assert.equal(text.config["database.password"], "********");
  });

  test("its topic and live messages appear, with what an update changed", async () => {
    await go("/compose/topics");
    await page.getByRole("link", { name: "shop.public.customers" }).click();
    await page.locator(".message", { hasText: "snapshot" }).first().waitFor();
    await psql(PG, DATABASE, "UPDATE customers SET name = 'renamed' WHERE id = 7");
    const update = page.locator(".message", { hasText: "update" }).first();
    await update.locator("button").first().click();
    const changed = update.locator("tr.changed");
    await changed.first().waitFor();
    assert.match(await changed.first().innerText(), /name[\s\S]*customer 7[\s\S]*renamed/);
    assert.equal(await changed.count(), 1);
  });

  test("a schema's versions are shown with what changed between them", async () => {
    await psql(PG, DATABASE, "ALTER TABLE customers ADD COLUMN city text; INSERT INTO customers VALUES (100, 'new', 1, 'Wien')");
    await until("the second version", async () => (await (await fetch(`${url}/registry/subjects/shop.public.customers-value/versions`)).json()).length > 1);
    await go("/compose/schemas");
    await page.getByRole("link", { name: "shop.public.customers-value" }).click();
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".lines .add", { hasText: "city" }).first().waitFor();
  });

  test("a sink is created after its mapping was seen, and counts the rows that it wrote", async () => {
    await go("/connect/new?class=com.clickhouse.kafka.connect.ClickHouseSinkConnector");
    await field("name").fill("warehouse");
    await field("hostname").fill(CH.hostname);
    await field("port").fill(CH.port);
    await field("database").fill(DATABASE);
    await page.getByRole("checkbox", { name: "shop.public.customers" }).check();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("will be made").waitFor();
    await page.locator("table.fields tr", { hasText: "credit" }).getByRole("cell", { name: "Nullable(Decimal(10, 2))", exact: true }).waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { name: "warehouse", exact: true }).waitFor();
    await page.locator("tr", { hasText: "customers" }).first().waitFor();
    await until("51 rows in ClickHouse", async () => {
      const rows = await clickhouse(`SELECT count() FROM ${DATABASE}.\`shop.public.customers_live\``);
      assert.equal(rows, "51");
      return true;
    });
    await page.locator("tr", { hasText: "customers" }).locator("td.num", { hasText: /^5\d$/ }).first().waitFor();
  });

  test("a failure shows its cause and what to do", async () => {
    refusalsExpected = true;
    await clickhouse(`CREATE DATABASE ${DATABASE}_gone`);
    const config = { "connector.class": "com.clickhouse.kafka.connect.ClickHouseSinkConnector", topics: "shop.public.customers", hostname: CH.hostname, port: CH.port, database: `${DATABASE}_gone` };
    const made = await fetch(`${url}/connectors`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: "wrong", config, initial_state: "PAUSED" }) });
    assert.equal(made.status, 201, await made.text());
    await clickhouse(`DROP DATABASE ${DATABASE}_gone`);
    await fetch(`${url}/connectors/wrong/resume`, { method: "PUT" });
    await go("/connect/wrong");
    await page.locator(".state", { hasText: /Failed|Retrying/ }).first().waitFor();
    await page.locator(".callout", { hasText: `${DATABASE}_gone` }).first().waitFor();
    await go("/");
    await page.getByRole("button", { name: /^wrong/ }).waitFor();
    refusalsExpected = false;
  });

  test("a connector is paused, resumed, and deleted only after its name was typed", async () => {
    await go("/connect/wrong");
    await page.getByRole("button", { name: "Delete" }).click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete sink" });
    assert.ok(await confirm.isDisabled());
    await page.getByRole("dialog").getByRole("textbox").fill("wrong");
    await confirm.click();
    await page.getByText("wrong is deleted").waitFor();
    await go("/connect/warehouse");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.locator(".head .state", { hasText: "Paused" }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator(".head .state", { hasText: "Running" }).waitFor();
  });

  test("raw JSON is checked as it is written", async () => {
    await go("/collect/new");
    await page.getByRole("button", { name: "JSON" }).click();
    await page.locator("#raw").fill("{");
    await page.getByText("This is not JSON").waitFor();
    assert.ok(await page.getByRole("button", { name: "Create", exact: true }).isDisabled());
    await page.locator("#raw").fill(JSON.stringify({ name: "other", config: { "database.hostnam": "x" } }));
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText('did you mean "database.hostname"?').waitFor();
  });

  test("the overview draws the flow in both themes", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await open("/", { colorScheme });
      await tab.getByRole("button", { name: /^shop/ }).waitFor();
      await tab.getByRole("button", { name: /^warehouse/ }).waitFor();
      assert.ok((await tab.locator("svg.edges path").count()) >= 2);
      const background = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = background.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) > 380;
      assert.equal(light, colorScheme === "light", background);
      await tab.context().close();
    }
  });

  const PAGES = ["/", "/collect", "/collect/new", "/collect/shop", "/compose/topics", "/compose/topics/shop.public.customers", "/compose/schemas", "/compose/schemas/shop.public.customers-value", "/connect", "/connect/new", "/connect/warehouse", "/platform", "/platform/groups", "/platform/log", "/platform/clusters"];

  test("the platform's workers, consumer groups, log and registries are told", async () => {
    await go("/platform");
    await page.getByRole("link", { name: "shop-0" }).waitFor();
    await page.getByRole("tab", { name: "Consumer groups" }).click();
    const group = page.getByRole("region", { name: "Consumer group connect-warehouse" });
    await group.getByText("shop.public.customers").waitFor();
    await group.getByText("0 behind").waitFor();
    await page.getByRole("tab", { name: "Log and registries" }).click();
    await page.getByRole("heading", { name: "Embedded log" }).waitFor();
    await page.getByRole("region", { name: "Schema registries" }).getByRole("link", { name: "warehouse" }).waitFor();
  });

  test("another Kafka Connect cluster is added, its connectors are steered, and it is forgotten", async () => {
    // The server itself speaks Kafka Connect's API: it stands for the other cluster.
    await go("/platform/clusters");
    await page.getByRole("button", { name: "Add a cluster" }).click();
    await page.getByLabel("Name").fill("old");
    await page.getByLabel("REST URL").fill("nonsense");
    refusalsExpected = true;
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("must be the REST URL of a Kafka Connect worker").waitFor();
    refusalsExpected = false;
    await page.getByLabel("REST URL").fill(url);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const cluster = page.getByRole("region", { name: "Cluster old" });
    await cluster.getByRole("button", { name: "Pause shop" }).click();
    await cluster.getByRole("row", { name: "shop" }).getByText("Paused").waitFor();
    await until("shop is paused", async () => (await (await fetch(`${url}/connectors/shop/status`)).json()).connector.state === "PAUSED");
    await cluster.getByRole("button", { name: "Resume shop" }).click();
    await cluster.getByRole("row", { name: "shop" }).getByText("Running").waitFor();
    await cluster.getByRole("button", { name: "shop", exact: true }).click();
    await cluster.getByLabel("configuration", { exact: true }).getByText("database.hostname").waitFor();
    assert.match(await cluster.innerText(), /"database\.password": "\*+"/);
    await cluster.getByRole("button", { name: "Forget old" }).click();
    await page.getByLabel("Type old to confirm").fill("old");
    await page.getByRole("button", { name: "Forget cluster" }).click();
    await page.getByText("No other clusters").waitFor();
  });

  test("every page fits a phone's width", async () => {
    const tab = await open("/", { viewport: { width: 360, height: 740 } });
    for (const path of PAGES) {
      await tab.goto(`${url}/#${path}`);
      await tab.locator("h1").first().waitFor();
      await tab.locator(".skeleton").first().waitFor({ state: "detached" });
      const width = await tab.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${path} is ${width} px wide`);
    }
    await tab.context().close();
  });

  test("every page is accessible in both themes", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await open("/", { colorScheme });
      for (const path of PAGES) {
        await tab.goto(`${url}/#${path}`);
        await tab.locator("h1").first().waitFor();
        await tab.locator(".skeleton").first().waitFor({ state: "detached" });
        const { violations } = await new AxeBuilder({ page: tab }).analyze();
        const grave = violations.filter((one) => ["serious", "critical"].includes(one.impact));
        assert.deepEqual(grave.map((one) => `${colorScheme} ${path} ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`), []);
      }
      await tab.context().close();
    }
  });

  test("a lost server is told, and found again without a reload", async () => {
    await go("/");
    refusalsExpected = true;
    await stop();
    await page.getByText("The server does not answer").first().waitFor();
    await start(Number(new URL(url).port));
    await page.getByText("The server does not answer").first().waitFor({ state: "detached" });
    refusalsExpected = false;
  });

  test("the browser had nothing to complain of", () => {
    assert.deepEqual(complaints, []);
  });
});
