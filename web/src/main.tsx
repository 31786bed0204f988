import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HashRouter } from "react-router";
import { App } from "./app";
import { ToastProvider } from "./ui/toast";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";

// Routes live behind the "#": the paths themselves belong to Kafka Connect's REST API.
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <HashRouter>
      <ToastProvider>
        <App />
      </ToastProvider>
    </HashRouter>
  </StrictMode>,
);
