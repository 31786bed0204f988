// Every call to the server, over the client generated from its OpenAPI document.
import createClient from "openapi-fetch";
import type { Config } from "../logic/form";
import type { OffsetEntry, SchemaVersion } from "./model";
import type { paths } from "./schema";

/** Where the server is: the console is served by it, whatever the path. */
export const BASE = location.origin;

const api = createClient<paths>({ baseUrl: BASE });

/** A refusal or a failure, in words for people. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

function wordsOf(error: unknown, response: Response): string {
  if (typeof error === "object" && error !== null && "message" in error && typeof error.message === "string") {
    return error.message;
  }
  if (typeof error === "string" && error.trim() !== "") return error.trim();
  return `The server answered ${response.status} ${response.statusText}`.trim();
}

async function value<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer. Check that `lattice serve` is running.");
  }
  if (!answer.response.ok) throw new ApiError(answer.response.status, wordsOf(answer.error, answer.response));
  return answer.data as T;
}

const named = (name: string) => ({ params: { path: { name } } });
/** Some answers have no body or an empty one. */
const text = { parseAs: "text" } as const;

export const connectors = {
  get: (name: string) => value(api.GET("/api/v1/connectors/{name}", named(name))),
  create: (name: string, config: Config) => value(api.POST("/connectors", { body: { name, config } })),
  put: (name: string, config: Config) => value(api.PUT("/connectors/{name}/config", { ...named(name), body: config })),
  patch: (name: string, patch: Record<string, string | null>) =>
    value(api.PATCH("/connectors/{name}/config", { ...named(name), body: patch })),
  remove: (name: string) => value(api.DELETE("/connectors/{name}", { ...named(name), ...text })),
  pause: (name: string) => value(api.PUT("/connectors/{name}/pause", { ...named(name), ...text })),
  resume: (name: string) => value(api.PUT("/connectors/{name}/resume", { ...named(name), ...text })),
  stop: (name: string) => value(api.PUT("/connectors/{name}/stop", { ...named(name), ...text })),
  restart: (name: string) =>
    value(api.POST("/connectors/{name}/restart", { params: { path: { name }, query: { includeTasks: true } }, ...text })),
  restartTask: (name: string, task: number) =>
    value(api.POST("/connectors/{name}/tasks/{task}/restart", { params: { path: { name, task: String(task) } }, ...text })),
  offsets: async (name: string) => (await value(api.GET("/connectors/{name}/offsets", named(name)))).offsets,
  alterOffsets: (name: string, offsets: OffsetEntry[]) =>
    value(api.PATCH("/connectors/{name}/offsets", { ...named(name), body: { offsets } })),
  resetOffsets: (name: string) => value(api.DELETE("/connectors/{name}/offsets", named(name))),
};

export const plugins = {
  list: () => value(api.GET("/connector-plugins")),
  validate: (plugin: string, config: Config) =>
    value(api.PUT("/connector-plugins/{plugin}/config/validate", { params: { path: { plugin } }, body: config })),
  definitions: (plugin: string) => value(api.GET("/connector-plugins/{plugin}/config", { params: { path: { plugin } } })),
};

export const check = async (name: string, config: Config) =>
  (await value(api.POST("/api/v1/check", { body: { name, config } }))).issues;
export const tables = (name: string, config: Config) => value(api.POST("/api/v1/tables", { body: { name, config } }));
export const preview = (config: Config, topic: string) => value(api.POST("/api/v1/preview", { body: { config, topic } }));
export const info = () => value(api.GET("/api/v1/info"));

export const platform = {
  workers: () => value(api.GET("/api/v1/workers")),
  groups: () => value(api.GET("/api/v1/groups")),
  log: () => value(api.GET("/api/v1/log")),
};

const there = (cluster: string, name: string) => ({ params: { path: { cluster, name } } });

export const clusters = {
  list: () => value(api.GET("/api/v1/clusters")),
  put: (cluster: string, body: { url: string; username?: string; password?: string }) =>
    value(api.PUT("/api/v1/clusters/{cluster}", { params: { path: { cluster } }, body })),
  remove: (cluster: string) => value(api.DELETE("/api/v1/clusters/{cluster}", { params: { path: { cluster } }, ...text })),
  connectors: (cluster: string) => value(api.GET("/api/v1/clusters/{cluster}/connectors", { params: { path: { cluster } } })),
  act: (cluster: string, name: string, verb: "pause" | "resume") =>
    value(verb === "pause" ? api.PUT("/api/v1/clusters/{cluster}/connectors/{name}/pause", { ...there(cluster, name), ...text }) : api.PUT("/api/v1/clusters/{cluster}/connectors/{name}/resume", { ...there(cluster, name), ...text })),
  restart: (cluster: string, name: string) =>
    value(api.POST("/api/v1/clusters/{cluster}/connectors/{name}/restart", { params: { path: { cluster, name }, query: { includeTasks: true } }, ...text })),
  delete: (cluster: string, name: string) => value(api.DELETE("/api/v1/clusters/{cluster}/connectors/{name}", { ...there(cluster, name), ...text })),
};

export const topics = {
  list: () => value(api.GET("/api/v1/topics")),
  get: (topic: string) => value(api.GET("/api/v1/topics/{topic}", { params: { path: { topic } } })),
  messages: async (topic: string, from: string, limit: number) =>
    (await value(api.GET("/api/v1/topics/{topic}/messages", { params: { path: { topic }, query: { from, limit } } }))).records,
  /** Server-sent events named `record`. */
  streamUrl: (topic: string) => `${BASE}/api/v1/topics/${encodeURIComponent(topic)}/stream`,
  remove: (topic: string) => value(api.DELETE("/api/v1/topics/{topic}", { params: { path: { topic } }, ...text })),
};

/** The registry speaks Confluent's API, which is not part of the server's own document. */
async function ask<T>(path: string): Promise<T> {
  const call = fetch(`${BASE}/registry${path}`, { headers: { accept: "application/json" } });
  return value<T>(
    call.then(async (response) => {
      const body: unknown = await response.json().catch(() => undefined);
      return response.ok ? { data: body as T, response } : { error: body, response };
    }),
  );
}

export const registry = {
  subjects: () => ask<string[]>("/subjects"),
  compatibility: async (subject: string) =>
    (await ask<{ compatibilityLevel: string }>(`/config/${encodeURIComponent(subject)}?defaultToGlobal=true`)).compatibilityLevel,
  /** All versions of a subject, oldest first. */
  async versions(subject: string): Promise<SchemaVersion[]> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const numbers = await ask<number[]>(path);
    return Promise.all(numbers.map((number) => ask<SchemaVersion>(`${path}/${number}`)));
  },
};
