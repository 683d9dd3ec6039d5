import { expect, test } from "vitest";
import { citations } from "../scripts/citations.ts";
import { REQUIREMENTS } from "./requirements.ts";

test("every id that a test cites exists", () => {
  const unknown = [...citations()].filter(([id]) => !(id in REQUIREMENTS));
  expect(unknown).toEqual([]);
});
