/** Runs in the browser. Everything from the server is shown as text, never as markup; nothing is stored. */
export const TRY_PAGE_SCRIPT = `
"use strict";
const at = (id) => document.getElementById(id);
const [login, field, operation, tool, fields, send, stop, status, answer, toolRow, summary, sent] =
  ["login", "token", "operation", "tool", "fields", "send", "stop", "status", "answer", "tool-row", "summary", "sent"].map(at);
let api;
let token = "";
let running;
let inputs = [];

const say = (text) => { status.textContent = text; };
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const resolve = (node) =>
  node && node.$ref ? resolve(node.$ref.slice(2).split("/").reduce((from, part) => from[part], api)) : node || {};
const authorized = (more) => ({ ...more, ...(token === "" ? {} : { authorization: "Bearer " + token }) });
const typeOf = (schema) => (Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type);

const chosen = () => {
  const [method, path] = operation.value.split(" ");
  return { method, path, details: api.paths[path][method.toLowerCase()] };
};
const variants = () => resolve({ $ref: "#/components/schemas/ToolRequest" }).oneOf;

/** One input per property: how it looks, and how its text becomes a value. Empty means left out. */
const inputFor = (given, required) => {
  const schema = resolve(given);
  const choices = schema.enum || ("const" in schema ? [schema.const] : undefined);
  if (choices) {
    const options = [...(required ? [] : [""]), ...choices].map((one) => make("option", { value: one, textContent: one }));
    return { element: make("select", {}, ...options), value: (text) => text };
  }
  const type = typeOf(schema);
  if (type === "boolean") {
    const options = ["", "true", "false"].map((one) => make("option", { value: one, textContent: one }));
    return { element: make("select", {}, ...options), value: (text) => text === "true" };
  }
  if (type === "integer" || type === "number") {
    const bounds = { min: schema.minimum ?? "", max: schema.maximum ?? "", step: type === "integer" ? 1 : "any" };
    return { element: make("input", { type: "number", ...bounds }), value: Number };
  }
  if (type === "string") return { element: make("textarea", { rows: 1, spellcheck: false }), value: (text) => text };
  const isList = type === "array" && typeOf(resolve(schema.items)) === "string";
  if (isList) {
    const element = make("textarea", { rows: 2, spellcheck: false, placeholder: "one per line" });
    return { element, value: (text) => text.split("\\n").filter(Boolean) };
  }
  return { element: make("textarea", { rows: 3, spellcheck: false, placeholder: "JSON" }), value: JSON.parse };
};

const addInput = (name, schema, required) => {
  const { element, value } = inputFor(schema, required);
  const about = resolve(schema);
  const preset = "default" in about && about.default !== null ? "default: " + JSON.stringify(about.default) : "";
  element.required = required;
  element.name = name;
  element.autocomplete = "off";
  const note = [about.description, preset].filter(Boolean).join(" ");
  const label = make("label", {}, name + (required ? " *" : ""), make("small", { textContent: note }), element);
  inputs.push({ name, read: () => (element.value === "" ? undefined : value(element.value)) });
  return label;
};

const propertiesOf = (schema, left = []) => {
  const { properties = {}, required = [] } = resolve(schema);
  return Object.entries(properties)
    .filter(([name]) => !left.includes(name))
    .map(([name, one]) => addInput(name, one, required.includes(name)));
};

const bodySchema = () => {
  const { details } = chosen();
  return details.requestBody && details.requestBody.content["application/json"].schema;
};
const chosenTool = () => (chosen().path === "/tool" ? variants().find(({ title }) => title === tool.value) : undefined);

const showForm = () => {
  const { details } = chosen();
  const variant = chosenTool();
  toolRow.hidden = variant === undefined;
  inputs = [];
  summary.textContent = [details.summary, variant && variant.description].filter(Boolean).join(" ");
  const schema = variant ? variant.properties.args : bodySchema();
  fields.replaceChildren(...(schema === undefined ? [] : propertiesOf(schema, ["session_id"])));
  sent.textContent = "";
};

/** The body as the form says it. */
const bodyOf = () => {
  const given = Object.fromEntries(inputs.map(({ name, read }) => [name, read()]).filter(([, one]) => one !== undefined));
  const variant = chosenTool();
  if (variant) return { session_id: "try", name: variant.title, args: given };
  const { properties = {} } = resolve(bodySchema());
  return "session_id" in properties ? { session_id: "try", ...given } : given;
};

/** JSON for people: texts as they are, everything else by indentation. */
const asText = (value, indent = "") => {
  if (typeof value === "string") return value.includes("\\n") ? "\\n" + value.replace(/^/gm, indent) : value;
  if (value === null || typeof value !== "object") return String(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return Array.isArray(value) ? "(none)" : "(empty)";
  return "\\n" + entries.map(([key, one]) =>
    indent + (Array.isArray(value) ? "- " : key + ": ") + asText(one, indent + "  ").replace(/^\\n {2}/, "\\n  ")).join("\\n");
};
const readable = (text) => {
  try { return asText(JSON.parse(text)).replace(/^\\n/, ""); } catch { return text; }
};

const describe = async () => {
  say("Loading…");
  const response = await fetch("openapi.json", { headers: authorized(), cache: "no-store" });
  const page = await response.json();
  if (response.status === 401 && token === "") { login.hidden = false; say("The server asks for its token."); return; }
  if (!response.ok) { token = ""; login.hidden = false; say([page.message, page.hint].filter(Boolean).join(" ")); return; }
  api = page;
  login.hidden = true;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.keys(methods).filter(() => path !== "/mcp").map((method) => method.toUpperCase() + " " + path));
  operation.replaceChildren(...operations.map((one) => make("option", { value: one, textContent: one })));
  operation.value = operations.includes("POST /tool") ? "POST /tool" : operations[0];
  tool.replaceChildren(...variants().map(({ title }) => make("option", { value: title, textContent: title })));
  at("request").disabled = false;
  at("form").hidden = false;
  showForm();
  say(variants().length + " tools.");
};

const call = async () => {
  const { method, path } = chosen();
  let body;
  try {
    body = method === "POST" ? JSON.stringify(bodyOf(), null, 2) : undefined;
  } catch (error) { say("A field is not valid JSON: " + error.message); return; }
  running = new AbortController();
  send.disabled = true;
  stop.disabled = false;
  answer.textContent = "";
  sent.textContent = method + " " + path + (body === undefined ? "" : "\\n" + body);
  say("Waiting…");
  const startedAt = performance.now();
  try {
    const headers = authorized(body === undefined ? {} : { "content-type": "application/json" });
    const response = await fetch(path.slice(1), { method, signal: running.signal, headers, body, cache: "no-store" });
    answer.textContent = readable(await response.text());
    const ms = Math.round(performance.now() - startedAt);
    say(response.status + " in " + ms + " ms, correlation id " + response.headers.get("x-correlation-id"));
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "No response: " + error.message);
  }
  send.disabled = false;
  stop.disabled = true;
};

const failed = (error) => say("No response: " + error.message);
/** The token is kept in a variable of this page and nowhere else. */
const logIn = () => { token = field.value.trim(); field.value = ""; describe().catch(failed); };
at("load").addEventListener("click", logIn);
field.addEventListener("keydown", (event) => { if (event.key === "Enter") logIn(); });
at("form").addEventListener("submit", (event) => { event.preventDefault(); call(); });
stop.addEventListener("click", () => running && running.abort());
operation.addEventListener("change", showForm);
tool.addEventListener("change", showForm);
addEventListener("pagehide", () => { token = ""; field.value = ""; answer.textContent = ""; });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
describe().catch(failed);
`;
