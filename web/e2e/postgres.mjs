// Statements by PostgreSQL's own client.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs SQL in a database of the server at `url`; gives what it printed. */
export async function psql(url, database, sql) {
  const target = new URL(url);
  target.pathname = `/${database}`;
  try {
    const { stdout } = await run("psql", [target.href, "-v", "ON_ERROR_STOP=1", "-qAtc", sql]);
    return stdout.trim();
  } catch (error) {
    throw new Error(`psql at ${target.host}: ${error.stderr || error.message}\nstart the services with: cargo x services up`);
  }
}
