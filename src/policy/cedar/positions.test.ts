import { describe, expect, it, test } from "vitest";
import {
  describeProblem,
  positionForCallers,
  positionOf,
  positionOfPolicy,
  publicName,
} from "./positions.ts";

const FORGED = "p/w\u001b[2J\nop   permit  /etc/op.cedar:1\u202e\u2028\u200b.cedar";
const ESCAPED = String.raw`"p/w\u001b[2J\nop   permit  /etc/op.cedar:1\u{202e}\u{2028}\u{200b}.cedar"`;

describe("REQ-D22 FAIL-D10: the name of a policy file is the workspace's text", () => {
  it("stands in quotes, on one line and with everything visible, wherever a position is shown", () => {
    const problem = { file: FORGED, line: 2, column: 3, message: "wrong" };
    expect(positionOf(problem)).toBe(`${ESCAPED}:2:3`);
    expect(describeProblem(problem)).toBe(`${ESCAPED}:2:3: wrong`);
    expect(positionForCallers({ ...problem, line: 0 })).toBe(ESCAPED);
    expect(positionOfPolicy(FORGED, 1)).toBe(`${ESCAPED}#1`);
  });

  test.each(["p/a b.cedar", 'p/"a".cedar', "p/a\\nb.cedar", "p/a\nb.cedar", '"p/a b.cedar"'])(
    "is not the name of another file: %j",
    (name) => {
      expect(positionOfPolicy(name, 1)).toBe(`${JSON.stringify(name)}#1`);
    },
  );

  it("is as it was where it is a plain one, in any script", () => {
    for (const name of ["p/a.cedar", "/etc/llmc/a-1_b.cedar", "политика/é.cedar"])
      expect(positionOf({ file: name, line: 1 })).toBe(`${name}:1`);
  });

  it("names callers no folder of the operator's, quoted or not, and is short", () => {
    expect(publicName("/home/u/.config/a.cedar#1")).toBe("a.cedar#1");
    expect(publicName(positionOfPolicy("/home/u/my own/a b.cedar", 1))).toBe('"a b.cedar"#1');
    expect(publicName(positionOfPolicy("p/a.cedar", 1))).toBe("p/a.cedar#1");
    expect(publicName("/a.cedar")).toBe("a.cedar");
    expect(publicName(`p/${"a".repeat(300)}.cedar`).length).toBeLessThan(130);
  });
});
