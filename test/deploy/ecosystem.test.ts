import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { bundle, type bundleManifest, serverJson } from "../../scripts/registry-files.ts";
import { openZip } from "../../src/documents/text/zip.ts";
import { VERSION } from "../../src/wiring/version.ts";
import { REPOSITORY, readFromRoot } from "./context.ts";

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/** What npm installs of a list of optional packages, one for each kind of machine. */
const isForMachine = ({ os, cpu, libc }: LockedPackage): boolean =>
  [os?.includes("linux"), cpu?.includes("x64"), libc?.includes("glibc")].every((fits) => fits !== false);

test("REQ-P7: a production install on Linux has at most 80 packages, this one included", () => {
  const { packages } = JSON.parse(readFromRoot("package-lock.json")) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const installed = Object.values(packages).filter((one) => one.dev !== true && isForMachine(one));
  expect(installed.length).toBeGreaterThan(60);
  expect(installed.length).toBeLessThanOrEqual(80);
});

/** The parts of the registry's published schema (2025-12-11) that an npm package has to do with. */
const argument = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("positional"), value: z.string() }),
  z.strictObject({
    type: z.literal("named"),
    name: z.string().startsWith("--"),
    description: z.string().optional(),
    format: z.enum(["string", "number", "boolean", "filepath"]).optional(),
    isRequired: z.boolean().optional(),
  }),
]);
const registryEntry = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.literal(VERSION),
  packages: z.tuple([
    z.strictObject({
      registryType: z.literal("npm"),
      identifier: z.literal("llmc-mcp"),
      version: z.literal(VERSION),
      runtimeHint: z.literal("npx"),
      transport: z.strictObject({ type: z.literal("stdio") }),
      packageArguments: z.array(argument),
    }),
  ]),
});

test("REQ-P7: the registry entry is of this version, and fits the registry's schema", () => {
  expect(() => registryEntry.parse(serverJson("io.github.someone"))).not.toThrow();
});

test("REQ-P7: the bundle starts the package of the same version, in the folder that its user chose", () => {
  const archive = openZip(bundle(), 100_000);
  const read = (name: string): string => Buffer.from(archive.read(name) ?? []).toString("utf8");
  const manifest = JSON.parse(read("manifest.json")) as ReturnType<typeof bundleManifest>;
  expect(manifest.version).toBe(VERSION);
  expect(manifest.server.mcp_config.args).toContain(`\${__dirname}/${manifest.server.entry_point}`);
  expect(Object.keys(manifest.user_config)).toEqual(["workspace"]);
  expect(read(manifest.server.entry_point)).toContain(`"llmc-mcp@${VERSION}", "serve", "--stdio", "--root"`);
});

test("REQ-P7: one command writes both; a name that is no namespace is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-registry-"));
  const run = (namespace: string) =>
    spawnSync(process.execPath, [join(REPOSITORY, "scripts/registry-files.ts"), namespace, folder], {
      encoding: "utf8",
    });
  try {
    expect(run("../somewhere").status).toBe(2);
    expect(run("io.github.someone").stdout).toContain("mcpName=io.github.someone/llmc-mcp");
    expect(readdirSync(folder).toSorted()).toEqual([`llmc-mcp-${VERSION}.mcpb`, "server.json"]);
    expect(JSON.parse(readFileSync(join(folder, "server.json"), "utf8"))).toEqual(
      serverJson("io.github.someone"),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("REQ-P7: the workflow runs what CI runs anywhere", () => {
  const { jobs } = parse(readFromRoot(".github/workflows/ci.yml")) as {
    readonly jobs: { readonly test: { readonly steps: readonly { readonly run?: string }[] } };
  };
  const commands = jobs.test.steps.flatMap(({ run }) => run ?? []);
  // Only root can install system packages and set what the kernel allows.
  expect(commands.filter((command) => !command.startsWith("sudo "))).toEqual([".ci/run"]);
  expect(statSync(join(REPOSITORY, ".ci/run")).mode & 0o111).not.toBe(0);
});
