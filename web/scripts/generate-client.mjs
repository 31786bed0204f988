// Generates src/api/schema.d.ts from the server's OpenAPI document.

import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../crates/lattice-server/openapi.json", import.meta.url);
const target = new URL("../src/api/schema.d.ts", import.meta.url);
const head = "// Generated from crates/lattice-server/openapi.json by `npm run generate`. Do not edit.\n";
const text = head + astToString(await openapiTS(source));
if ((await readFile(target, "utf8").catch(() => "")) !== text) await writeFile(target, text);
