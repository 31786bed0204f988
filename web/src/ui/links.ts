// Where things are in the console.
export const connectorPath = (type: string, name: string) => `/${type === "sink" ? "connect" : "collect"}/${encodeURIComponent(name)}`;
export const topicPath = (topic: string) => `/compose/topics/${encodeURIComponent(topic)}`;
export const subjectPath = (subject: string) => `/compose/schemas/${encodeURIComponent(subject)}`;
