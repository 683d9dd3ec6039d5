import { expect, it } from "vitest";
import type { Io } from "./io.ts";
import { runLocks } from "./locks-command.ts";

const HELD = {
  key: "/srv/a\u001b[2J.ts",
  pid: 42,
  fence: 7,
  acquiredAt: new Date(0),
  expiresAt: new Date(15_000),
  isDead: false,
};

const shown = (held: readonly (typeof HELD)[], json: boolean): string => {
  let text = "";
  const io: Io = {
    out: (more) => {
      text += more;
    },
    data: (more) => {
      text += more;
    },
    err: () => {},
    redraw: () => {},
    hasColours: false,
    canRedraw: false,
    canAsk: false,
    confirm: async () => false,
    readInput: async () => "",
  };
  runLocks({ list: () => held }, io, { json });
  return text;
};

it("shows who holds what, without control characters", () => {
  expect(shown([HELD, { ...HELD, key: "/srv/b.ts", isDead: true }], false)).toBe(
    `PROCESS  SINCE                     UNTIL                     FENCE  FILE
42       1970-01-01T00:00:00.000Z  1970-01-01T00:00:15.000Z  7      /srv/a?[2J.ts
42       1970-01-01T00:00:00.000Z  1970-01-01T00:00:15.000Z  7      /srv/b.ts  (the process has ended; the next writer takes over)
`,
  );
});

it("shows that there are none", () => {
  expect(shown([], false)).toBe("No locks are held.\n");
  expect(shown([], true)).toBe("[]\n");
});

it("shows them as JSON", () => {
  expect(JSON.parse(shown([HELD], true))).toEqual([
    { ...HELD, acquiredAt: "1970-01-01T00:00:00.000Z", expiresAt: "1970-01-01T00:00:15.000Z" },
  ]);
});
