import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LlmcError } from "../../base/error.ts";
import { applyEdits as applyWithin, type TextEdit } from "./text-edit.ts";

const edit = (oldText: string, newText: string, expectedReplacements = 1) => ({
  oldText,
  newText,
  expectedReplacements,
});

const MAX_CHARS = 64 * 1024 * 1024;
const reveal = <T>(known: () => T): T => known();
const applyEdits = (text: string, edits: readonly TextEdit[]): Promise<string> =>
  applyWithin(text, edits, { maxChars: MAX_CHARS, reveal });

describe("REQ-F5: find and replace", () => {
  test("one, several in a row, and a counted number", async () => {
    await expect(applyEdits("a b c", [edit("b", "B")])).resolves.toBe("a B c");
    await expect(applyEdits("one two", [edit("one", "1"), edit("1 two", "1 2")])).resolves.toBe("1 2");
    await expect(applyEdits("x x x", [edit("x", "y", 3)])).resolves.toBe("y y y");
    await expect(applyEdits("cost", [edit("cost", "$& $1 $$")])).resolves.toBe("$& $1 $$");
  });

  test("text that is not there shows the nearest place", async () => {
    const file = "import a\n\nexport const total = (items) => {\n    return items.length;\n};\n";
    await expect(applyEdits(file, [edit("export const total = (item) => {\n  return", "")])).rejects.toThrow(
      expect.objectContaining({
        code: "text_not_found",
        hint: expect.stringContaining("from line 3:\nexport const total = (items) => {"),
      }),
    );
    await expect(applyEdits("abc\n", [edit("completely other words", "")])).rejects.toThrow(
      expect.objectContaining({
        code: "text_not_found",
        hint: expect.stringContaining("Read the file again"),
      }),
    );
  });

  test("text that is there too often says where; an empty one is refused; the number of a failing edit is named", async () => {
    await expect(applyEdits("x\nx\n\nx\n", [edit("x", "y")])).rejects.toThrow(
      expect.objectContaining({
        code: "text_ambiguous",
        message: expect.stringContaining("3 times (lines 1, 2, 4), expected 1"),
      }),
    );
    await expect(applyEdits("x", [edit("", "y")])).rejects.toThrow(
      expect.objectContaining({ code: "invalid_args" }),
    );
    await expect(applyEdits("ab", [edit("a", "A"), edit("zzz", "")])).rejects.toThrow(/^Edit 2: /);
  });

  test("FAIL-A14: a file with CRLF keeps it", async () => {
    await expect(applyEdits("a\r\nb\r\nc\r\n", [edit("a\nb", "1\n2")])).resolves.toBe("1\r\n2\r\nc\r\n");
    await expect(applyEdits("a\r\nb", [edit("a\r\nb", "x\ny")])).resolves.toBe("x\ny");
    // The commonest edit: a line becomes several.
    await expect(applyEdits("a\r\nb\r\n", [edit("b", "1\n2")])).resolves.toBe("a\r\n1\r\n2\r\n");
    await expect(applyEdits("a\r\nb\r\n", [edit("b", "1\r2")])).resolves.toBe("a\r\n1\r2\r\n");
    await expect(applyEdits("a\nb\r\n", [edit("b", "1\n2")])).resolves.toBe("a\n1\n2\r\n");
  });

  test("property: replacing what was inserted gives the text back", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), fc.string(), async (before, after, replacement) => {
        const marked = `${before}\u0001MARK\u0001${after}`;
        await expect(applyEdits(marked, [edit("\u0001MARK\u0001", replacement)])).resolves.toBe(
          before + replacement + after,
        );
      }),
    );
  });

  test("many replacements, of letters that mean something in patterns", async () => {
    const edits = [edit("a", "$&", 30_001)];
    await expect(applyEdits(`${"a".repeat(30_000)}-a-`, edits)).resolves.toBe(`${"$&".repeat(30_000)}-$&-`);
    await expect(applyEdits("a".repeat(30_000), [edit("a", "b", 29_999)])).rejects.toThrow(
      expect.objectContaining({ code: "text_ambiguous", details: { found: 30_000 } }),
    );
  });
});

