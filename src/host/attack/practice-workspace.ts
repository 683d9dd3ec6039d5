import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export const SECRET = "llmc-practice-secret";

const put = (root: string, path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

const GIT_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

const plant = (root: string, outside: string): void => {
  put(outside, "secret.txt", SECRET);
  put(outside, "victim.txt", "before");
  put(root, "file.txt", "text\n");
  put(root, ".env", SECRET);
  put(root, "keys/.ssh/id_rsa", SECRET);
  put(root, ".vscode/settings.json", "{}\n");
  put(root, ".git/HEAD", "ref: refs/heads/main\n");
  put(root, ".git/config", GIT_CONFIG);
  for (const name of ["objects", "refs/heads", "hooks"])
    mkdirSync(join(root, ".git", name), { recursive: true });
  symlinkSync(join(outside, "secret.txt"), join(root, "link"));
  symlinkSync(outside, join(root, "folder-link"));
  symlinkSync(join(outside, "new.txt"), join(root, "dangling"));
};

const FIFO_TIMEOUT_MS = 2000;

/** Without one, a missing file is read in its place. */
const makeFifo = (path: string): Promise<unknown> =>
  promisify(execFile)("mkfifo", [path], { timeout: FIFO_TIMEOUT_MS, env: {} }).catch(() => undefined);

const listen = async () => {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, count: () => count, close: () => server.close() };
};

/** A workspace made to be attacked, with something beside it that must not be reached. */
export type PracticeWorkspace = Awaited<ReturnType<typeof createPracticeWorkspace>>;

/** Everything is in a temporary folder and is removed with it. */
export const createPracticeWorkspace = async () => {
  const top = await realpath(await mkdtemp(join(tmpdir(), "llmc-practice-")));
  const [root, outside, home] = ["workspace", "outside", "home"].map((name) => join(top, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [root, outside, home]) mkdirSync(folder, { mode: 0o700 });
  plant(root, outside);
  await makeFifo(join(root, "fifo"));
  const counter = await listen();
  const differs = (path: string, text: string): boolean => {
    try {
      return readFileSync(path, "utf8") !== text;
    } catch {
      return true;
    }
  };
  return {
    root,
    outside,
    /** Stands for the user's own folders of llmc. */
    home,
    connections: counter.count,
    /** Puts the hostile program into the workspace, and what it needs to know. */
    arm: (script: string, server: number): void => {
      put(root, "hostile.cjs", script);
      const facts = { outside, home, port: counter.port, server, secret: SECRET };
      put(root, "facts.json", JSON.stringify(facts));
    },
    /** Names of the guarantees that no longer hold on the disk. */
    broken: (): readonly string[] => [
      ...(existsSync(join(outside, "new.txt")) || differs(join(outside, "victim.txt"), "before")
        ? ["files outside stay as they are"]
        : []),
      ...(differs(join(root, ".git/config"), GIT_CONFIG) || existsSync(join(root, ".git/hooks/post-checkout"))
        ? ["git's configuration and hooks stay as they are"]
        : []),
      ...(existsSync(join(root, "llmc.toml")) ? ["no configuration comes into being"] : []),
      ...(differs(join(root, ".vscode/settings.json"), "{}\n") ? ["start-up files stay as they are"] : []),
      ...(existsSync(join(root, "planted/.git")) ? ["no repository is planted"] : []),
    ],
    remove: async (): Promise<void> => {
      counter.close();
      await rm(top, { recursive: true, force: true });
    },
  };
};
