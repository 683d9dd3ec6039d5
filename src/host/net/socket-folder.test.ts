import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeSocketFolder, sweepSocketFolders } from "./socket-folder.ts";

const MAKE = `
import { makeSocketFolder } from ${JSON.stringify(join(import.meta.dirname, "socket-folder.ts"))};
process.stdout.write(makeSocketFolder(process.argv[1]));
setInterval(() => {}, 1000);
`;

/** Another process that makes a folder and keeps it. */
const startMaker = async (parent: string) => {
  const maker = spawn(process.execPath, ["--input-type=module", "-e", MAKE, parent], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void maker.kill("SIGKILL"));
  const [folder] = (await once(maker.stdout.setEncoding("utf8"), "data")) as [string];
  return { maker, folder };
};

test.skipIf(process.platform !== "linux")(
  "REQ-I9 FAIL-D7 the socket folder of a server that was killed is removed by another one, and no other folder",
  async () => {
    const parent = mkdtempSync(join(tmpdir(), "sockets-"));
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
    const own = makeSocketFolder(parent);
    const [killed, living] = await Promise.all([startMaker(parent), startMaker(parent)]);
    mkdirSync(join(parent, "llmc-aaaaaa"), { mode: 0o700 });
    symlinkSync(killed.folder, join(parent, "llmc-bbbbbb"));
    killed.maker.kill("SIGKILL");
    await once(killed.maker, "exit");
    sweepSocketFolders(parent);
    expect([own, living.folder, killed.folder].map((folder) => existsSync(folder))).toEqual([
      true,
      true,
      false,
    ]);
    expect(readdirSync(parent)).toEqual(expect.arrayContaining(["llmc-aaaaaa", "llmc-bbbbbb"]));
  },
);