describe("FAIL-J6: edits are bounded before memory is taken", () => {
  const tooLarge = expect.objectContaining({ code: "file_too_large" });

  test("a text that would outgrow the limit, in one step or on the way", async () => {
    await expect(applyWithin("aaa", [edit("a", "aaaa", 3)], { maxChars: 11, reveal })).rejects.toThrow(
      tooLarge,
    );
    await expect(applyWithin("aaa", [edit("a", "aaaa", 3)], { maxChars: 12, reveal })).resolves.toHaveLength(
      12,
    );
    const there = edit("a", "a".repeat(10));
    await expect(
      applyWithin("a", [there, edit("a".repeat(10), "a")], { maxChars: 9, reveal }),
    ).rejects.toThrow(/^Edit 1: /);
  });

  test("line ends that are fitted count as well", async () => {
    await expect(applyWithin("a\r\nb", [edit("a\nb", "a\n\n\nb")], { maxChars: 7, reveal })).rejects.toThrow(
      tooLarge,
    );
  });

  test("more work than a call may be", async () => {
    const text = "a".repeat(20_000_000);
    await expect(
      applyEdits(
        text,
        Array.from({ length: 100 }, () => edit("b", "c")),
      ),
    ).rejects.toThrow(tooLarge);
    await expect(applyEdits(text, [edit("a", "b", text.length)])).rejects.toThrow(tooLarge);
    await expect(
      applyEdits(
        "a",
        Array.from({ length: 1001 }, () => edit("a", "a")),
      ),
    ).rejects.toThrow(/limit of 1000/);
  });

  test("a similar text is looked for in a part of a large one", async () => {
    const started = performance.now();
    await expect(
      applyEdits("some words here\n".repeat(4_000_000), [edit("some word there", "")]),
    ).rejects.toThrow(expect.objectContaining({ code: "text_not_found" }));
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("a long text that almost occurs everywhere takes no longer than another", async () => {
    const half = "a".repeat(100_000);
    const startedAt = process.cpuUsage();
    await expect(applyEdits("a".repeat(480_000), [edit(`${half}b${half}`, "")])).rejects.toThrow(
      expect.objectContaining({ code: "text_not_found" }),
    );
    // Microseconds; V8's own search takes seconds.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(1_500_000);
  });

  /** How often the event loop came round while the work was done, and its processor time. */
  const measured = async (work: () => Promise<unknown>) => {
    let [turns, isDone] = [0, false];
    const startedAt = process.cpuUsage();
    const result = work().catch((error: unknown) => error);
    void result.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await nextTurn();
      turns++;
    }
    const { user, system } = process.cpuUsage(startedAt);
    return { error: await result, turns, cpuMs: (user + system) / 1000 };
  };

  test("many edits that each go through all of a large text are a second's work, and others get their turn", async () => {
    const old = `${"a".repeat(1000)}b`;
    const text = `${"a".repeat(7_000_000)}b\r\n`;
    const edits = Array.from({ length: 18 }, () => edit(old, old));
    const { error, turns, cpuMs } = await measured(() => applyEdits(text, edits));
    expect(error).toEqual(tooLarge);
    // One for each part of 256 KiB that was gone through, a quarter of 130 MiB of them.
    expect(turns).toBeGreaterThan(80);
    // Nine seconds where nothing but the length of the text is counted.
    expect(cpuMs).toBeLessThan(4000);
  });

  test("the second search for other line ends counts", async () => {
    const text = "a".repeat(20_000_000);
    await expect(applyEdits(text, [edit("a\nb", "")])).rejects.toThrow(
      expect.objectContaining({ code: "text_not_found" }),
    );
    const there = edit("\n", "\n");
    await expect(applyEdits(`${text}\r\n`, [there, there, there, edit("a\nb", "")])).rejects.toThrow(
      expect.objectContaining({ code: "text_not_found" }),
    );
    await expect(applyEdits(`${text}\r\n`, [...Array(5).fill(there), edit("a\nb", "")])).rejects.toThrow(
      tooLarge,
    );
  });

  test("a deadline is noticed between two parts of the text", async () => {
    const late = new LlmcError("timeout", "The call took too long.");
    const gone = new AbortController();
    setImmediate(() => gone.abort(late));
    const limits = { maxChars: MAX_CHARS, signal: gone.signal, reveal };
    await expect(applyWithin("a".repeat(10_000_000), [edit("b", "c")], limits)).rejects.toBe(late);
  });

  test("the lines of a text that is there too often are counted once", async () => {
    const text = `${"\n".repeat(8_000_000)}${"x".repeat(11)}`;
    const { error, turns, cpuMs } = await measured(() => applyEdits(text, [edit("x", "y")]));
    expect(error).toMatchObject({ code: "text_ambiguous", details: { found: 11 } });
    expect(String(error)).toContain("lines 8000001, 8000001,");
    expect(turns).toBeGreaterThan(20);
    expect(cpuMs).toBeLessThan(1000);
  });

  test("what lies on the border of two parts is found, once", async () => {
    for (const at of [262_140, 262_143, 262_144, 262_145, 524_286]) {
      const text = `${"-".repeat(at)}word${"-".repeat(300_000)}`;
      await expect(applyEdits(text, [edit("word", "WORD")])).resolves.toBe(text.replace("word", "WORD"));
    }
    const rows = "ab".repeat(400_000);
    await expect(applyEdits(rows, [edit("bab", "_", 200_000)])).resolves.toBe(rows.replaceAll("bab", "_"));
  });
});
