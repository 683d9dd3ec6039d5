import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FIRST_MODEL } from "../../src/base/first-model.ts";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import {
  anthropicAnswer,
  type ModelServer,
  messagesOf,
  openaiAnswer,
  openModelServer,
  sendJson,
  startModelServer,
} from "../model-server.ts";
import { launcher } from "../workspace.ts";
import { atTerminal } from "./at-terminal.ts";
import { findBrowser, openBrowser } from "./browser.ts";

const MARKER = "zebra-7481-marker";
const TEXT = `${"a line of the text\n".repeat(500)}the code is ${MARKER}\n${"another line\n".repeat(500)}`;

const program = (code: string): string => `\`\`\`js\n${code}\n\`\`\``;

/** Looks for the marker in two turns, with sub-calls and an analysis of a part. */
const reply = (messages: readonly { readonly content: string }[]): string => {
  const [system, first] = messages;
  if (system?.content.startsWith("You answer a question about a text") !== true)
    return `about ${messages[1]?.content}`;
  if (first?.content.includes("\nthe child's task\n") === true)
    return program("finish('<b>' + context.length + '</b>')");
  return messages.length === 2
    ? program('const hit = (await grep("the code is")).hits[0]; print(hit.text)')
    : program(
        `const parts = await llmBatch(["<script>one</script>", "two"]);
const child = await rlm("the child's task", {start: 0, end: 50});
finish(hit.text + child, {evidence: [{start: hit.start, end: hit.end}]})`,
      );
};

