// One key of a form: its label, its real name, its control, its documentation, what is wrong.
import { useId, useState } from "react";
import { type Definition, looksSecret } from "../logic/form";
import { causeOf } from "../logic/state";
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
        {errors.map((text) => <span key={text} className="msg bad"><Icon name="cross" />{told(text, definition)}</span>)}
        {warnings.map((text) => <span key={text} className="msg warn"><Icon name="warn" />{told(text, definition)}</span>)}
        {definition.documentation && <span className="doc">{definition.documentation}</span>}
      </div>
    </div>
  );
}

/** A message with its remedy, save where the remedy is the documentation that stands below anyway. */
function told(text: string, definition: Definition): string {
  const { message, remedy } = causeOf(text);
  const short = message.startsWith("missing required configuration") ? "a value is required" : message;
  return remedy === null || remedy === definition.documentation ? short : `${short}: ${remedy}`;
}

/** A key's name as words, where it has no label of its own. */
function plain(name: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[._-]/g, " ").toLowerCase().replaceAll(/\b(ssl|ca|id|url|sql|ttl)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
