import { createHash } from "node:crypto";

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
form, fieldset { display: grid; gap: .75rem; border: 0; padding: 0; margin: 0; }
label { display: grid; gap: .25rem; font-weight: 600; }
small { font-weight: 400; opacity: .8; }
input, select, textarea, button { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; }
textarea { font-family: ui-monospace, monospace; min-height: 12rem; }
button { cursor: pointer; }
pre { overflow: auto; max-height: 30rem; padding: .75rem; border: 1px solid currentColor; white-space: pre-wrap; overflow-wrap: anywhere; }
[role=status] { min-height: 1.5rem; position: sticky; top: 0; padding: .25rem 0; background: Canvas; }
[hidden] { display: none !important; }
`;

/** Runs in the browser. Everything from the server is shown as text, never as markup. */
const SCRIPT = `
"use strict";
const at = (id) => document.getElementById(id);
const [token, load, operation, tool, body, send, stop, status, answer, toolRow, says] =
  ["token", "load", "operation", "tool", "body", "send", "stop", "status", "answer", "tool-row", "says"].map(at);
let api;
let header = "X-LLMC-Token";
let running;

const say = (text) => { status.textContent = text; };
const resolve = (node) =>
  node && node.$ref ? resolve(node.$ref.slice(2).split("/").reduce((from, part) => from[part], api)) : node || {};
const authorized = (more) => ({ ...more, ...(token.value === "" ? {} : { [header]: token.value }) });

const example = (given) => {
  const schema = resolve(given);
  if ("const" in schema) return schema.const;
  if ("default" in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  const first = (schema.oneOf || schema.anyOf || [])[0];
  if (first) return example(first);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "object":
      return Object.fromEntries((schema.required || []).map((key) => [key, example((schema.properties || {})[key])]));
    case "array": return [];
    case "integer": case "number": return schema.minimum || 1;
    case "boolean": return false;
    default: return "";
  }
};

const option = (value) => Object.assign(document.createElement("option"), { value, textContent: value });
const chosen = () => {
  const [method, path] = operation.value.split(" ");
  return { method, path, details: api.paths[path][method.toLowerCase()] };
};
const variants = () => resolve({ $ref: "#/components/schemas/ToolRequest" }).oneOf;

const showBody = () => {
  const { path, details } = chosen();
  const isTool = path === "/tool";
  toolRow.hidden = !isTool;
  const variant = isTool ? variants().find(({ title }) => title === tool.value) : undefined;
  const schema = variant || (details.requestBody && details.requestBody.content["application/json"].schema);
  says.textContent = [details.summary, variant && variant.description].filter(Boolean).join(" ");
  body.parentElement.hidden = schema === undefined;
  if (schema === undefined) { body.value = ""; return; }
  const value = example(schema);
  if ("session_id" in value) value.session_id = "try";
  if (variant) value.args = example(variant.properties.args);
  body.value = JSON.stringify(value, null, 2);
};

const describe = async () => {
  say("Loading…");
  const response = await fetch("openapi.json", { headers: authorized() });
  const document = await response.json();
  if (!response.ok) { say(document.message + " " + (document.hint || "")); return; }
  api = document;
  header = api.components.securitySchemes.token.name;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.keys(methods).filter(() => path !== "/mcp").map((method) => method.toUpperCase() + " " + path));
  operation.replaceChildren(...operations.map(option));
  operation.value = operations.includes("POST /tool") ? "POST /tool" : operations[0];
  tool.replaceChildren(...variants().map(({ title }) => option(title)));
  at("request").disabled = false;
  showBody();
  say(variants().length + " tools.");
};

const pretty = (text) => {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
};

const call = async () => {
  const { method, path } = chosen();
  running = new AbortController();
  send.disabled = true;
  stop.disabled = false;
  answer.textContent = "";
  say("Waiting…");
  const startedAt = performance.now();
  try {
    const response = await fetch(path.slice(1), {
      method,
      signal: running.signal,
      headers: authorized(method === "POST" ? { "content-type": "application/json" } : {}),
      ...(method === "POST" ? { body: body.value } : {}),
    });
    answer.textContent = pretty(await response.text());
    const ms = Math.round(performance.now() - startedAt);
    say(response.status + " in " + ms + " ms, correlation id " + response.headers.get("x-correlation-id"));
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "No response: " + error.message);
  }
  send.disabled = false;
  stop.disabled = true;
};

const failed = (error) => say("No response: " + error.message);
at("login").addEventListener("submit", (event) => { event.preventDefault(); describe().catch(failed); });
at("form").addEventListener("submit", (event) => { event.preventDefault(); call(); });
stop.addEventListener("click", () => running && running.abort());
operation.addEventListener("change", showBody);
tool.addEventListener("change", showBody);
`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Allows nothing from other origins, nothing inline except the two texts above, and no framing. */
export const TRY_PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const TRY_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>llmc: try it</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>llmc: try it</h1>
<form id="login">
<label>Token <small>It stays in this page.</small>
<input id="token" type="password" autocomplete="off" spellcheck="false"></label>
<button id="load">Load the endpoints</button>
</form>
<p id="status" role="status" aria-live="polite"></p>
<form id="form">
<fieldset id="request" disabled>
<label>Endpoint <select id="operation"></select></label>
<label id="tool-row">Tool <select id="tool"></select></label>
<p id="says"></p>
<label>Body <textarea id="body" spellcheck="false"></textarea></label>
<button id="send">Send</button>
<button id="stop" type="button" disabled>Stop</button>
</fieldset>
</form>
<h2>Answer</h2>
<pre id="answer" tabindex="0" aria-label="Answer"></pre>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
