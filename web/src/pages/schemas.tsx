import { useState } from "react";
import { Link, useParams } from "react-router";
import { registry } from "../api/client";
import { useResource } from "../api/resource";
import { ComposeTabs } from "../ui/compose";
import { subjectPath, topicPath } from "../ui/links";
import { Empty, LoadError, Loading, Name, Search } from "../ui/parts";
import { SchemaVersions } from "../ui/schemas";

/** The topic that a subject is named after, by the usual strategy. */
const topicOf = (subject: string) => subject.replace(/-(key|value)$/, "");

export function SchemasPage() {
  const subjects = useResource("subjects", registry.subjects, 5000);
  const [search, setSearch] = useState("");
  const rows = (subjects.data ?? []).filter((subject) => subject.toLowerCase().includes(search.toLowerCase())).sort();
  return (
    <div className="page">
      <div className="head">
        <div className="grow"><h1>Compose</h1><p>Topics hold the changes, schemas say what is in them.</p></div>
        <Search value={search} onChange={setSearch} label="Search schemas" />
      </div>
      <ComposeTabs value="schemas" />
      {!subjects.data && subjects.error ? <LoadError what="Schemas" error={subjects.error} retry={subjects.reload} /> : (
        <div className="card">
          {!subjects.data ? <Loading /> : rows.length === 0 ? <Empty icon="compose" title={search ? "No subject is called so" : "No schemas yet"}>{search ? "Try fewer letters." : "They are registered with the first row of each table."}</Empty> : (
            <div className="table-wrap">
              <table>
                <thead><tr><th>Subject</th><th>Part</th><th className="hide-s">Topic</th></tr></thead>
                <tbody>
                  {rows.map((subject) => (
                    <tr key={subject} className="link">
                      <td><Link className="name wrap" to={subjectPath(subject)}><Name text={subject} /></Link></td>
                      <td className="muted">{subject.endsWith("-key") ? "key" : subject.endsWith("-value") ? "value" : "–"}</td>
                      <td className="hide-s">{topicOf(subject) === subject ? "–" : <Link to={topicPath(topicOf(subject))}>{topicOf(subject)}</Link>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </div>
      )}
    </div>
  );
}

export function SchemaPage() {
  const { subject = "" } = useParams();
  const versions = useResource(`versions ${subject}`, () => registry.versions(subject));
  const level = useResource(`level ${subject}`, () => registry.compatibility(subject));
  return (
    <div className="page">
      <div className="head">
        <div className="grow">
          <nav className="crumb" aria-label="Path"><Link to="/compose/topics">Compose</Link><span aria-hidden="true">/</span><Link to="/compose/schemas">Schemas</Link></nav>
          <h1><Name text={subject} /></h1>
        </div>
        {level.data && <span className="tag" title="What a new version must be compatible with">{level.data.toLowerCase().replaceAll("_", " ")} compatible</span>}
      </div>
      {versions.data ? <SchemaVersions versions={versions.data} /> : versions.error ? <LoadError what={`The subject ${subject}`} error={versions.error} retry={versions.reload} /> : <div className="card"><Loading /></div>}
    </div>
  );
}
