// One key of a form: its label, its real name, its control, its documentation, what is wrong.
import { useId, useState } from "react";
import { type Definition, looksSecret } from "../logic/form";
import { Icon } from "./icons";

const NUMBERS = new Set(["INT", "SHORT", "LONG", "DOUBLE"]);

export function Field({ definition, value, errors, warnings, onChange, onLeave }: { definition: Definition; value: string; errors: readonly string[]; warnings: readonly string[]; onChange: (value: string) => void; onLeave: () => void }) {
  const id = useId();
  const { name, type, default_value: standard, recommended } = definition;
  const [shown, setShown] = useState(false);
  const secret = type === "PASSWORD" || looksSecret(name);
  const common = { id, "aria-describedby": `${id}d`, "aria-invalid": errors.length > 0, onBlur: onLeave };
  const optional = standard === null && !definition.required ? "optional" : (standard ?? "");
  return (
    <div className="field">
      <div className="field-label"><label htmlFor={id}>{definition.display_name === name ? plain(name) : definition.display_name}</label><code>{name}</code></div>
      {type === "BOOLEAN" || recommended.length > 0 ? (
        <select {...common} className="select" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{standard === null || standard === "" ? "not set" : `${standard} (default)`}</option>
          {(type === "BOOLEAN" ? ["true", "false"] : recommended).filter((choice) => choice !== standard || choice === value).map((choice) => <option key={choice} value={choice}>{choice}</option>)}
        </select>
      ) : (
        <div style={{ position: "relative" }}>
          <input {...common} className="input" type={secret && !shown ? "password" : "text"} inputMode={NUMBERS.has(type) ? "numeric" : undefined} autoComplete={secret ? "new-password" : "off"} spellCheck={false} placeholder={secret ? "" : optional} value={value} style={secret ? { paddingRight: 36 } : undefined} onChange={(event) => onChange(event.target.value)} />
          {secret && <button type="button" className="btn ghost icon-only small-btn" style={{ position: "absolute", right: 4, top: 4 }} aria-label={shown ? "Hide what is typed" : "Show what is typed"} aria-pressed={shown} onClick={() => setShown(!shown)}><Icon name="eye" /></button>}
        </div>
      )}
      <div id={`${id}d`} className="stack" style={{ gap: 2 }}>
        {errors.map((text) => <span key={text} className="msg bad"><Icon name="cross" />{text}</span>)}
        {warnings.map((text) => <span key={text} className="msg warn"><Icon name="warn" />{text}</span>)}
        {definition.documentation && <span className="doc">{definition.documentation}</span>}
      </div>
    </div>
  );
}

/** A key's name as words, where it has no label of its own. */
function plain(name: string): string {
  const words = name.replaceAll(/[._-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
