import { expect, test } from "vitest";
import { inputActions } from "./input.ts";

test.each(["ctrl-c", "Ctrl-C", "ctrl+c", "CTRL+C", "C-c", "^C", "^c", "control-c"])(
  "REQ-T9: %s is the interrupt key",
  (key) => {
    expect(inputActions({ input: undefined, key, waitMs: 0 }, false)).toEqual([
      { kind: "signal", signal: "SIGINT" },
    ]);
    expect(inputActions({ input: undefined, key, waitMs: 0 }, true)).toEqual([
      { kind: "bytes", bytes: Buffer.from([3]) },
    ]);
  },
);

test("REQ-T9: other keys by their names; a caret or a letter alone is itself", () => {
  const bytes = (key: string) => inputActions({ input: undefined, key, waitMs: 0 }, true);
  expect(bytes("Escape")).toEqual(bytes("esc"));
  expect(bytes("return")).toEqual(bytes("enter"));
  expect(bytes("^")).toEqual([{ kind: "bytes", bytes: Buffer.from("^") }]);
  expect(bytes("C")).toEqual([{ kind: "bytes", bytes: Buffer.from("C") }]);
  expect(() => bytes("ctrl-cc")).toThrow("There is no such key");
});
