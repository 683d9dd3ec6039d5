import { describe, expect, test } from "vitest";
import { openTestApp, TEST_CALLER } from "../../../test/app.ts";
import { examineFlows } from "../../wiring/doctor-flows.ts";
import { createFlows } from "../../wiring/flow-wiring.ts";
import { flowsOver } from "./flow.ts";
import { type CheckArguments, readFlow, readInputs } from "./read-flow.ts";
import { runFlow } from "./run-flow.ts";

const check: CheckArguments = async (tool) => (/^(?:kb_|read_file|stat)/.test(tool) ? [] : undefined);
const read = (value: unknown) => readFlow({ name: "f.toml", text: JSON.stringify(value), value }, check);

const STEP = { id: "a", kind: "tool", tool: "stat", args: { path: "{{inputs.path}}" } };
const FLOW = { id: "f", inputs: { path: { type: "string", required: true } }, steps: [STEP] };

describe("declared flows: REQ-K6", () => {
  test.each([
    ["no steps", { ...FLOW, steps: [] }, /1 to 50 steps/],
    ["an unknown kind", { ...FLOW, steps: [{ ...STEP, kind: "shell" }] }, /not of kind/],
    ["an unknown key", { ...FLOW, steps: [{ ...STEP, run: "x" }] }, /unknown key run/],
    ["an unknown key of its own", { ...FLOW, descripton: "x" }, /it has the unknown key descripton/],
    [
      "an unknown key of an input",
      { ...FLOW, inputs: { path: { type: "string", requird: true } } },
      /input path has the unknown key requird/,
    ],
    ["an unknown tool", { ...FLOW, steps: [{ ...STEP, tool: "no_such" }] }, /unknown tool/],
    ["a program", { ...FLOW, steps: [{ ...STEP, tool: "execute_code" }] }, /cannot call execute_code/],
    ["itself", { ...FLOW, steps: [{ ...STEP, tool: "kb.compose_flow" }] }, /cannot call/],
    [
      "a reference to nothing",
      { ...FLOW, steps: [{ ...STEP, args: { path: "{{inputs.no}}" } }] },
      /refers to inputs.no/,
    ],
    [
      "an item without a list",
      { ...FLOW, steps: [{ ...STEP, args: { path: "{{item}}" } }] },
      /refers to item/,
    ],
    [
      "an item in the list that items come from",
      { ...FLOW, steps: [{ ...STEP, for_each: "item" }] },
      /refers to item/,
    ],
    [
      "an item in a condition, which is asked once for all items",
      { ...FLOW, steps: [{ ...STEP, for_each: "inputs.path", when: "item.name" }] },
      /refers to item\.name/,
    ],
    ["the same id twice", { ...FLOW, steps: [STEP, STEP] }, /two steps/],
    [
      "a cycle",
      {
        ...FLOW,
        steps: [
          { ...STEP, needs: ["b"] },
          { ...STEP, id: "b", when: "steps.a.x" },
        ],
      },
      /a, b wait for each other/,
    ],
    [
      "a wrong default",
      { ...FLOW, inputs: { path: { type: "number", default: "x" } } },
      /default of input path/,
    ],
    ["a timeout of no length", { ...FLOW, steps: [{ ...STEP, timeout_ms: 0 }] }, /timeout_ms/],
  ])("refused when it is loaded: %s", async (_, value, message) => {
    await expect(read(value)).rejects.toThrow(message);
  });

  test("inputs are checked", async () => {
    const flow = await read(FLOW);
    expect(readInputs(flow, { path: "x" })).toEqual({ path: "x" });
    for (const given of [{}, { path: 1 }, { path: "x", more: 1 }])
      expect(() => readInputs(flow, given)).toThrow(/cannot run/);
  });

  test("independent steps run at the same time, others wait; conditions and lists decide", async () => {
    const flow = await read({
      id: "f",
      steps: [
        { id: "left", kind: "kb", collection: "hand", query: "a" },
        { id: "right", kind: "kb", collection: "hand", query: "b" },
        {
          id: "each",
          kind: "tool",
          tool: "stat",
          args: { path: "{{item.name}}" },
          for_each: "steps.left.hits",
        },
        { id: "never", kind: "tool", tool: "stat", args: {}, when: "steps.right.hits" },
      ],
    });
    let running = 0;
    let peak = 0;
    const { results, citations, timings } = await runFlow(flow, {}, async (tool, args) => {
      peak = Math.max(peak, ++running);
      await new Promise((done) => setTimeout(done, 20));
      running--;
      if (tool === "stat") return args;
      const isLeft = JSON.stringify(args).includes('"a"');
      return {
        hits: isLeft
          ? [
              { name: "x", citation: { title: "T" } },
              { name: "y", citation: { title: "T" } },
            ]
          : [],
      };
    });
    expect(peak).toBeGreaterThan(1);
    expect(results["each"]).toEqual([{ path: "x" }, { path: "y" }]);
    expect(results).not.toHaveProperty("never");
    expect(citations).toEqual([{ title: "T" }]);
    expect(Object.keys(timings).toSorted()).toEqual(["each", "left", "right"]);
  });

  test("once a call fails, no other is begun, and the flow fails with it after those under way", async () => {
    const flow = await read({
      id: "f",
      steps: [
        { id: "list", kind: "kb", collection: "hand", query: "a" },
        {
          id: "each",
          kind: "tool",
          tool: "stat",
          args: { path: "{{item}}" },
          for_each: "steps.list.hits",
        },
        { id: "slow", kind: "kb", collection: "hand", query: "b" },
        { id: "after", kind: "tool", tool: "stat", args: { path: "after" }, needs: ["slow"] },
      ],
    });
    const begun: unknown[] = [];
    let underWay = 0;
    const call = async (tool: string, args: unknown): Promise<unknown> => {
      if (tool !== "stat" && !JSON.stringify(args).includes('"b"'))
        return { hits: Array.from({ length: 20 }, (_, at) => `${at}`) };
      begun.push(args);
      underWay++;
      await new Promise((done) => setTimeout(done, begun.length === 2 ? 5 : 30));
      underWay--;
      if (JSON.stringify(args) === '{"path":"0"}') throw new Error("item 0 failed");
      return {};
    };
    await expect(runFlow(flow, {}, call)).rejects.toThrow("item 0 failed");
    expect(underWay).toBe(0);
    expect(begun).toHaveLength(5);
    await new Promise((done) => setTimeout(done, 60));
    expect(begun).toHaveLength(5);
  });

  test("a flow belongs to the collections that its steps search, and those that they ask", async () => {
    const flow = await read({
      id: "f",
      steps: [
        { id: "find", kind: "kb", collection: "hand", query: "a" },
        { id: "say", kind: "answer", query: "a", filters: { collection: "other" } },
      ],
    });
    expect(["hand", "other", "third"].map((name) => flowsOver([flow], name))).toEqual([["f"], ["f"], []]);
  });

  test("a step that takes too long ends the flow", async () => {
    const flow = await read({ ...FLOW, steps: [{ ...STEP, timeout_ms: 20 }] });
    const hangs = (_: string, __: unknown, signal: AbortSignal) =>
      new Promise((__done, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    await expect(runFlow(flow, { path: "x" }, hangs)).rejects.toMatchObject({ code: "timeout" });
  });

  test("FAIL-D11 what a step refers to is put together up to a bound, and its tool is not called beyond", async () => {
    const flow = await read({ ...FLOW, steps: [{ ...STEP, args: { path: "{{inputs.path}}".repeat(500) } }] });
    const sizes: number[] = [];
    const call = async (_: string, args: unknown) => sizes.push(JSON.stringify(args).length);
    await runFlow(flow, { path: "x".repeat(1000) }, call);
    await expect(runFlow(flow, { path: "x".repeat(1_000_000) }, call)).rejects.toMatchObject({
      code: "invalid_args",
    });
    expect(sizes).toEqual([500_011]);
  });

  test("FAIL-D6 FAIL-D11 also of references by themselves, and of what all steps give", async () => {
    const args = { path: Array.from({ length: 15_000 }, () => "{{steps.list}}") };
    const flow = await read({
      id: "f",
      steps: [
        { ...STEP, id: "list", args: { path: "x" } },
        { ...STEP, args },
      ],
    });
    const called: unknown[] = [];
    const large = async (_: string, given: unknown) => {
      called.push(given);
      return { text: "x".repeat(30_000) };
    };
    await expect(runFlow(flow, {}, large)).rejects.toMatchObject({ code: "invalid_args" });
    expect(called).toEqual([{ path: "x" }]);
    const items = { ...STEP, for_each: "steps.list.hits", args: { path: "{{item}}" } };
    const many = await read({ id: "f", steps: [{ ...STEP, id: "list", args: { path: "x" } }, items] });
    const hits = Array.from({ length: 50 }, (_, at) => `${at}`);
    const page = async (_: string, given: unknown) =>
      JSON.stringify(given) === '{"path":"x"}' ? { hits } : { text: "x".repeat(400_000) };
    await expect(runFlow(many, {}, page)).rejects.toThrow(/^What the steps of the flow give has more than/);
  });

  test("a list that is too long for a step is refused, not cut", async () => {
    const flow = await read({
      id: "f",
      steps: [
        { id: "list", kind: "kb", collection: "hand", query: "a" },
        { id: "each", kind: "tool", tool: "stat", args: { path: "{{item}}" }, for_each: "steps.list.hits" },
      ],
    });
    const call = (count: number) => async (tool: string) =>
      tool === "stat" ? {} : { hits: Array.from({ length: count }, (_, at) => `${at}`) };
    expect((await runFlow(flow, {}, call(50))).results["each"]).toHaveLength(50);
    await expect(runFlow(flow, {}, call(51))).rejects.toThrow(
      "The step each would run for 51 items; a step runs for at most 50.",
    );
  });

  test("a flow is denied until the user agrees, before it is looked up: REQ-T7 REQ-I5", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n',
      files: {
        "flows/look.toml":
          'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "note.md" }\n',
        "note.md": "hello flow",
      },
    });
    expect(await app.errorCode("kb_compose_flow", { flow_id: "look" })).toBe("PERMISSION_DENIED");
    expect(await app.errorCode("kb_compose_flow", { flow_id: "no-such" })).toBe("PERMISSION_DENIED");
    const asked = await app.ask(
      "kb_compose_flow",
      { flow_id: "look" },
      { canAsk: () => true, canConsent: true },
    );
    expect(asked).toMatchObject({ kind: "questions" });
    if (asked.kind !== "questions") return;
    expect(JSON.stringify(asked.questions)).toContain("Allow flow execution?");
    const answered = await app.ask(
      "kb_compose_flow",
      { flow_id: "look" },
      { canAsk: () => true, canConsent: true, state: asked.state, answers: { grant: { action: "accept" } } },
    );
    expect(JSON.stringify(answered)).toContain("hello flow");
    expect(await app.errorCode("linux_fs_write", { path: "flows/x.toml", content: "id = 1" })).toBe(
      "INVALID_PATH",
    );
  });
});

