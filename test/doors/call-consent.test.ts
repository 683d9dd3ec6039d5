import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { startLlmc } from "../command-line.ts";
import { launcher } from "../workspace.ts";
import { atTerminal, when } from "./at-terminal.ts";

const CALL = ["call", "run_cmd", "--args", '{"command":"date +%Y-it-ran"}'];
const QUESTION = "[y]es, this time; [a]lways; [N]o?";
const RAN = /\d{4}-it-ran/;

/** The whole of what the terminal shows after the answer. */
const answer = async (root: string, keys: string) => {
  const { shown, code } = await atTerminal([launcher, ...CALL], {
    cwd: root,
    env: { XDG_STATE_HOME: join(root, ".state"), XDG_CONFIG_HOME: join(root, ".config") },
    type: when(QUESTION, keys),
  });
  const [before = "", after = ""] = shown.split(QUESTION);
  return { before, after, code };
};

describe("REQ-I5: llmc call asks the person at the terminal", () => {
  test("yes counts for this call, no and an empty line refuse it", async () => {
    const root = tempWorkspace();
    const yes = await answer(root, "y\n");
    expect(yes.before).toMatch(/"command": "date .*"\s+"date" is "\/\S+\/date", which is not among/);
    expect(yes).toMatchObject({ after: expect.stringMatching(RAN), code: 0 });
    for (const keys of ["n\n", "\n"]) {
      const no = await answer(root, keys);
      expect(no.after).toContain("llmc allow date");
      expect(no.after).not.toMatch(RAN);
      expect(no.code).not.toBe(0);
    }
    expect(existsSync(join(root, "llmc.toml"))).toBe(false);
  });

  test("the words of the question are answers, too, and what is none of them is asked again", async () => {
    const root = tempWorkspace();
    for (const keys of ["once\n", "session\n"])
      expect(await answer(root, keys), keys).toMatchObject({ after: expect.stringMatching(RAN), code: 0 });
    let typed = 0;
    const { shown, code } = await atTerminal([launcher, ...CALL], {
      cwd: root,
      env: { XDG_STATE_HOME: join(root, ".state"), XDG_CONFIG_HOME: join(root, ".config") },
      type: (text) => {
        const asked = text.split(QUESTION).length - 1;
        if (asked <= typed) return undefined;
        typed = asked;
        return asked === 1 ? "sure\n" : "yes\n";
      },
    });
    expect(shown.split(QUESTION)).toHaveLength(3);
    expect([shown, code]).toEqual([expect.stringMatching(RAN), 0]);
    expect((await answer(root, "never\n")).code).not.toBe(0);
    expect(existsSync(join(root, "llmc.toml"))).toBe(false);
  });

  test("always is what llmc allow writes: the next call asks nobody", async () => {
    const root = tempWorkspace();
    expect(await answer(root, "a\n")).toMatchObject({ after: expect.stringMatching(RAN), code: 0 });
    expect(readFileSync(join(root, "llmc.toml"), "utf8")).toMatch(
      /run_cmd_allowlist = [^\]]*"(\/\S+\/)?date"/,
    );
    const env = { XDG_STATE_HOME: join(root, ".state"), XDG_CONFIG_HOME: join(root, ".config") };
    expect(await startLlmc(root, CALL, { env })).toMatchObject({ code: 0, out: expect.stringMatching(RAN) });
  });

  test("without a terminal it is refused, with the command that allows it", async () => {
    const { code, err } = await startLlmc(tempWorkspace(), CALL);
    expect(code).not.toBe(0);
    expect(err).toContain("llmc allow date");
  });
});
