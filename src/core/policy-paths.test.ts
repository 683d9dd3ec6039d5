import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

const canAsk = (): boolean => true;
const ONCE = { grant: { action: "accept", content: { grant: "once" } } };
const SESSION = { grant: { action: "accept", content: { grant: "session" } } };

/** A folder outside the roots, and a server whose operator has policies about it. */
const openBeside = async (policiesFor: (out: string) => string) => {
  const out = tempWorkspace({
    "public.txt": "needle PUBLIC\n",
    "salary.txt": "needle SALARY\n",
    "private/notes.txt": "needle NOTES\n",
    "open/f.txt": "needle OPEN\n",
    "sub/x.txt": "needle SUB\n",
  });
  symlinkSync(join(out, "salary.txt"), join(out, "link.txt"));
  symlinkSync(out, join(out, "sub/up"));
  const app = await openTestApp({
    files: { "p/a.cedar": policiesFor(out), "own.txt": "" },
    config: '[mcp]\nmode = "classic"\n[mcp.security]\npolicy_files = ["p/*.cedar"]\n',
  });
  const show = async (tool: string, args: unknown): Promise<string> => {
    const result = await app.ask(tool, args);
    return result.kind === "ok" ? JSON.stringify(result.structured) : `refused: ${JSON.stringify(result)}`;
  };
  const question = async (tool: string, args: unknown) => {
    const asked = await app.ask(tool, args, { canAsk });
    if (asked.kind !== "questions" || asked.questions["grant"]?.kind !== "form")
      throw new Error(`no question: ${JSON.stringify(asked)}`);
    const answer = (answers: typeof ONCE) => app.ask(tool, args, { canAsk, state: asked.state, answers });
    return { message: asked.questions["grant"].message, answer };
  };
  return { out, app, show, question };
};

describe("REQ-I4: a policy that forbids a file holds wherever that is opened", () => {
  const FORBID = (out: string): string =>
    `@id("not-salaries") forbid(principal, action, resource == File::"${out}/salary.txt");\n`;

  it.each(["salary.txt", "link.txt", "sub/up/salary.txt", "sub/up/link.txt", "sub/../salary.txt"])(
    "by its name and through links, although all others are permitted: %s",
    async (path) => {
      const { out, show } = await openBeside(
        (at) => `${FORBID(at)}permit(principal, action in Action::"read", resource is File);`,
      );
      for (const tool of ["read_file", "linux_fs_read", "stat"])
        expect(await show(tool, { path: join(out, path) }), tool).toContain("path_denied");
      expect(await show("linux_search_content", { root: join(out, path), pattern: "needle" })).toContain(
        "path_denied",
      );
      expect(await show("read_file", { path: join(out, "public.txt") })).toContain("PUBLIC");
    },
  );

  it("in a search of a folder that is permitted", async () => {
    const { out, show } = await openBeside(
      (at) => `${FORBID(at)}permit(principal, action in Action::"read", resource == File::"${at}");`,
    );
    const found = await show("linux_search_content", { root: out, pattern: "needle" });
    expect(found).toContain("PUBLIC");
    expect(found).not.toContain("SALARY");
    const names = await show("linux_search_files", { root: out, pattern: "*.txt" });
    expect(names).toContain("public.txt");
    expect(names).not.toContain("salary.txt");
  });

  it("in a search of a folder that the user agreed to", async () => {
    const { out, question } = await openBeside(FORBID);
    const { answer } = await question("linux_search_content", { root: out, pattern: "needle" });
    const found = JSON.stringify(await answer(ONCE));
    expect(found).toContain("PUBLIC");
    expect(found).not.toContain("SALARY");
  });

  it("with everything in a folder, where it says `in`", async () => {
    const { out, show } = await openBeside(
      (at) =>
        `forbid(principal, action, resource in File::"${at}/private");\n` +
        `permit(principal, action in Action::"read", resource in File::"${at}");`,
    );
    expect(await show("read_file", { path: join(out, "private/notes.txt") })).toContain("path_denied");
    expect(await show("read_file", { path: join(out, "open/f.txt") })).toContain("OPEN");
    const found = await show("linux_search_content", { root: out, pattern: "needle" });
    expect(found).toContain("SUB");
    expect(found).not.toContain("NOTES");
    expect(await show("linux_fs_list", { path: out, depth: 3 })).not.toContain("notes.txt");
  });

  it("but one that only asks for consent is met by the user's yes to the folder", async () => {
    const { out, question } = await openBeside(
      () => "forbid(principal, action, resource is File) unless { context.granted };",
    );
    const { answer } = await question("linux_search_content", { root: out, pattern: "needle" });
    expect(JSON.stringify(await answer(ONCE))).toContain("SALARY");
  });

  it("a permit is for what a path leads to", async () => {
    const { out, show } = await openBeside(
      (at) => `permit(principal, action in Action::"read", resource == File::"${at}/link.txt");`,
    );
    expect(await show("read_file", { path: join(out, "link.txt") })).toContain("path_denied");
  });
});

/** Not about paths. */
const HARMLESS = 'forbid(principal, action == Action::"linux_fs_copy", resource);';

describe("REQ-I5: the question about a path outside the roots", () => {
  const swap = (out: string, target: string): void => {
    rmSync(join(out, "L"), { force: true });
    symlinkSync(join(out, target), join(out, "L"));
  };

  it("shows where links lead, and an answer counts for that alone", async () => {
    const { out, question } = await openBeside(() => HARMLESS);
    swap(out, "open");
    mkdirSync(join(out, "private"), { recursive: true });
    const { message, answer } = await question("linux_search_content", {
      root: join(out, "L"),
      pattern: "needle",
    });
    expect(message).toContain(`"${out}/L" is outside the allowed folders and leads to "${out}/open"`);
    swap(out, "private");
    const after = await answer(ONCE);
    expect(after).toMatchObject({
      kind: "questions",
      questions: { grant: { message: expect.stringContaining(`leads to "${out}/private"`) } },
    });
  });

  it("a yes for the session is one for where the path led", async () => {
    const { out, app, question } = await openBeside(() => HARMLESS);
    swap(out, "open");
    const args = { root: join(out, "L"), pattern: "needle" };
    const { answer } = await question("linux_search_content", args);
    expect(JSON.stringify(await answer(SESSION))).toContain("OPEN");
    expect((await app.ask("linux_search_content", args, { canAsk })).kind).toBe("ok");
    expect((await app.ask("linux_search_content", { ...args, root: join(out, "open") })).kind).toBe("ok");
    swap(out, "private");
    expect((await app.ask("linux_search_content", args, { canAsk })).kind).toBe("questions");
  });

  it("is not asked about what is not there", async () => {
    const { out, app } = await openBeside(() => HARMLESS);
    swap(out, "missing");
    for (const path of ["L", "nothing"])
      expect((await app.ask("read_file", { path: join(out, path) }, { canAsk })).kind).toBe("error");
  });
});
