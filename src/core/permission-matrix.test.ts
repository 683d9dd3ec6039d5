import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shareTestApp } from "../../test/app.ts";
import type { AuditDecision } from "../observe/audit/entry.ts";
import { allTools } from "../tools/all.ts";

/** The permission matrix of the design documents: what is decided by default, and what the user is asked. */
const MATRIX = [
  { tool: "kb.hybrid_search", args: { collection: "hand", query: "x" } },
  { tool: "kb.answer", args: { query: "x" } },
  { tool: "kb.get_document", args: { doc_id: "hand@1.0.0/0123456789abcdef0123" } },
  { tool: "kb.list_collections", args: {} },
  { tool: "kb.compose_flow", args: { flow_id: "look" }, prompt: "Allow flow execution?" },
  { tool: "admin.get_status", args: {}, prompt: "Allow admin access?" },
  { tool: "admin.get_metrics", args: {}, prompt: "Allow admin access?" },
] as const;

/** What the audit trail says that policy decided in the last call of a tool; null: it was not asked. */
const decisionOf = (root: string, tool: string): AuditDecision | null | undefined => {
  const folder = join(root, ".llmc/audit");
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line) as { kind: string; tool: string; decision: AuditDecision | null })
    .findLast((record) => record.kind === "call" && record.tool === tool)?.decision;
};

const rows = MATRIX.map((row) => ({ prompt: undefined, ...row }));

describe("REQ-I4 REQ-I5 REQ-T7: the permission matrix", () => {
  const app = shareTestApp({
    config: '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n',
    files: {
      "flows/look.toml":
        'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "note.md" }\n',
      "note.md": "hello flow\n",
    },
  });
  const canAsk = (): boolean => true;

  test("has a row for every admin tool", () => {
    const named = new Set(MATRIX.map(({ tool }) => tool.replace(".", "_")));
    const admin = allTools.map(({ name }) => name).filter((name) => name.startsWith("admin_"));
    expect(admin.filter((name) => !named.has(name as never))).toEqual([]);
  });

  test.each(rows.filter(({ prompt }) => prompt === undefined))(
    "$tool: allowed, and nobody is asked",
    async ({ tool, args }) => {
      const result = await app().ask(tool, args, { canAsk });
      expect(result.kind).not.toBe("questions");
      // What it is called with need not exist: it was let in and looked.
      if (result.kind === "error")
        expect(["resource_not_found", "file_not_found"]).toContain(result.error.code);
      // Reads are recorded a moment after their answers.
      await expect
        .poll(() => decisionOf(app().root, tool.replace(".", "_")))
        .toMatchObject({ allowed: true, policies: ["llmc.workspace"] });
    },
  );

  test.each(rows.filter(({ prompt }) => prompt !== undefined))(
    "$tool: denied, and the user is asked: $prompt",
    async ({ tool, args, prompt }) => {
      expect(await app().ask(tool, args)).toMatchObject({ kind: "error", error: { code: "forbidden" } });
      const asked = await app().ask(tool, args, { canAsk });
      if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
      const { grant } = asked.questions;
      if (grant?.kind !== "form") throw new Error("no form");
      expect(grant.message.split("\n")).toContain(prompt);
      const answered = (action: string) => ({
        canAsk,
        state: asked.state,
        answers: { grant: { action } },
      });
      expect(await app().ask(tool, args, answered("decline"))).toMatchObject({
        kind: "error",
        error: { code: "forbidden", hint: expect.stringContaining("did not agree") },
      });
      const again = await app().ask(tool, args, { canAsk });
      if (again.kind !== "questions") throw new Error(JSON.stringify(again));
      const agreed = { canAsk, state: again.state, answers: { grant: { action: "accept" } } };
      expect(await app().ask(tool, args, agreed)).toMatchObject({ kind: "ok" });
    },
  );
});
