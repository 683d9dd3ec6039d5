import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Benchmark, Figures } from "./lib/report.ts";
import { createWorkspace } from "./lib/workspace.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const MB = 1_000_000;
const TARGET = { mb: 120, packages: 80 };
/** Measured in the same way before the large packages were shipped in part, at commit 751b146. */
const BEFORE = { mb: 300, packages: 123 };

/** Bytes on the disk, as `du` counts them: whole blocks. */
const diskBytes = (path: string): number => {
  const stats = lstatSync(path);
  const own = stats.blocks * 512;
  if (!stats.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), own);
};

const packagesIn = (modules: string): readonly string[] => {
  const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, unknown>>;
  };
  return Object.keys(packages).filter((path) => path !== "");
};

export const install: Benchmark = {
  name: "install",
  summary: "megabytes and packages of a production install from the packed tarball",
  needs: "a package registry",
  run: async () => {
    await using workspace = await createWorkspace();
    const npm = (cwd: string, ...args: string[]): string =>
      execFileSync("npm", args, { cwd, encoding: "utf8" });
    npm(REPOSITORY, "pack", "--silent", "--pack-destination", workspace.path);
    const tarball = readdirSync(workspace.path).find((name) => name.endsWith(".tgz")) ?? "";
    writeFileSync(join(workspace.path, "package.json"), '{"private":true}');
    npm(
      workspace.path,
      "install",
      "--omit=dev",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      `./${tarball}`,
    );
    const modules = join(workspace.path, "node_modules");
    const packages = packagesIn(modules);
    const mb = diskBytes(modules) / MB;
    const largest = readdirSync(modules)
      .map((name) => ({ name, mb: diskBytes(join(modules, name)) / MB }))
      .toSorted((a, b) => b.mb - a.mb)
      .slice(0, 10);
    const folders: Figures = Object.fromEntries(largest.map((one) => [one.name, Number(one.mb.toFixed(1))]));
    return {
      tables: [
        {
          head: ["", "MB", "packages"],
          rows: [
            ["before", BEFORE.mb, BEFORE.packages],
            ["now", mb.toFixed(1), packages.length],
            ["target", TARGET.mb, TARGET.packages],
          ],
        },
        { head: ["largest folder", "MB"], rows: largest.map((one) => [one.name, one.mb.toFixed(1)]) },
      ],
      notes: [
        `${mb <= TARGET.mb && packages.length <= TARGET.packages ? "within" : "ABOVE"} the target of ${TARGET.mb} MB and ${TARGET.packages} packages; the tarball has ${(lstatSync(join(workspace.path, tarball)).size / MB).toFixed(1)} MB`,
      ],
      figures: { mb: Number(mb.toFixed(1)), packages: packages.length, folders },
    };
  },
};
