import { describe, expect, test } from "vitest";
import { createIndexed } from "../../test/retrieval.ts";

const STORE = "export function openStore(path: string): string {\n  return path;\n}\n";
const USER =
  'import { openStore } from "./store.ts";\n\nexport const start = (): string => openStore("x");\n';

describe("the symbol graph over the index", () => {
  test("REQ-R5: knows where a symbol is used, and follows edits, moved lines and removals", async () => {
    await using indexed = createIndexed({ "src/store.ts": STORE, "src/user.ts": USER });
    const usesNow = async () =>
      (await indexed.retrieval.whereUsed("openStore")).value.uses
        .filter(({ kind }) => kind === "call")
        .map(({ path, line }) => `${path}:${line}`);
    expect(await usesNow()).toEqual(["src/user.ts:3"]);
    indexed.write("src/user.ts", `// one\n// two\n${USER}`);
    expect(await usesNow()).toEqual(["src/user.ts:5"]);
    indexed.write("src/other.ts", USER);
    expect(await usesNow()).toEqual(["src/other.ts:3", "src/user.ts:5"]);
    indexed.remove("src/user.ts");
    expect(await usesNow()).toEqual(["src/other.ts:3"]);
  });

  test("REQ-R5: lineage and inspect answer from the same index", async () => {
    await using indexed = createIndexed({ "src/store.ts": STORE, "src/user.ts": USER });
    const { value: lineage } = await indexed.retrieval.lineage("openStore", { direction: "callers" });
    expect(lineage.nodes.map(({ name }) => name)).toContain("start");
    const { value: card } = await indexed.retrieval.inspect("openStore");
    expect(card.symbols[0]?.definition).toMatchObject({ path: "src/store.ts", line: 1 });
    expect(card.symbols[0]?.signature).toContain("openStore(path: string)");
    const [again, users] = await Promise.all([
      indexed.retrieval.inspect("openStore"),
      indexed.retrieval.inspect("start"),
    ]);
    expect(again.value.symbols[0]?.signature).toContain("openStore");
    expect(users.value.symbols[0]?.signature).toContain("start");
  });

  test("a symbol that is nowhere is answered with nothing", async () => {
    await using indexed = createIndexed({ "src/store.ts": STORE });
    expect((await indexed.retrieval.whereUsed("nowhere")).value).toMatchObject({ definitions: [], uses: [] });
  });
});
