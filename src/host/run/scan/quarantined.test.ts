import { expect, test } from "vitest";
import { showQuarantined } from "./quarantined.ts";

test("REQ-D16 what was renamed is told apart from what is still there or was not checked", () => {
  expect(
    showQuarantined(
      [
        { kind: "renamed", path: "/w/.envrc", movedTo: "/w/.envrc.refused-1" },
        { kind: "not renamed", path: "/w/sub/.git" },
        { kind: "root moved", path: "/w" },
      ],
      "/w",
    ),
  ).toEqual({
    renamed: [".envrc -> .envrc.refused-1"],
    unresolved: [
      "sub/.git (still there: it could not be renamed)",
      ". (not checked: this folder was moved while the command ran, and what the command created in it went along)",
    ],
  });
});
