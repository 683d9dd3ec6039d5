import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteForQuestion, showCall } from "./show-call.ts";

const INVISIBLE = [
  ..."\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u2000\u200b\u200d\u2028\u2029\u202e",
  ..."\u202f\u205f\u2060\u2064\u2065\u206f\u2800\u3000\u3164\ufe00\ufe0f\ufeff\uffa0\ufff0\ufffb\u0085\u009b\u001b\u007f",
  ...["\u{1bca0}", "\u{1d173}", "\u{e0000}", "\u{e0001}", "\u{e0041}", "\u{e0100}", "\u{e01ef}", "\u{e0fff}"],
  ...["\ue000", "\u{10fffd}", "\u0378", "\ud800"],
];

describe("REQ-I5: what a question shows of a text that somebody else chose", () => {
  it.each(INVISIBLE)("makes what cannot be seen visible: %j", (one) => {
    expect(quoteForQuestion(`npm te${one}st`)).toMatch(/^"npm te\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|[a-z])st"$/);
  });

  it("escapes each character of these properties, whatever Unicode adds, and nothing that can be seen", () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      const one = String.fromCodePoint(code);
      const shown = quoteForQuestion(one).slice(1, -1);
      const isHidden = one !== " " && /[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800]/u.test(one);
      if (isHidden) expect(shown, code.toString(16)).toMatch(/^\\[\x21-\x7e]+$/);
      else if (!'"\\'.includes(one) && shown !== one) expect(shown, code.toString(16)).toBe(one);
    }
  });

  it("leaves nothing out: colours are escaped like anything else", () => {
    expect(quoteForQuestion("rm\u001b[31m -rf")).toBe('"rm\\u001b[31m -rf"');
  });

  it("lets nobody write a line: one for the call and one for each argument, whatever their names and values", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: "binary", maxLength: 20 }),
          fc.string({ unit: "binary", maxLength: 20 }),
          {
            maxKeys: 5,
            noNullPrototype: true,
          },
        ),
        (args) => {
          const lines = (showCall("wipe", args) ?? "").split(/[\n\r\u0085\u2028\u2029]/);
          const names = Object.keys(args);
          expect(lines).toHaveLength(names.length + 1);
          for (const line of lines.slice(1))
            expect(line).toMatch(/^ {2}"(?:[^"\\]|\\.)*": "(?:[^"\\]|\\.)*"$/);
        },
      ),
    );
  });

  it("shows an argument's name as what it is", () => {
    const name = 'dry_run: "true"\nNothing will be changed.\n  note';
    expect(showCall("wipe", { target: "prod", [name]: "" })).toBe(
      'The agent wants to use wipe:\n  "target": "prod"\n  "dry_run: \\"true\\"\\nNothing will be changed.\\n  note": ""',
    );
  });
});
