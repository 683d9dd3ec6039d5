import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { tokenCounter } from "../../host/os/token-counter.ts";
import { estimateTokens } from "./token-estimate.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const file = (path: string): string => readFileSync(`${repository}/${path}`, "utf8");
const outputOf = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: repository, encoding: "utf8", maxBuffer: 1e8 }).slice(0, 60_000);

const TEXTS: Readonly<Record<string, () => string>> = {
  code: () => file("src/wiring/app.ts"),
  prose: () => file("ARCHITECTURE.md"),
  json: () => file("package.json"),
  listing: () => outputOf("ls", "-la", "/usr/bin"),
  paths: () => outputOf("find", "src", "-name", "*.ts"),
  numbers: () => outputOf("seq", "1", "4000"),
  base64: () => Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 251)).toString("base64"),
  other: () => "Zażółć gęślą jaźń, 日本語のテキスト, Ελληνικά. ".repeat(100),
};

describe("the token estimate", () => {
  test.each(Object.keys(TEXTS))("REQ-X4: of %s is near what the tokenizer counts", async (name) => {
    const text = TEXTS[name]?.() ?? "";
    const counted = (await tokenCounter())(text);
    expect(counted).toBeGreaterThan(300);
    expect(estimateTokens(text) / counted).toBeGreaterThan(0.65);
    expect(estimateTokens(text) / counted).toBeLessThan(1.45);
  });

  test("of nothing is nothing, and a long text is not read whole", () => {
    expect(estimateTokens("")).toBe(0);
    const line = "one two three 42\n";
    const many = estimateTokens(line.repeat(200_000));
    expect(many / (estimateTokens(line.repeat(1000)) * 200)).toBeCloseTo(1, 1);
  });
});
