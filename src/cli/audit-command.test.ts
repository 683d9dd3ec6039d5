import { expect, it } from "vitest";
import { pipeIo } from "../../test/command-line.ts";
import type { AuditEntry } from "../observe/audit/entry.ts";
import { type AuditPort, runAuditExport, runAuditShow, runAuditVerify } from "./audit-command.ts";

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

const portOf = (rows: readonly Readonly<Record<string, unknown>>[]): AuditPort => ({
  ...audit,
  read: async (visit) => {
    for (const row of rows) visit(row, JSON.stringify(row), true);
    return 0;
  },
});

it("REQ-O5 filters compare what the table shows, and a name that no record has is said to be that", async () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const port = portOf([
    {
      time: at(1),
      kind: "decision",
      tool: "run_cmd",
      program: "npm",
      decision: { allowed: false, policies: ["no-npm"] },
    },
    { time: at(2), kind: "question", tool: "run_cmd", program: "jq", answer: "never" },
    { time: at(3), kind: "call", tool: "stat", outcome: "ok", principal: "ci" },
    { time: at(4), kind: "call", tool: "stat", outcome: "ok" },
  ]);
  const show = async (filters: Partial<Parameters<typeof runAuditShow>[2]>): Promise<string> => {
    const pipe = pipeIo();
    await runAuditShow(port, pipe.io, { json: false, nowMs: 0, ...filters });
    return pipe.out;
  };
  expect(await show({ outcome: "denied" })).toMatch(/^TIME.*\n.* decision +run_cmd +denied +npm +no-npm\n$/);
  expect(await show({ outcome: "never" })).toMatch(/^TIME.*\n.* question +run_cmd +never +jq\n$/);
  expect(await show({ outcome: "ok", limit: "1" })).toMatch(/^TIME.*\n2026-01-01T00:00:04.*\n$/);
  expect(await show({ tool: "stat", outcome: "denied" })).toBe("No records.\n");
  expect(await show({ since: at(2), until: at(3) })).toMatch(/^TIME.*\n2026-01-01T00:00:02.*\n$/);
  expect(await show({ principal: "ci" })).toMatch(/^TIME.*\n2026-01-01T00:00:03.*\n$/);
  for (const until of ["soon", "7", "last 7", "2026-1-5", "2026-13-01"])
    await expect(show({ until })).rejects.toThrow("--until is not a time.");
  expect(await show({ outcome: "forbiden" })).toBe(
    'No records. No record has the outcome "forbiden"; there are: denied, never, ok.\n',
  );
});

type FieldOf<T> = T extends T ? keyof T : never;

/** A field that is new in an entry does not compile here until it is added. A decision has two columns of its own. */
const FIELDS: Readonly<Record<Exclude<FieldOf<AuditEntry>, "decision">, string>> = {
  ...{ kind: "", correlation_id: "", principal: "", transport: "", route: "", agent_id: "", session_id: "" },
  ...{ model: "", tool: "", effect: "", action: "", action_group: "", path: "", args_digest: "" },
  ...{ about: "", program: "", host: "", collection: "", flow: "", resource_digest: "", answer: "" },
  ...{ granted: "", scope: "", bytes_in: "", bytes_out: "", duration_ms: "", outcome: "", exit_code: "" },
  ...{ budget_profile: "", trace_id: "", reason: "", address: "", token_name: "", count: "" },
  ...{ provider: "", asked_model: "", tokens_in: "", tokens_out: "", cost_usd: "" },
  ...{ bytes_read: "", calls: "", turns: "" },
};

it("REQ-O5 the CSV has a column for every field of every kind of record", async () => {
  const pipe = pipeIo();
  await runAuditExport(portOf([]), pipe.io, { format: "csv", nowMs: 0 });
  const columns = [...Object.keys(FIELDS), "allowed", "policies"];
  expect(pipe.out.trimEnd().split(",")).toEqual(expect.arrayContaining(columns));
});

it("REQ-O5 the table says which knowledge base or flow a decision was about", async () => {
  const pipe = pipeIo();
  const entry = { time: "2026-01-01T00:00:00.000Z", kind: "decision", tool: "kb_answer" };
  await runAuditShow(
    portOf([
      { ...entry, collection: "handbook" },
      { ...entry, flow: "look" },
    ]),
    pipe.io,
    {
      json: false,
      nowMs: 0,
    },
  );
  expect(pipe.out).toMatch(/ kb_answer +handbook\n.* kb_answer +look\n/);
});

it("REQ-O5 verify counts in plain words", async () => {
  const report = { ok: true, chains: 1, files: 1, records: 1, unproven: [], others: 0, problems: [] };
  const verify = async (more: Partial<Awaited<ReturnType<AuditPort["verify"]>>>): Promise<string> => {
    const pipe = pipeIo();
    const port = { ...audit, verify: async () => ({ ...report, ...more }) };
    await runAuditVerify(port, pipe.io, { json: false });
    return pipe.out;
  };
  expect(await verify({})).toBe("ok: 1 record of 1 chain in 1 file is as it was written.\n");
  const problem = { file: "a.jsonl", line: null, what: "foreign", detail: "d" };
  expect(
    await verify({
      ok: false,
      files: 2,
      problems: [problem],
      unproven: [{ file: "b.jsonl", bytes: 30 }],
      others: 1,
    }),
  ).toBe(
    "foreign  a.jsonl  d\n1 record of 1 chain in 2 files were read, with 1 problem: not everything is as it was written.\n" +
      "b.jsonl: the last 30 bytes are not proven. They begin like a record that a killed process did not write to its end; somebody could have added them.\n" +
      "1 file was signed with another key (another state folder, or the workspace was moved or copied) and not checked.\n",
  );
});
