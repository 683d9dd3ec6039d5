import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { firstScreen, makeClone, makeProject, runHour } from "../test/doors/first-hour.ts";
import type { Benchmark } from "./lib/report.ts";
import { createWorkspace } from "./lib/workspace.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** How this machine reaches a registry; everything else of the environment stays out. */
const registryAccess = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /_proxy$|^npm_config_|_cert|_ca_/i.test(name) ? [[name, value]] : [],
    ),
  );

export const firstHour: Benchmark = {
  name: "first-hour",
  summary: "seconds from the README's first command to the first answer of a client, by npm and from a clone",
  needs: "a package registry",
  run: async () => {
    await using workspace = await createWorkspace();
    const [npm, clone] = ["npm", "clone"].map((name) => join(workspace.path, name)) as [string, string];
    for (const folder of [npm, clone]) {
      mkdirSync(folder);
      await makeProject(join(folder, "your-project"));
    }
    execFileSync("npm", ["pack", "--silent", "--pack-destination", npm], { cwd: REPOSITORY });
    const tarball = readdirSync(npm).find((name) => name.endsWith(".tgz")) ?? "";
    const prefix = join(npm, "prefix");
    const { npm: commands, clone: fromClone } = firstScreen();
    const byNpm = await runHour(commands.replace("-g llmc-mcp", `-g ${join(npm, tarball)}`), npm, {
      ...registryAccess(),
      npm_config_prefix: prefix,
      PATH: `${join(prefix, "bin")}:${process.env["PATH"]}`,
    });
    makeClone(join(clone, "llmc"));
    const byClone = await runHour(fromClone, clone);
    const rows = [
      ["by npm", byNpm],
      ["from a clone, packages installed", byClone],
    ] as const;
    return {
      tables: [
        {
          head: ["", "commands, s", "tool list, s", "first answer, s", "in all, s"],
          rows: rows.map(([name, { connectMs, listMs, answerMs }]) => [
            name,
            seconds(connectMs),
            seconds(listMs),
            seconds(answerMs),
            seconds(connectMs + answerMs),
          ]),
        },
      ],
      notes: [
        "the commands are those of the README's first screen; the tarball stands for the published package",
      ],
      figures: {
        npm_s: Number(seconds(byNpm.connectMs + byNpm.answerMs)),
        clone_s: Number(seconds(byClone.connectMs + byClone.answerMs)),
        first_answer_s: Number(seconds(byNpm.answerMs)),
      },
    };
  },
};