describe("llmc rlm", () => {
  let server: ModelServer;
  let root: string;
  let state: string;
  const cleanups: (() => Promise<void> | void)[] = [];
  const llmc = (...args: readonly string[]) =>
    runLlmc(root, ["rlm", ...args], { env: { XDG_STATE_HOME: state } });
  const set = (...settings: readonly string[]): readonly string[] =>
    settings.flatMap((one) => ["--set", `mcp.${one}`]);
  const models = (): readonly string[] =>
    set(
      `llm.openai_url=${server.url}/v1`,
      "llm.openai_key_env=",
      'llm.prices=["openai/m=1/2"]',
      "rlm.root_model=openai/m",
    );

  beforeAll(async () => {
    server = await startModelServer((response, request) =>
      sendJson(response, openaiAnswer(reply(messagesOf(request)))),
    );
    state = tempWorkspace({}, (work) => void cleanups.push(work));
    root = tempWorkspace({ "notes.txt": TEXT }, (work) => void cleanups.push(work));
  });
  afterAll(async () => {
    for (const work of cleanups) await work();
    await server[Symbol.asyncDispose]();
  });

  test("REQ-L10: the estimate sends nothing; without a model the refusal names the command that uses one, and what to write", async () => {
    const connections = server.connections();
    const { code, out, err } = await llmc(
      "query",
      "which code?",
      "--file",
      "notes.txt",
      "--estimate",
      "--json",
      ...models(),
    );
    expect(err).toBe("");
    expect(code).toBe(0);
    // The tool's own word for it.
    const byPath = await llmc(
      "query",
      "which code?",
      "--path",
      "notes.txt",
      "--estimate",
      "--json",
      ...models(),
    );
    expect(JSON.parse(byPath.out)).toEqual(JSON.parse(out));
    expect(JSON.parse(out)).toMatchObject({
      root_model: "openai/m",
      context_bytes: TEXT.length,
      worst_case_usd: 1,
    });
    const [first, whole] = [JSON.parse(out).first_call_usd, JSON.parse(out).one_prompt_usd];
    expect(first).toBeGreaterThan(0);
    expect(whole).toBeGreaterThan(first);
    expect(server.connections()).toBe(connections);
    // The bounds of the tool hold, and a model on this machine costs nothing.
    const estimate = (...more: readonly string[]) =>
      llmc("query", "t", "--context", "x", "--estimate", "--json", ...models(), ...more);
    for (const flags of [
      ["--budget-usd", "0"],
      ["--max-turns", "0"],
      ["--max-turns", "11"],
      ["--max-turns", "abc"],
    ])
      expect((await estimate(...flags)).err).toContain("Invalid arguments");
    const free = await estimate("--set", "mcp.llm.prices=[]", "--set", "mcp.rlm.root_model=openai/free");
    expect(JSON.parse(free.out || "{}"), free.err).toMatchObject({ first_call_usd: 0, worst_case_usd: 0 });
    const unknown = ["--set", "mcp.llm.prices=[]", "--set", "mcp.rlm.profile=unrestricted"];
    const unpriced = await estimate(...unknown);
    expect(JSON.parse(unpriced.out || "{}"), unpriced.err).toMatchObject({
      first_call_usd: null,
      worst_case_usd: null,
    });
    const shown = await llmc("query", "t", "--context", "x", "--estimate", ...models(), ...unknown);
    expect(shown.out).toContain("the whole analysis: unknown (no price), so budget_usd cannot hold");
    const unread = await llmc("query", "which code?", "--context", "x");
    expect(unread.code).not.toBe(0);
    // Both ways that the refusal and the help name are tried as they are written.
    const { once, lines, trust } = FIRST_MODEL;
    for (const shown of [unread.err, (await llmc("--help")).out])
      for (const part of [once, trust, ...lines]) expect(shown).toContain(part);
    const ollama = set(`llm.ollama_url=${server.url}`);
    const [, , , ...flags] = once.split(" ");
    expect(flags).toEqual(['"TASK"', "--file", "FILE", "--set", expect.any(String)]);
    const tried = ["query", "which code?", "--file", "notes.txt", "--set", flags.at(-1) ?? ""];
    expect((await llmc(...tried, ...ollama)).out).toContain(MARKER);
    const home = tempWorkspace({ "notes.txt": TEXT }, (work) => void cleanups.push(work));
    writeFileSync(join(home, "llmc.toml"), `${lines.join("\n")}\n`);
    const env = { XDG_STATE_HOME: state };
    expect((await runLlmc(home, [...trust.split(" ").slice(1), "--yes"], { env })).code).toBe(0);
    const kept = await runLlmc(home, ["rlm", ...tried.slice(0, 4), ...ollama], { env });
    expect(kept.out, kept.err).toContain(MARKER);
  });

  test("REQ-L10 REQ-L7 REQ-L8: query, trace, page, record and replay", async () => {
    const common = ["query", "which code?", "--file", "notes.txt"];
    const recorded = await llmc(
      ...common,
      "--json",
      "--trace",
      "trace.json",
      "--record",
      "tape.json",
      "--budget-usd",
      "0.5",
      ...models(),
    );
    expect(recorded.code).toBe(0);
    const output = JSON.parse(recorded.out) as { data: { answer: string; budget_summary: object } };
    expect(output.data.answer).toBe(`the code is ${MARKER}<b>50</b>`);
    expect(output.data.budget_summary).toMatchObject({ budget_usd: 0.5, calls: 5, turns: 3 });
    expect(recorded.err).toContain("llmc rlm view trace.json");

    // Unless asked, a trace has sizes and digests alone.
    const trace = readFileSync(join(root, "trace.json"), "utf8");
    expect(trace).not.toContain(MARKER);
    expect(trace).not.toContain("which code?");
    expect(JSON.parse(trace)).toMatchObject({
      llmc_trace: 1,
      outcome: "ok",
      nodes: [{ id: "0" }, { id: "0.1" }],
    });
    expect(statSync(join(root, "trace.json")).mode & 0o077).toBe(0);

    // Moved, not copied: nothing of it is left in the state folder.
    expect(readdirSync(state, { recursive: true }).map(String).join()).not.toContain("rlm-");

    // The cassette answers the same, byte for byte, and nobody is connected to.
    const asked = server.requests.length;
    const replayed = await llmc(
      ...common,
      "--json",
      "--replay",
      "tape.json",
      "--strict",
      "--budget-usd",
      "0.5",
      "--trace",
      "again.json",
      "--trace-content",
      ...models(),
    );
    expect(replayed.code, replayed.err).toBe(0);
    expect(server.requests.length).toBe(asked);
    expect(replayed.out).toBe(recorded.out);
    const second = JSON.parse(readFileSync(join(root, "again.json"), "utf8"));
    expect(second.trajectory).toBe(JSON.parse(trace).trajectory);
    expect(JSON.stringify(second)).toContain(MARKER);

    // Another question is not on the tape.
    const other = await llmc(
      "query",
      "another?",
      "--file",
      "notes.txt",
      "--replay",
      "tape.json",
      ...models(),
    );
    expect(other.err).toContain("The cassette has no answer");
    expect(server.requests.length).toBe(asked);
  });

  test("REQ-L7: the page of a trace in a real browser: tree, timeline, nothing of the texts unless asked, no script", async ({
    skip,
  }) => {
    const browser = findBrowser();
    if (browser === undefined) skip("this machine has no browser");
    const hidden = await llmc("view", "again.json", "--out", "hidden.html");
    expect(hidden).toMatchObject({ code: 0, out: "hidden.html\n" });
    const shown = await llmc("view", "again.json", "--content");
    expect(shown.out).toBe("again.html\n");
    expect(readFileSync(join(root, "hidden.html"), "utf8")).not.toContain(MARKER);
    await using page = await openBrowser(browser ?? "");
    await page.open(pathToFileURL(join(root, "again.html")).href);
    const facts = await page.evaluate<Record<string, unknown>>(`({
      outcome: document.querySelector("#outcome").textContent,
      cost: document.querySelector("#cost").textContent,
      nodes: document.querySelectorAll("#tree .node").length,
      nested: document.querySelectorAll("#tree .node .node").length,
      turns: document.querySelectorAll("#tree .turn").length,
      calls: document.querySelectorAll("#tree .call").length,
      bars: document.querySelectorAll("#timeline .bar").length,
      scripts: document.scripts.length,
      bold: document.querySelectorAll("#tree pre b").length,
      wide: [...document.querySelectorAll("#timeline .bar")].every((bar) => bar.getBoundingClientRect().width > 0),
      text: document.querySelector("#tree").textContent.includes(${JSON.stringify(MARKER)}),
      prompt: document.querySelector("#tree").textContent.includes("<script>one</script>"),
    })`);
    expect(facts).toEqual({
      outcome: "ok",
      cost: expect.stringMatching(/^\$0\.0001/),
      nodes: 2,
      nested: 1,
      turns: 3,
      calls: 2,
      bars: 8,
      scripts: 0,
      bold: 0,
      wide: true,
      text: true,
      prompt: true,
    });
  });

  test("REQ-L10 REQ-L11: at a terminal the tree grows line by line, with the spending on the last line", async () => {
    const command = [launcher, "rlm", "query", "which code?", "--file", "notes.txt", ...models()];
    const { shown, code } = await atTerminal(command, { cwd: root });
    expect(code, shown).toBe(0);
    expect(shown).toContain("0  turn 1/5\n");
    expect(shown).toContain("  0.1  analysis with openai/m\n");
    expect(shown).toContain("  0.1  ended: ok\n");
    expect(shown).toContain("  call 0:1 openai/m: ok\n");
    expect(shown).toContain("  call 0:2 openai/m: ok\n");
    expect(shown).toMatch(/[█░]{20} \$0\.\d{4} of \$1\.00 {2}turn 2\/5 {2}\d calls/);
    expect(shown).toContain(`the code is ${MARKER}`);
    expect(shown).toMatch(/3 turns, 5 calls, \$0\.0001, openai\/m/);
  });

  test("REQ-L7: at a terminal with a screen the page is opened; elsewhere, and with --print, its name is printed", async () => {
    const bin = join(root, "opener");
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > ${join(root, "opened")}\n`);
    chmodSync(join(bin, "xdg-open"), 0o755);
    const view = (env: Readonly<Record<string, string>>, ...more: readonly string[]) =>
      atTerminal([launcher, "rlm", "view", "again.json", "--out", "opened.html", ...more], {
        cwd: root,
        env: { PATH: `${bin}:${process.env["PATH"]}`, DISPLAY: "", WAYLAND_DISPLAY: "", ...env },
      });
    expect(await view({})).toEqual({ shown: "opened.html\n", code: 0 });
    expect(await view({ DISPLAY: ":0" }, "--print")).toEqual({ shown: "opened.html\n", code: 0 });
    expect(existsSync(join(root, "opened"))).toBe(false);
    expect(await view({ DISPLAY: ":0" })).toEqual({ shown: "opened.html\n", code: 0 });
    await vi.waitFor(() => expect(readFileSync(join(root, "opened"), "utf8")).toBe(`${root}/opened.html\n`), {
      timeout: 5000,
    });
  });

  test("REQ-L10: limits are named as the command line spells them", async () => {
    const large = await llmc("query", "x", "--file", "notes.txt", "--max-bytes", "10", ...models());
    expect(large.err).toContain("Raise --max-bytes (up to 104857600)");
    const dear = await llmc(
      "query",
      "x".repeat(4000),
      "--file",
      "notes.txt",
      "--budget-usd",
      "0.01",
      ...models(),
    );
    expect(dear.err).toContain("Raise --budget-usd");
  });

  test("REQ-L4: turns are marked for the provider's prompt cache, prompts that are asked once are not", async () => {
    const provider = await openModelServer((response, { text }) => {
      const isTurn = text.includes("You answer a question about a text");
      const usage = isTurn
        ? {
            input_tokens: 10,
            output_tokens: 10,
            cache_creation_input_tokens: 2000,
            cache_read_input_tokens: 0,
          }
        : { input_tokens: 1000, output_tokens: 10 };
      const answer = isTurn ? program("finish((await llmBatch(['one', 'two'])).join())") : "an answer";
      sendJson(response, { ...anthropicAnswer(answer), usage });
    });
    const { code, out, err } = await runLlmc(
      root,
      [
        ...["rlm", "query", "which?", "--file", "notes.txt", "--json"],
        ...set(
          `llm.anthropic_url=${provider.url}`,
          "rlm.profile=unrestricted",
          "rlm.root_model=anthropic/claude-sonnet-4-5",
        ),
      ],
      { env: { ANTHROPIC_API_KEY: "sk-test", XDG_STATE_HOME: state } },
    );
    expect(code, err).toBe(0);
    expect(provider.requests.map(({ text }) => text.includes("cache_control"))).toEqual([true, false, false]);
    const { budget_summary: summary } = JSON.parse(out).data;
    // 2,000 tokens written to the cache at 3.75 dollars a million, and nothing read from it.
    expect(summary.total_cost_usd).toBeCloseTo((10 * 3 + 2000 * 3.75 + 2000 * 3 + 30 * 15) / 1e6, 9);
    expect(summary.cache_saved_usd).toBe(0);
  });

  test("REQ-L10: a file that is no trace, and a question without a text, are refused", async () => {
    writeFileSync(join(root, "other.json"), "{}");
    expect((await llmc("view", "other.json")).err).toContain("not a trace");
    expect((await llmc("view", "missing.json")).err).toContain("does not exist");
    expect((await llmc("query", "x", ...models())).err).toContain("--file, or --context");
    const outside = await llmc("query", "x", "--file", "../../etc/passwd", ...models());
    expect(outside.err).toContain("outside the allowed roots");
  });
});
