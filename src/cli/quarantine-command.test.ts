import { expect, test } from "vitest";
import { pipeIo } from "../../test/command-line.ts";
import { runQuarantine } from "./quarantine-command.ts";

const quarantine = (...paths: readonly string[]) => ({ paths, isCut: false, remove: async () => {} });

test("REQ-D24 a renamed name is shown whole, so that mv can bring it back, and on one line", async () => {
  const long = `${"folder/".repeat(40)}.envrc.refused-01234567`;
  const shown = pipeIo();
  await runQuarantine(quarantine(long, "a\n\u001b[2Jb"), shown.io, { set: [] });
  expect(shown.out.split("\n").slice(0, 2)).toEqual([long, "a␊␛[2Jb"]);
  await expect(runQuarantine(quarantine(long), shown.io, { set: [], remove: true })).rejects.toThrow(
    /^Nothing was removed, because there is no terminal/,
  );
  expect(shown.out).not.toContain("Removed");
});
