import { describe, expect, test, vi } from "vitest";
import { createIndexed, type Indexed } from "../../../test/retrieval.ts";

const CONFIG = "export class Config {\n  readonly name = 1;\n}\n";

const users = (source: string): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: 5 }, (_, at) => [
      `src/use${at}.ts`,
      `import * as held from "${source}";\nexport const use${at} = held;\n`,
    ]),
  );

const first = async (indexed: Indexed): Promise<string | undefined> => (await indexed.find("Config"))[0];

describe("REQ-R3 what the workspace rests on", () => {
  // Without it one of the two would be first in both.
  test.each([
    ["alpha", "omega"],
    ["omega", "alpha"],
  ])(
    "of two definitions of a name %s comes first once it is known, and follows edits",
    async (used, other) => {
      await using indexed = createIndexed({
        "src/alpha.ts": CONFIG,
        "src/omega.ts": CONFIG,
        ...users(`./${used}.ts`),
      });
      await vi.waitFor(async () => expect(await first(indexed)).toBe(`src/${used}.ts`), 10_000);
      for (const [path, text] of Object.entries(users(`./${other}.ts`))) indexed.write(path, text);
      // Fewer changes leave the figures as they are.
      for (let at = 0; at < 30; at++) indexed.write(`src/more${at}.ts`, "export const more = 1;\n");
      await vi.waitFor(async () => expect(await first(indexed)).toBe(`src/${other}.ts`), 10_000);
    },
  );

  test("an engine that closes before it is known closes", async () => {
    const indexed = createIndexed({ "src/alpha.ts": CONFIG, "src/omega.ts": CONFIG });
    await indexed.find("Config");
    await indexed[Symbol.asyncDispose]();
    await expect(indexed.retrieval.close()).resolves.toBeUndefined();
  });
});
