import { describe, expect, test } from "vitest";
import { meanPool } from "./onnx-embedder.ts";

describe("pooling", () => {
  test("the mean of the tokens' rows, at length 1, without what is padding", () => {
    const rows = Float32Array.of(1, 2, 5, 6, 100, -100);
    expect([...meanPool(rows, 2, 2)]).toEqual([3 / 5, 4 / 5]);
  });

  test("nothing stays nothing", () => {
    expect([...meanPool(Float32Array.of(1, 2), 0, 2)]).toEqual([0, 0]);
    expect([...meanPool(Float32Array.of(1, -1), 2, 1)]).toEqual([0]);
  });
});
