import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { js, openRlmStand, type RlmStand } from "../../test/rlm-stand.ts";

type Result = Awaited<ReturnType<RlmStand["query"]>>;

const answerOf = (result: Result): string => {
  if (result.kind !== "ok") throw new Error(`expected success: ${JSON.stringify(result).slice(0, 1000)}`);
  return (result.structured as { readonly data: { readonly answer: string } }).data.answer;
};

const metaOf = (result: Result): Readonly<Record<string, unknown>> => {
  if (result.kind !== "error")
    throw new Error(`expected a failure: ${JSON.stringify(result).slice(0, 1000)}`);
  return result.body.meta;
};

const MIB = 1024 * 1024;

/** Lines of people with an age, a town and an employer, so that the answers are known. */
const peopleOf = (bytes: number) => {
  const lines: string[] = [];
  let size = 0;
  let adults = 0;
  for (let at = 0; size < bytes; at++) {
    const age = (at * 37) % 90;
    if (age >= 18) adults++;
    const line = `person-${at} age ${age} town-${at % 997} works at firm-${(at * 7) % 4999}\n`;
    lines.push(line);
    size += line.length;
  }
  return { text: lines.join(""), adults, people: lines.length };
};

describe("an analysis of a long text", () => {
  let stand: RlmStand;
  const small = peopleOf(MIB);
  const large = peopleOf(10 * MIB);
  const cleanups: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    stand = await openRlmStand(
      { root: () => 500 },
      {
        rlm: "max_bytes_limit = 20000000\nallow_partial = true",
        config: "[mcp.code_execution]\ncpu_seconds = 1\nprogram_memory_mb = 48",
      },
      (work) => void cleanups.push(work),
    );
    writeFileSync(join(stand.root, "one.txt"), small.text);
    writeFileSync(join(stand.root, "ten.txt"), large.text);
    writeFileSync(join(stand.root, "many.txt"), "x".repeat(20_000_001));
  });
  afterAll(async () => {
    for (const work of cleanups.toReversed()) await work();
  });
  /** What the models were sent in this query: calls, and the largest of them in characters. */
  const measured = async (args: object) => {
    const before = stand.server.requests.length;
    const answer = answerOf(await stand.query({ task: "the question", max_bytes: 20_000_000, ...args }));
    const sent = stand.server.requests.slice(before).map(({ text }) => text.length);
    return { answer, calls: sent.length, largest: Math.max(...sent) };
  };

  test("REQ-L3 FAIL-G1: counting in 10 MB is one program; no prompt has more than a few kilobytes", async () => {
    stand.play({
      root: () => js("const { total } = await grep('age (1[89]|[2-9][0-9]) '); finish(String(total))"),
    });
    expect(await measured({ path: "ten.txt" })).toEqual({
      answer: String(large.adults),
      calls: 1,
      largest: expect.any(Number),
    });
    const [last] = stand.server.requests.slice(-1);
    expect(last?.text.length).toBeLessThan(8000);
  });

  test.each([
    ["1 MB", small],
    ["10 MB", large],
  ])(
    "REQ-L3: a needle in %s, found by rank and read by a sub-model in one piece of known size",
    async (_, { text }) => {
      const needle = "the vault opens with the word sesame";
      const at = Math.floor(text.length * 0.7);
      writeFileSync(join(stand.root, "needle.txt"), `${text.slice(0, at)}\n${needle}\n${text.slice(at)}`);
      stand.play({
        root: (turn) =>
          turn === 1
            ? js("const [best] = await rank('which word opens the vault', {k: 3}); print(best.line)")
            : js(
                "finish(await llm('Which word opens the vault?\\n' + best.text), {evidence: ['opens with the word sesame']})",
              ),
        sub: (prompt) => /with the word (\w+)/.exec(prompt)?.[1] ?? "unknown",
      });
      const before = stand.prompts().length;
      const { answer, calls, largest } = await measured({ path: "needle.txt" });
      expect({ answer, calls }).toEqual({ answer: "sesame", calls: 3 });
      expect(largest).toBeLessThan(9000);
      // What the sub-model read: one passage.
      const read = stand.prompts().slice(before);
      expect(read).toHaveLength(1);
      expect(read[0]?.length).toBeLessThan(1600);
    },
  );

  test.each([
    ["1 MB", "one.txt", small],
    ["10 MB", "ten.txt", large],
  ])(
    "REQ-L3: two hops through %s, with every part read once by a sub-model, all of them of known size",
    async (_, path, { text }) => {
      const [question, part] = ["Where does person-4711 work?\n", 200_000];
      stand.play({
        root: () =>
          js(`const part = lineChunks(${part});
const found = [];
// A program hands over at most 4 MiB at once.
for (let at = 0; at < part.length; at += 16)
  found.push(...(await llmBatch(part.slice(at, at + 16).map((text) => ${JSON.stringify(question)} + text))));
const firm = found.find((one) => one.startsWith("firm-"));
const { hits } = await grep("works at " + firm + "$", {limit: 3});
finish(firm + " " + hits.map(({ text }) => text.split(" ")[0]).join(" "))`),
        sub: (prompt) => /person-4711 .* works at (firm-\d+)/.exec(prompt)?.[1] ?? "not here",
      });
      const [before, rootBefore] = [stand.prompts().length, stand.rootRequests().length];
      const { answer, calls } = await measured({ path });
      const firm = `firm-${(4711 * 7) % 4999}`;
      const others = text
        .split("\n")
        .filter((line) => line.endsWith(`works at ${firm}`))
        .slice(0, 3);
      expect(answer).toBe(`${firm} ${others.map((line) => line.split(" ")[0]).join(" ")}`);
      const parts = Math.ceil(text.length / part);
      expect(calls).toBe(1 + parts);
      const sizes = stand
        .prompts()
        .slice(before)
        .map((prompt) => prompt.length - question.length);
      expect(sizes).toHaveLength(parts);
      // Whole lines, so a part misses its size by less than one; together they are the text, and nothing is read twice.
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(text.length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(part);
      expect(sizes.filter((size) => size < part - 100)).toHaveLength(1);
      const roots = stand.rootRequests().slice(rootBefore);
      expect(roots.map((request) => request.text.length < 8000)).toEqual([true]);
    },
  );

  test("FAIL-G1: contexts of one byte, around 64 KiB, of 256 KiB, and past the limit", async () => {
    stand.play({ root: () => js("finish(String(context.length))") });
    for (const size of [1, 65_535, 65_536, 65_537, 262_144])
      expect(answerOf(await stand.query({ task: "t", context: "x".repeat(size) }))).toBe(String(size));
    expect(metaOf(await stand.query({ task: "t", context: "x".repeat(20_000_001) }))).toMatchObject({
      error_code: "file_too_large",
      max_bytes: 20_000_000,
    });
    expect(metaOf(await stand.query({ task: "t", path: "many.txt", max_bytes: 20_000_000 }))).toMatchObject({
      error_code: "file_too_large",
    });
  });

  test("REQ-L3: chunks are never longer than asked for, and any size ends", async () => {
    stand.play({
      root: () =>
        js(
          "finish(JSON.stringify([lineChunks(4), lineChunks(0).length, lineChunks(-3).length, chunks(0).length, chunks(4, 1), lineChunks(2.5)]))",
        ),
    });
    const text = "abc\ndef\ng";
    expect(JSON.parse(answerOf(await stand.query({ task: "t", context: text })))).toEqual([
      ["abc\n", "def\n", "g"],
      9,
      9,
      9,
      ["abc\n", "\ndef", "f\ng"],
      ["ab", "c\n", "de", "f\n", "g"],
    ]);
  });

  test("REQ-L3: characters outside the basic plane are whole, wherever a piece ends", async () => {
    const text = `${"😀".repeat(600_000)}grüße 日本`;
    stand.play({
      root: () =>
        js(
          "const hit = (await grep('grüße')).hits[0]; finish([context.length, context.slice(hit.match, hit.end), context.slice(hit.start, hit.end) === hit.text, context.includes('\\ufffd')].join(' '))",
        ),
    });
    expect(answerOf(await stand.query({ task: "t", context: text }))).toBe(
      `${text.length} grüße 日本 true false`,
    );
  });

  test("FAIL-G2 REQ-L3: endless loops, memory bombs and floods end their interpreter; the analysis goes on and reports it", async () => {
    const seen: string[] = [];
    const programs = [
      "const kept = 1; for (;;) {}",
      "const all = []; for (;;) all.push(new Array(1e6).fill(1.5))",
      "const spin = () => Promise.resolve().then(spin); await spin()",
      "print(typeof kept, typeof process, typeof require, typeof fetch, typeof globalThis.constructor.constructor('return this.process')())",
      "try { await tools.read_file({path: '/etc/passwd'}) } catch (error) { print(error.code, error.message) }",
      "try { await tools.__proto__({}) } catch (error) { print(error.code) }; Object.prototype.polluted = 1; JSON.parse = null; finish('still here')",
    ];
    stand.play({
      root: (turn, shown) => {
        seen.push(shown);
        return js(programs[turn - 1] ?? "");
      },
    });
    expect(answerOf(await stand.query({ task: "t", context: "text", max_turns: 10 }))).toBe("still here");
    expect(seen[1]).toContain("processor time");
    expect(seen[1]).toContain("your variables are lost");
    expect(seen[2]).toMatch(/memory|unexpectedly/);
    expect(seen[3]).toMatch(/processor time|memory|unexpectedly/);
    expect(seen[4]).toContain("undefined undefined undefined undefined undefined");
    expect(seen[5]).toContain("There is no such function");
  });

  test("REQ-D9: where the operator allows it, a limit gives the last draft, marked as one", async () => {
    stand.play({ root: (turn) => js(turn === 1 ? "draft('about 7'); print(1)" : "print(2)") });
    const result = await stand.query({ task: "t", context: "text", max_turns: 2 });
    expect(answerOf(result)).toBe("about 7");
    expect(result.kind === "ok" && result.structured).toMatchObject({
      meta: { partial: true, limit: "max_turns" },
    });
    stand.play({ root: () => js("print(1)") });
    expect(metaOf(await stand.query({ task: "t", context: "text", max_turns: 1 }))).toMatchObject({
      error_code: "budget_exceeded",
      limit: "max_turns",
    });
  });

  test("REQ-L1: answers that were not taken are named as the reason, without what they said", async () => {
    stand.play({ root: (turn) => js(`finish("60 days", {evidence: ["a quote, ${turn}"]})`) });
    const result = await stand.query({ task: "t", context: "30 days", max_turns: 3 });
    expect(result.kind === "error" && result.body.error).toMatch(
      /within 3 turns\. 3 answers were not taken: its evidence is not in the text\. Try another model;/,
    );
  });

  test("REQ-L3: the model is told why finish was refused before its answer was looked at", async () => {
    const seen: string[] = [];
    stand.play({
      root: (turn, shown) => {
        seen.push(shown);
        return js(
          [
            "finish('x', {evidence: Array(51).fill({start: 0, end: 1})})",
            "const circle = {}; circle.self = circle; finish(circle)",
            "finish('done')",
          ][turn - 1] ?? "",
        );
      },
    });
    expect(answerOf(await stand.query({ task: "t", context: "text" }))).toBe("done");
    expect(seen[1]).toMatch(/^finish: There can be at most 50 pieces of evidence\./);
    expect(seen[2]).toMatch(/^finish: .*circular/);
  });

  test("a model that writes no programs is named as the reason; a short text is shown whole", async () => {
    let first = "";
    stand.play({
      root: (turn, shown) => {
        if (turn === 1) first = shown;
        return "I think two.";
      },
    });
    const result = await stand.query({ task: "t", context: "line one\nline two\n", max_turns: 2 });
    expect(result.kind === "error" && result.body.error).toMatch(
      /within 2 turns\. No turn had a program that worked: no code \(2\)\..*--trace FILE/,
    );
    expect(first).toContain("2 lines.");
    expect(first).not.toContain("[…]");
  });

  test("REQ-L4 FAIL-G2: what a program that was killed had asked for is ended with it, calls and analyses alike", async () => {
    const counted: number[] = [];
    const sent = (): number => stand.server.requests.length;
    stand.play({
      root: async (turn, _shown, task) => {
        if (task === "child") return js("print(await llm('of the child ' + Math.random()))");
        if (turn === 1)
          return js(
            "llmBatch(Array.from({length: 1000}, (_, n) => 'part ' + n)); rlm('child', 'x'); await budget(); for (;;) {}",
          );
        await setTimeout(100);
        counted.push(sent());
        await setTimeout(500);
        counted.push(sent());
        return js("finish('done')");
      },
      sub: () => setTimeout(300, "read"),
    });
    expect(answerOf(await stand.query({ task: "t", context: "text", max_turns: 3 }))).toBe("done");
    expect(counted[1]).toBe(counted[0]);
  });

  test("REQ-L4: an answer that two programs wait for is not ended with the first; an empty one is asked for again", async () => {
    let asked = 0;
    stand.play({
      root: (_turn, _shown, task) =>
        js(
          task === "child"
            ? "llm('shared'); await budget(); finish('gone')"
            : "const [mine] = await Promise.all([llm('shared'), rlm('child', 'x')]); const first = await llm('odd').catch((e) => e.code); finish(JSON.stringify([mine, first, await llm('odd')]))",
        ),
      sub: async (prompt) => {
        if (prompt === "shared") return setTimeout(1500, "whole");
        return asked++ === 0 ? "" : "now there is one";
      },
    });
    expect(JSON.parse(answerOf(await stand.query({ task: "t", context: "text" })))).toEqual([
      "whole",
      "provider_error",
      "now there is one",
    ]);
    expect(stand.prompts().filter((prompt) => prompt === "shared")).toHaveLength(1);
  });

  test("REQ-L4: depth, and errors of single slots, are the program's to handle", async () => {
    stand.play({
      root: (_turn, _shown, task) =>
        js(
          task === "child"
            ? "const error = await rlm('grandchild', 'x').catch((e) => e.code); finish(error)"
            : "const slots = await llmBatch(['good', 'bad', 'good']); finish(JSON.stringify([slots[0], slots[1].error.code, slots[2], await rlm('child', 'x')]))",
        ),
      sub: (prompt) => (prompt === "bad" ? 400 : "fine"),
    });
    expect(JSON.parse(answerOf(await stand.query({ task: "t", context: "text" })))).toEqual([
      "fine",
      "provider_error",
      "fine",
      "budget_exceeded",
    ]);
  });
});

