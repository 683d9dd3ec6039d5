import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, expect, it } from "vitest";
import { startConfined } from "./start-confined.ts";

const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-linked-code-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(["bubblewrap", "landlock"] as const)(
  "REQ-I1 %s: packages behind a linked node_modules are found under its name",
  async (tier) => {
    const at = join(folder, tier);
    mkdirSync(join(at, "elsewhere/greeting"), { recursive: true });
    mkdirSync(join(at, "app/src"), { recursive: true });
    writeFileSync(join(at, "elsewhere/greeting/package.json"), '{"type":"module","exports":"./main.js"}');
    writeFileSync(join(at, "elsewhere/greeting/main.js"), 'export const greeting = "found";');
    symlinkSync("../elsewhere", join(at, "app/node_modules"));
    const program = join(at, "app/src/main.mjs");
    writeFileSync(program, 'import { greeting } from "greeting"; console.log(greeting);');
    const { child } = await startConfined(
      {
        program,
        code: [join(at, "app/src"), join(at, "app/node_modules")],
        stdio: ["ignore", "pipe", "inherit"],
        limits: { memoryMb: 512, cpuShare: 0.5 },
      },
      { tiers: [tier] },
    );
    expect((await text(child.stdout as Readable)).trim()).toBe("found");
  },
);
