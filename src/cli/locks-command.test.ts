import { expect, it } from "vitest";
import { pipeIo } from "../../test/command-line.ts";
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
  const pipe = pipeIo();
  runLocks({ list: () => held }, pipe.io, { json });
  return pipe.out;
};

it("shows who holds what, without control characters", () => {
  expect(shown([HELD, { ...HELD, key: "/srv/b.ts", isDead: true }], false)).toBe(
    `PROCESS  SINCE                     UNTIL                     FENCE  FILE
42       1970-01-01T00:00:00.000Z  1970-01-01T00:00:15.000Z  7      /srv/a␛[2J.ts
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
