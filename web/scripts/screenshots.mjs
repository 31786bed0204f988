// Pictures of a running console: node scripts/screenshots.mjs [URL] [FOLDER] [page …]
// Writes console-<page>[-dark][-narrow].png to docs/images.
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";

const url = (process.argv[2] ?? process.env.LATTICE_URL ?? "http://127.0.0.1:8083").replace(/\/$/, "");
const folder = process.argv[3] ?? fileURLToPath(new URL("../../docs/images", import.meta.url));
const only = process.argv.slice(4);
const overview = await (await fetch(`${url}/api/v1/overview`)).json();
const first = (type) => overview.connectors.find((connector) => connector.type === type)?.name;
const topic = overview.topics.filter((one) => !one.internal).sort((a, b) => b.records - a.records)[0]?.name;
const enc = encodeURIComponent;
const pages = {
  overview: "/",
  collect: "/collect",
  compose: "/compose/topics",
  connect: "/connect",
  platform: "/platform",
  groups: "/platform/groups",
  log: "/platform/log",
  clusters: "/platform/clusters",
  "new-source": "/collect/new",
  "new-sink": "/connect/new",
  schemas: "/compose/schemas",
  ...(first("source") && { source: `/collect/${enc(first("source"))}` }),
  ...(first("sink") && { sink: `/connect/${enc(first("sink"))}` }),
  ...(topic && { topic: `/compose/topics/${enc(topic)}`, schema: `/compose/schemas/${enc(`${topic}-value`)}` }),
};
const browser = await launch();
for (const [name, path] of Object.entries(pages)) {
  if (only.length > 0 && !only.includes(name)) continue;
  for (const [suffix, colorScheme, width, height] of [["", "light", 1440, 900], ["-dark", "dark", 1440, 900], ["-narrow", "light", 390, 844], ["-narrow-dark", "dark", 390, 844]]) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height }, deviceScaleFactor: 1 });
    await page.goto(`${url}/#${path}`);
    await page.locator("h1").first().waitFor();
    // Long enough for rates, which need a few snapshots.
    await page.waitForTimeout(name === "overview" ? 4000 : 1500);
    if (name === "topic") await page.locator(".message > button", { hasText: "update" }).first().click({ timeout: 2000 }).catch(() => undefined);
    await page.screenshot({ path: `${folder}/console-${name}${suffix}.png`, fullPage: width < 500 });
    await page.close();
  }
}
await browser.close();
