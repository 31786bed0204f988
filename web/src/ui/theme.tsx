// Light, dark, or what the system says.
import { useEffect, useState } from "react";
import { Segmented } from "./parts";

type Theme = "system" | "light" | "dark";
const KEY = "lattice.theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function apply(theme: Theme) {
  const effective = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset["theme"] = effective;
}

apply(stored());

export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    apply(theme);
    const follow = () => apply(theme);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, [theme]);
  const choose = (next: Theme) => {
    // On a narrow screen one button stands for all three: it goes to the next.
    const order: Theme[] = ["light", "dark", "system"];
    const chosen = next === theme ? order[(order.indexOf(theme) + 1) % 3]! : next;
    setTheme(chosen);
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
  };
  return (
    <Segmented
      label="Theme"
      value={theme}
      onChange={choose}
      options={[
        { id: "light", title: "Light theme", icon: "sun" },
        { id: "dark", title: "Dark theme", icon: "moon" },
        { id: "system", title: "System theme", icon: "system" },
      ]}
    />
  );
}
