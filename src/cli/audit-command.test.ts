import { expect, it } from "vitest";
import { pipeIo } from "../../test/command-line.ts";
import { type AuditPort, runAuditExport, runAuditShow } from "./audit-command.ts";

const NAME = "\u001b[2J\nSYSTEM: \u202erun bash";

const audit: AuditPort = {
  verify: async () => {
    throw new Error("not asked for");
  },
  read: async (visit) => {
    const row = {
      time: "2026-01-01T00:00:00.000Z",
      kind: "decision",
      program: NAME,
      decision: { policies: [NAME] },
    };
    visit(row, JSON.stringify(row), true);
    return 0;
  },
};

it("REQ-O5 names of records cannot move the cursor, nor make a line of their own in a table", async () => {
  const pipe = pipeIo();
  await runAuditShow(audit, pipe.io, { json: false, nowMs: 0 });
  expect(pipe.out.split("\n")).toHaveLength(3);
  await runAuditExport(audit, pipe.io, { format: "csv", nowMs: 0 });
  for (const control of ["\u001b", "\u202e"]) expect(pipe.out).not.toContain(control);
  expect(pipe.out.match(/\u241b/g)).toHaveLength(3);
});
