// The packed packages, installed from a registry of their own as a user's npm does.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { once } from "node:events";
import { after, before, test } from "node:test";

const NAME = "lattice-platform-cli";
const packages = new Map();
const home = mkdtempSync(join(tmpdir(), "lattice-npm-"));
// What is called node may be a script around it (PyPI's is), which keeps signals to itself.
mkdirSync(join(home, "bin"));
symlinkSync(process.execPath, join(home, "bin", "node"));
process.env.PATH = `${join(home, "bin")}${delimiter}${process.env.PATH}`;
let server;
let registry;

before(async () => {
  for (const file of readdirSync(process.env.PACKAGES).filter((name) => name.endsWith(".tgz"))) {
    const path = join(process.env.PACKAGES, file);
    const manifest = execFileSync("tar", ["xzOf", path, "package/package.json"], { encoding: "utf8" });
    packages.set(JSON.parse(manifest).name, { file, manifest: JSON.parse(manifest), body: readFileSync(path) });
  }
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  registry = `http://127.0.0.1:${server.address().port}/`;
  writeFileSync(join(home, "package.json"), "{}");
  await run("npm", ["install", NAME]);
});

after(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

function answer(request, response) {
  const [name, file] = request.url.slice(1).split("/-/");
  const found = packages.get(name);
  if (!found) return response.writeHead(404).end("{}");
  if (file) return response.end(found.body);
  const { version } = found.manifest;
  const integrity = `sha512-${createHash("sha512").update(found.body).digest("base64")}`;
  const dist = { tarball: `${registry}${name}/-/${found.file}`, integrity };
  response.end(JSON.stringify({
    name, "dist-tags": { latest: version }, versions: { [version]: { ...found.manifest, dist } },
  }));
}

async function run(program, given) {
  const options = ["--registry", registry, "--cache", join(home, "cache"), "--no-audit", "--no-fund", "--no-update-notifier"];
  const child = spawn(program, [...options, ...given], { cwd: home });
  let output = "";
  child.stdout.on("data", (data) => { output += data; });
  child.stderr.on("data", (data) => { output += data; });
  const [code] = await once(child, "close");
  return { code, output };
}

const installed = join(home, "node_modules");
const shim = join(installed, ".bin", "lattice");

test("npm installs the package of this platform alone, and runs nothing for it", () => {
  const there = readdirSync(installed).filter((name) => name.startsWith(NAME)).sort();
  assert.deepEqual(there, [NAME, `${NAME}-${process.platform}-${process.arch}`]);
  for (const { manifest } of packages.values()) assert.equal(manifest.scripts, undefined);
});

test("arguments reach the binary as they are", () => {
  const { stdout } = spawnSync(shim, ["tail", "a b", "--from=$x"], { encoding: "utf8" });
  assert.equal(stdout, "tail\na b\n--from=$x\n");
});

test("the binary's status is the shim's", () => {
  assert.equal(spawnSync(shim, ["exit", "0"]).status, 0);
  assert.equal(spawnSync(shim, ["exit", "42"]).status, 42);
});

test("a binary that a signal ends ends the shim by that signal", () => {
  assert.equal(spawnSync(shim, ["kill", "TERM"]).signal, "SIGTERM");
});

for (const [signal, status] of [["SIGTERM", 7], ["SIGINT", 8]]) {
  test(`${signal} is passed on, and the binary's end awaited`, async () => {
    const child = spawn(shim, ["wait"]);
    const closed = once(child, "close");
    let output = "";
    child.stdout.on("data", (data) => {
      if (output === "") child.kill(signal);
      output += data;
    });
    const [code] = await closed;
    assert.equal(code, status);
    assert.equal(output, `ready\ngot ${signal.slice(3)}\n`);
  });
}

test("npx runs it by the package's name", async () => {
  const { code, output } = await run("npx", ["--yes", NAME, "hello"]);
  assert.equal(code, 0, output);
  assert.match(output, /hello/);
});

test("a missing platform package is named with the command that installs it", () => {
  rmSync(join(installed, `${NAME}-${process.platform}-${process.arch}`), { recursive: true });
  const { status, stderr } = spawnSync(shim, ["x"], { encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, new RegExp(`npm install ${NAME}-${process.platform}-${process.arch}@`));
});
