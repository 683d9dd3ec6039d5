import { expect, test } from "vitest";
import { createReachCheck } from "./beyond-reach.ts";

const profile = {
  writable: ["/w/project"],
  protectedInside: ["/w/project/a/.vscode"],
  hidden: ["/w/project/.llmc"],
  network: false,
};

test.each([
  ["/w/.envrc", { bubblewrap: true, landlock: true, plain: false }],
  ["/w/project/.envrc", { bubblewrap: false, landlock: true, plain: false }],
  ["/w/project/a/.envrc", { bubblewrap: false, landlock: true, plain: false }],
  ["/w/project/b/.envrc", { bubblewrap: false, landlock: false, plain: false }],
] as const)("FAIL-J1 %s", (path, expected) => {
  for (const tier of ["bubblewrap", "landlock", "plain"] as const)
    expect(createReachCheck(tier, profile)(path), tier).toBe(expected[tier]);
});