describe("an analysis in Python", () => {
  test.each([
    ["Pyodide", ""],
    ["system Python", '[mcp.code_execution]\nnative_languages = ["python"]'],
  ])("REQ-L3: in %s, too, the model is told why finish was refused", async (_name, config) => {
    const seen: string[] = [];
    const stand = await openRlmStand(
      {
        root: (turn, shown) => {
          seen.push(shown);
          const evidence = "evidence=[{'start': 0, 'end': 1}] * 51";
          const code = [`finish('x', ${evidence})`, "finish('x' * 5_000_000)", "finish('done')"][turn - 1];
          return `\`\`\`python\n${code}\n\`\`\``;
        },
      },
      { rlm: 'guest_language = "python"', config },
    );
    expect(answerOf(await stand.query({ task: "t", context: "text" }))).toBe("done");
    expect(seen[1]).toMatch(/^finish: There can be at most 50 pieces of evidence\./);
    expect(seen[2]).toMatch(/^finish: The arguments are larger than/);
  });

  test("REQ-L3: the same session with Python programs", async () => {
    const stand = await openRlmStand(
      {
        root: (turn, shown) => {
          if (turn === 3) expect(shown).toContain("[5, 5, ['a\\n', 'b\\n', 'c']]");
          const code = [
            "hit = (await grep('needle'))['hits'][0]\nparts = await llm_batch(['a', 'b'])\nprint(hit['line'], context[hit['match']:hit['end']], context[hit['start']:hit['end']] == hit['text'], parts)",
            "import os\nprint(os.listdir('/'), len(context), (await rank('needle', k=1))[0]['line'])\nwhole, context = context, 'a\\nb\\nc'\nprint([len(line_chunks(0)), len(chunks(0)), line_chunks(2)])\ncontext = whole",
            "n = await rlm('how long', {'start': 0, 'end': 10})\nfinish(f'{parts[1]} {n}', evidence=[{'start': hit['start'], 'end': hit['end']}, 'the needle'])",
          ][turn - 1];
          if (turn === 2) expect(shown).toContain("51 needle is here True ['A', 'B']");
          return `\`\`\`python\n${shown.includes("how long") ? "finish(str(len(context)))" : code}\n\`\`\``;
        },
        sub: (prompt) => prompt.toUpperCase(),
      },
      { rlm: 'guest_language = "python"' },
    );
    const context = `${"😀 line\n".repeat(50)}the needle is here\n${"more\n".repeat(50)}`;
    expect(answerOf(await stand.query({ task: "t", context }))).toBe("B 10");
  });
});
