import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.LATTICE_URL ?? "http://127.0.0.1:8083";

// Relative addresses: the same files work at whatever path the server mounts them.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: { target: "es2022", chunkSizeWarningLimit: 900 },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/connectors", "/connector-plugins", "/registry"].map((path) => [path, server]),
    ),
  },
  test: { include: ["src/**/*.test.ts"] },
});