/** Files of a folder, loaded with the real tools. */
const loadFiles = async (files: Readonly<Record<string, string>>) => {
  const app = await openTestApp({
    config: '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n[mcp.tools]\nenable_run_cmd = false\n',
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [`flows/${name}`, text])),
  });
  const config = () => app.config.current().config;
  const declared = await createFlows({
    root: app.root,
    config,
    digests: () => undefined,
    onBroken: () => {},
  })();
  const problems = declared.flatMap((one) => ("error" in one ? [one.error.message] : []));
  return { app, ids: declared.flatMap((one) => ("error" in one ? [] : [one.id])), problems };
};

const step = (tool: string, args: string, id = "read"): string =>
  `[[steps]]\nid = "${id}"\nkind = "tool"\ntool = "${tool}"\nargs = { ${args} }\n`;
const GOOD = `id = "good"\n${step("read_file", 'path = "note.md"')}`;
const ALLOWED = { canAsk: () => true, canConsent: true };

describe("files of flows: REQ-K6", () => {
  test.each([
    ["broken TOML", "bad.toml", 'id = "bad"\n[[steps]\n', /bad\.toml:2 cannot be used: it is not valid TOML/],
    ["broken JSON", "bad.json", '{\n"id": "bad",\n]', /bad\.json:3 cannot be used: it is not valid JSON/],
    ["no table", "bad.json", "[]", /bad\.json cannot be used: it is not a table/],
    ["an id of another kind", "bad.toml", `id = "../x"\n${step("stat", 'path = "a"')}`, /has no id of/],
    [
      "an unknown tool",
      "bad.toml",
      `id = "bad"\n${step("no_such", "")}`,
      /bad\.toml:3 .* unknown tool no_such/,
    ],
    [
      "a tool that is switched off",
      "bad.toml",
      `id = "bad"\n${step("run_cmd", 'command = "ls"')}`,
      /unknown tool run_cmd/,
    ],
    [
      "an argument of the wrong type",
      "bad.toml",
      `id = "bad"\n${step("stat", "path = 7")}`,
      /bad\.toml:3 .* step read calls stat with path: /,
    ],
    ["an argument that there is not", "bad.toml", `id = "bad"\n${step("stat", 'path = "a", x = 1')}`, /"x"/],
    ["a missing argument", "bad.toml", `id = "bad"\n${step("stat", "")}`, /calls stat with path: /],
    [
      "a number out of bounds",
      "bad.json",
      '{"id": "bad", "steps": [{"id": "s", "kind": "kb", "collection": "h", "query": "q", "top_k": 500}]}',
      /bad\.json:1 .* top_k: /,
    ],
    [
      "the id of another file",
      "bad.toml",
      GOOD.replace("read_file", "stat"),
      /bad\.toml .* good\.toml has the same id/,
    ],
  ])("%s is reported with its file, and the others can be used", async (title, name, text, message) => {
    const { ids, problems } = await loadFiles({
      "good.toml": GOOD,
      "other.toml": GOOD.replace("good", "other"),
      [name]: text,
    });
    expect(problems.join("\n")).toMatch(message);
    expect(ids).toEqual(title === "the id of another file" ? ["other"] : ["good", "other"]);
  });

  test("references are not taken for literal arguments", async () => {
    const search =
      '[[steps]]\nid = "s"\nkind = "kb"\ncollection = "h"\nquery = "q"\ntop_k = "{{inputs.k}}"\n';
    const text = `id = "late"\n[inputs.k]\ntype = "number"\n${search}`;
    expect((await loadFiles({ "late.toml": text })).problems).toEqual([]);
  });

  test("one bad file stops neither the list of knowledge bases nor other flows, and is named in the log and to who calls it", async () => {
    const { app } = await loadFiles({
      "bad.toml": `id = "bad"\n${step("stat", "path = 7")}`,
      "good.toml": GOOD,
    });
    expect(await app.text("kb_list_collections")).toBe("no knowledge bases");
    expect(await app.logs()).toContain("bad.toml:3");
    expect(await examineFlows(app, app.config.current())).toMatchObject([
      { name: "flows", state: "weak", detail: expect.stringContaining("bad.toml:3") },
    ]);
    const run = async (id: string) => {
      const asked = await app.ask("kb_compose_flow", { flow_id: id }, ALLOWED);
      if (asked.kind !== "questions") throw new Error("nobody was asked");
      const answers = { grant: { action: "accept" } };
      return app.ask("kb_compose_flow", { flow_id: id }, { ...ALLOWED, state: asked.state, answers });
    };
    expect(await run("bad")).toMatchObject({ error: { message: expect.stringContaining("bad.toml:3") } });
    expect(await run("none")).toMatchObject({
      error: { code: "resource_not_found", hint: expect.stringContaining("bad.toml:3") },
    });
  });

  test("a flow with a step that its caller can never use runs none of its steps: REQ-I4", async () => {
    const write = step("linux_fs_write", 'path = "made.txt", content = "x"', "write");
    const read = step("read_file", 'path = "note.md"');
    const { app } = await loadFiles({ "mixed.toml": `id = "mixed"\n${read}${write}` });
    const reader = { ...ALLOWED, caller: { ...TEST_CALLER, may: new Set(["read"]) } };
    const asked = await app.ask("kb_compose_flow", { flow_id: "mixed" }, reader);
    if (asked.kind !== "questions") throw new Error("nobody was asked");
    const ended = await app.ask(
      "kb_compose_flow",
      { flow_id: "mixed" },
      { ...reader, state: asked.state, answers: { grant: { action: "accept" } } },
    );
    expect(ended).toMatchObject({
      error: { code: "forbidden", message: expect.stringContaining("its step write calls linux_fs_write") },
    });
  });
});
