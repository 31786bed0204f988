// What the pages speak of, named once.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Snapshot = Schemas["Snapshot"];
export type Connector = Schemas["ConnectorView"];
export type ConnectorDetail = Schemas["ConnectorDetail"];
export type Task = Schemas["TaskView"];
export type Table = Schemas["TableView"];
export type Topic = Schemas["TopicSummary"];
export type TopicDetail = Schemas["TopicDetail"];
export type Message = Schemas["Record"];
export type Decoded = Schemas["Decoded"];
export type Issue = Schemas["Issue"];
export type SourceTable = Schemas["TableInfo"];
export type Preview = Schemas["Preview"];
export type Plugin = Schemas["Plugin"];
export type Validation = Schemas["Validation"];
export type OffsetEntry = Schemas["Offsets"]["offsets"][number];
export type SchemaVersion = Schemas["SchemaVersion"];
export type ConsumerGroup = Schemas["ConsumerGroup"];
export type Cluster = Schemas["Cluster"];
export type ConnectorType = "source" | "sink";
