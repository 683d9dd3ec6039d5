import { expect, test } from "vitest";
import { ANN, BOB, openTokenDoor, type TokenDoor, type Who } from "./two-tokens.ts";

const NOTES = "line one\npassword: planted-77aa\nline three\nline three\nfive\n";
const LEAKS = /planted|line one|five|lines? \d|nearest|similar|"moved"|@@|\bfound/;

const hunk = (...lines: readonly string[]): string => `--- a/n.md\n+++ b/n.md\n${lines.join("\n")}\n`;

/** What a caller could use to see a file through the answer of a tool that writes it. */
const askAll = async (door: TokenDoor, who: Who): Promise<Readonly<Record<string, string>>> => {
  const edit = (old_text: string, new_text: string, more = {}) =>
    door.ask(who, "linux_fs_edit", { path: "n.md", old_text, new_text, ...more });
  const patch = (text: string, dry_run = true) => door.ask(who, "repo_write_patch", { patch: text, dry_run });
  const answers = {
    "a similar text": await edit("password: plant-77aa", "x"),
    "a text that occurs twice": await edit("three", "3"),
    "another number of texts": await edit("line", "LINE", { expected_replacements: 9 }),
    "an edit that is made": await edit("pass", "Pass"),
    "the edit taken back": await edit("Pass", "pass"),
    "a patch that nearly fits": await patch(hunk("@@ -1,3 +1,3 @@", " line one", "-password", "+q", " x")),
    "a patch that fits elsewhere": await patch(hunk("@@ -9,1 +9,1 @@", "-five", "+5")),
    "a patch that fits twice": await patch(hunk("@@ -9,1 +9,1 @@", "-line three", "+3")),
    "a write against another content": await door.ask(who, "linux_fs_write", {
      path: "n.md",
      content: "x",
      expected_sha256: "0".repeat(64),
    }),
  };
  return Object.fromEntries(Object.entries(answers).map(([what, answer]) => [what, JSON.stringify(answer)]));
};

/** What the caller sent may come back. */
const withoutSent = (answer: string): string => answer.replaceAll(/password: plant-77aa|Hunk 1 of/g, "");

test("REQ-I4 FAIL-J2: a token with only the scope write learns nothing of a file but whether a change fits", async () => {
  const door = await openTokenDoor("", { "n.md": NOTES });
  await door.setBob("write");
  for (const [what, answer] of Object.entries(await askAll(door, BOB)))
    expect(withoutSent(answer), what).not.toMatch(LEAKS);
  const whole = Object.values(await askAll(door, ANN)).join("\n");
  for (const report of ["planted-77aa", "lines 3, 4", "occurs 3 times", "@@ 2", '"moved"', "nearest"])
    expect(whole).toContain(report);
});

test("REQ-I4: a policy that forbids to read a file forbids what the answers of writes tell of it", async () => {
  const door = await openTokenDoor(
    '[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
    {
      "n.md": NOTES,
      "p.cedar":
        '@id("bob-reads-nothing")\nforbid(principal == Principal::"bob", action == Action::"read_file", resource);\n',
    },
  );
  for (const [what, answer] of Object.entries(await askAll(door, BOB)))
    expect(withoutSent(answer), what).not.toMatch(LEAKS);
});
