/** What a JavaScript program of a session finds: evaluated in the interpreter before its first turn. */
export const JAVASCRIPT_PRELUDE = String.raw`{
  const ask = (name, args) => tools[name](args);
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? String(value));
  const options = (given) => (given === undefined || given === null ? {} : given);
  define("context", "");
  define("print", (...values) => console.log(...values));
  define("lines", (from = 1, to = from + 99) => context.split("\n").slice(from - 1, to).join("\n"));
  const atLeastOne = (size) => Math.max(1, Math.floor(size) || 1);
  define("chunks", (given = 20000, overlap = 0) => {
    const size = atLeastOne(given);
    const step = Math.max(1, size - Math.max(0, Math.floor(overlap) || 0));
    const found = [];
    for (let at = 0; at < context.length; at += step) found.push(context.slice(at, at + size));
    return found;
  });
  define("lineChunks", (given = 20000) => {
    const size = atLeastOne(given);
    const found = [];
    for (let at = 0; at < context.length; ) {
      const piece = context.slice(at, at + size);
      const last = at + size >= context.length ? -1 : piece.lastIndexOf("\n");
      found.push(last < 0 ? piece : piece.slice(0, last + 1));
      at += found.at(-1).length;
    }
    return found;
  });
  define("grep", async (pattern, given) => ask("grep", {
    pattern: pattern instanceof RegExp ? (pattern.ignoreCase ? "" : "(?-i)") + pattern.source : String(pattern),
    ...options(given),
  }));
  define("rank", async (query, given) => ask("rank", { query: String(query), ...options(given) }));
  define("outline", async () => ask("outline", {}));
  define("symbol", async (name) => ask("symbol", { name: String(name) }));
  define("llm", async (prompt) => ask("llm", { prompt: text(prompt) }));
  define("llmBatch", async (prompts) => ask("llmBatch", { prompts: Array.from(prompts, text) }));
  define("rlm", async (task, part = context, given) =>
    ask("rlm", {
      task: text(task),
      ...(typeof part === "string" ? (part === context ? {} : { context: part }) : { start: part.start, end: part.end }),
      ...options(given),
    }));
  define("budget", async () => ask("budget", {}));
  // Nobody waits for these: what was refused would be lost without a word.
  const tell = (name, args) => void ask(name, args).catch((error) => console.log(name + ": " + error.message));
  define("draft", (value) => tell("draft", { value: value === undefined ? null : value }));
  define("finish", (value, given) =>
    tell("finish", { value: value === undefined ? null : value, ...options(given) }));
}`;

/** Adds a piece of the context; a large one comes in several. The interpreter keeps them as pieces until it needs the whole. */
export const JAVASCRIPT_ADD = "context += inputs.text; inputs.text = ''; undefined";

/** Makes one text of the pieces, at half the memory that joining a list of them takes. */
export const JAVASCRIPT_JOIN = "context.charCodeAt(0); undefined";
