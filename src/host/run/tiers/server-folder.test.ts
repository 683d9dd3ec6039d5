import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempWorkspace } from "../../../../test/app.ts";
import { openServerFolder, removeAbandonedFolders } from "./server-folder.ts";

/** Another server, as far as its folder goes. */
const SERVER = `
import { mkdirSync, writeFileSync } from "node:fs";
import { openServerFolder } from ${JSON.stringify(join(import.meta.dirname, "server-folder.ts"))};
const { path } = await openServerFolder();
mkdirSync(path + "/run-1/tmp", { recursive: true });
writeFileSync(path + "/run-1/tmp/large", "content");
console.log(path);
setInterval(() => {}, 1000);
`;

test("FAIL-G2 FAIL-D8: what a killed server has left is removed by the next one, what a living one has stays", async () => {
  const temp = tempWorkspace();
  vi.stubEnv("TMPDIR", temp);
  onTestFinished(() => void vi.unstubAllEnvs());
  const start = async () => {
    const server = spawn(process.execPath, ["--input-type=module", "-e", SERVER], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void server.kill("SIGKILL"));
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    return { server, path: line.toString().trim() };
  };
  const [killed, living] = await Promise.all([start(), start()]);
  const [foreign, linked] = [join(temp, "llmc-commands-foreign"), join(temp, "llmc-commands-link")];
  mkdirSync(join(foreign, "run-1"), { recursive: true });
  symlinkSync(living.path, linked);
  killed.server.kill("SIGKILL");
  await once(killed.server, "exit");
  expect(existsSync(join(killed.path, "run-1/tmp/large"))).toBe(true);
  const own = await openServerFolder();
  await removeAbandonedFolders();
  expect(existsSync(own.path)).toBe(true);
  await own.remove();
  expect([own.path, killed.path, living.path, foreign, linked].map((path) => existsSync(path))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
  expect(existsSync(join(living.path, "run-1/tmp/large"))).toBe(true);
});
