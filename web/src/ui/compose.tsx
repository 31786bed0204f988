import { useNavigate } from "react-router";
import { Tabs } from "./parts";

/** Topics and schemas are two views of Compose. */
export function ComposeTabs({ value }: { value: "topics" | "schemas" }) {
  const navigate = useNavigate();
  return <Tabs label="Compose" value={value} onChange={(id) => void navigate(`/compose/${id}`)} tabs={[{ id: "topics", title: "Topics" }, { id: "schemas", title: "Schemas" }]} />;
}
