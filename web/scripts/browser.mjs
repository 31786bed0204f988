// A headless Chromium of its own for tests and screenshots.
import { chromium } from "playwright-core";

export async function launch() {
  const executablePath = process.env.LATTICE_CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}
