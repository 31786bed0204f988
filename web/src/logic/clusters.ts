// What `GET /connectors?expand=info&expand=status` of any Kafka Connect cluster tells, in the console's words.

export interface RemoteConnector {
  name: string;
  class: string;
  /** The connector's state, made worse by its tasks. */
  state: string;
  tasks: number;
  running: number;
  /** Why it or its first failed task failed. */
  trace: string | null;
  config: Record<string, unknown>;
}

const record = (value: unknown): Record<string, unknown> => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});
const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

export function remoteConnectors(told: Record<string, unknown>): RemoteConnector[] {
  return Object.entries(told)
    .map(([name, value]) => {
      const info = record(record(value).info);
      const status = record(record(value).status);
      const config = record(info.config);
      const own = record(status.connector);
      const tasks = Array.isArray(status.tasks) ? status.tasks.map(record) : [];
      const failed = tasks.find((task) => task.state === "FAILED");
      const state = text(own.state) ?? "UNASSIGNED";
      return {
        name,
        class: text(config["connector.class"]) ?? "",
        state: state === "RUNNING" && failed ? "FAILED" : state,
        tasks: tasks.length,
        running: tasks.filter((task) => task.state === "RUNNING").length,
        trace: text(own.trace) ?? text(failed?.trace),
        config,
      };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}
