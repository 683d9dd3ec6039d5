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

it("REQ-O5 the table and the CSV say which program, what the user answered, why a request was refused and how often", async () => {
  const time = "2026-01-01T00:00:00.000Z";
  const rows = [
    { time, kind: "question", tool: "run_cmd", about: "program", program: "jq", answer: "never" },
    { time, kind: "refusal", reason: "wrong_token", count: 7 },
    { time, kind: "gap", missed: 3 },
  ];
  const port: AuditPort = {
    ...audit,
    read: async (visit) => {
      for (const row of rows) visit(row, JSON.stringify(row), true);
      return 0;
    },
  };
  const shown = pipeIo();
  await runAuditShow(port, shown.io, { json: false, nowMs: 0 });
  expect(shown.out).toMatch(/ question +run_cmd +never +jq\n.* refusal +wrong_token\n/);
  const csv = pipeIo();
  await runAuditExport(port, csv.io, { format: "csv", nowMs: 0 });
  const [head = [], ...lines] = csv.out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(","));
  const records = lines.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at]])));
  expect(records).toMatchObject([
    { about: "program", program: "jq", answer: "never" },
    { reason: "wrong_token", count: "7" },
    { missed: "3" },
  ]);
});
