import { expect, test } from "vitest";
import { presetsFor } from "./presets.ts";

const inFolder = (...files: readonly string[]) => presetsFor(async (file) => files.includes(file));

test.each([
  [["package.json"], [{ name: "node", programs: ["node", "npm"] }]],
  [["package.json", "pnpm-lock.yaml"], [{ name: "node", programs: ["node", "npm", "pnpm"] }]],
  [["pyproject.toml", "uv.lock"], [{ name: "python", programs: ["python3", "pytest", "uv"] }]],
  [["Cargo.toml"], [{ name: "rust", programs: ["cargo"] }]],
  [["go.mod"], [{ name: "go", programs: ["go"] }]],
  [["pom.xml"], [{ name: "java", programs: ["java", "javac", "mvn"] }]],
  [["build.gradle.kts"], [{ name: "java", programs: ["java", "javac", "gradle"] }]],
  [["README.md"], []],
])("REQ-X1: %j are the marks of their kinds of project", async (files, presets) => {
  expect(await inFolder(...files)).toEqual(presets);
});

test("REQ-X1: a preset can be asked for by name", async () => {
  const presets = await presetsFor(async (file) => file === "yarn.lock", ["node", "go"]);
  expect(presets).toEqual([
    { name: "node", programs: ["node", "npm", "yarn"] },
    { name: "go", programs: ["go"] },
  ]);
});
