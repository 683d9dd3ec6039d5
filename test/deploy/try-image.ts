import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** `UID:GID`. */
  readonly user: string;
  readonly folder: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

/** Engines differ in whether they let a container make user namespaces. All cover parts of /proc, and so does bubblewrap. */
type Engine = "with namespaces" | "without namespaces";

const TOKEN = "a-value-for-this-trial-alone-0123456789";
const START_MS = 30_000;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
};

/** As compose does it: read-only root, the repository read-only, a volume for the state, memory for /tmp. */
const mountsOf = (
  { root, folder }: Image,
  workspace: string,
  data: string,
  state: string,
): readonly string[] => [
  ...["--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"],
  ...["--ro-bind", workspace, "/app", "--bind", data, "/app/.llmc", "--bind", state, "/var/lib/llmc"],
  ...["--chdir", folder],
];

const sandboxed = (image: Image, engine: Engine, mounts: readonly string[], command: readonly string[]) => {
  const [uid = "", gid = ""] = image.user.split(":");
  const drop = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"];
  const dropAll = [...drop, "--bounding-set=-all", "--inh-caps=-all", "--"];
  const apart = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--as-pid-1"];
  if (engine === "with namespaces")
    return ["bwrap", ...mounts, ...apart, "--cap-add", "ALL", "--", ...dropAll, ...command];
  // Its user namespace is the last one that can be made.
  const only = ["--unshare-user", "--uid", uid, "--gid", gid, "--disable-userns"];
  return [...drop, "--", "bwrap", ...mounts, ...apart, ...only, "--", ...command];
};

/** With the number of the container's first process on descriptor 3. */
const reporting = (command: readonly string[]): readonly string[] =>
  command.flatMap((word) => (word === "bwrap" ? [word, "--info-fd", "3"] : [word]));

interface Trial {
  readonly url: string;
  readonly once: (command: readonly string[]) => string;
}

const post = async ({ url }: Trial, path: string, body: unknown): Promise<string> => {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", "x-llmc-token": TOKEN },
  });
  return `${answer.status} ${await answer.text()}`;
};

const expectText = (what: string, text: string, pattern: RegExp, say: (text: string) => void): void => {
  if (!pattern.test(text)) throw new Error(`${what}: expected ${pattern}, got ${text.slice(0, 600)}`);
  say(`   ${what}: ${text.replace(/\s+/g, " ").slice(0, 110)}`);
};

const untilWell = async (url: string, child: ChildProcess, logs: () => string): Promise<string> => {
  for (const deadline = Date.now() + START_MS; ; await sleep(50)) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer !== undefined) return `${answer.status} ${await answer.text()}`;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the server did not start (exit ${child.exitCode}): ${logs().slice(-1500)}`);
  }
};

/** Everything that only works if the image has what it needs: programs, native modules, grammars, threads. */
const exercise = async (trial: Trial, image: Image, say: (text: string) => void) => {
  const tool = (name: string, args: unknown) => post(trial, "/tool", { session_id: "trial", name, args });
  expectText("health check", `exit 0 ${trial.once(image.healthCheck)}`, /^exit 0 $/, say);
  expectText("a file", await tool("read_file", { path: "a.py" }), /^200 .*def greet/s, say);
  const written = await tool("linux_fs_write", { path: "b.txt", content: "x" });
  expectText("a write to a read-only mount", written, /^4\d\d .*"code"/s, say);
  for (const command of ["ls", "rg greet", "tree", "file a.py", "git log --oneline"])
    expectText(command, await tool("run_cmd", { command }), /^200 .*(a\.py|first)/s, say);
  const found = await post(trial, "/rag/search", { q: "greet somebody by name", scope: "repo", k: 2 });
  expectText("search", found, /^200 .*a\.py/s, say);
  expectText("te", trial.once(["te", "--version"]), /\d+\.\d+/, say);
  // Where parts of /proc are covered, the kernel allows no fresh one, which bubblewrap needs.
  expectText("doctor", trial.once(["llmc", "doctor"]), /confined by Landlock/, say);
};

const tryOnce = async (image: Image, engine: Engine, say: (text: string) => void): Promise<void> => {
  const [uid = 0, gid = 0] = image.user.split(":").map(Number);
  const trialFolder = mkdtempSync(join(tmpdir(), "llmc-trial-"));
  const [workspace, data, state] = [
    join(trialFolder, "workspace"),
    join(trialFolder, "data"),
    join(trialFolder, "state"),
  ];
  for (const folder of [trialFolder, workspace, data, state, join(workspace, ".llmc")]) {
    mkdirSync(folder, { recursive: true });
    chownSync(folder, uid, gid);
  }
  writeFileSync(
    join(workspace, "a.py"),
    'def greet(name):\n    """Greets somebody by name."""\n    return name\n',
  );
  const git = (...args: readonly string[]) =>
    spawnSync("git", ["-C", workspace, "-c", "user.name=a", "-c", "user.email=a@b", ...args], { uid, gid });
  git("init", "--quiet");
  git("add", "a.py");
  git("commit", "--quiet", "--message", "first");

  const port = await freePort();
  const env = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ...image.env,
    ...{ LLMC_MCP_TOKEN: TOKEN, LLMC_MCP_SERVER_PORT: String(port), LLMC_MCP_MODE: "classic" },
  };
  const inside = (command: readonly string[]) =>
    sandboxed(image, engine, mountsOf(image, workspace, data, state), command);
  const [program = "", ...args] = reporting(inside(image.command));
  say(`== ${engine}: ${image.command.join(" ")}`);
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe", "pipe"] });
  const exited = once(child, "close").then(([code]) => code as number | null);
  let logs = "";
  let info = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (logs += text));
  child.stdio[3]?.on("data", (bytes: Buffer) => (info += bytes.toString()));
  const trial: Trial = {
    url: `http://127.0.0.1:${port}`,
    once: (command) => {
      const [first = "", ...rest] = inside(command);
      const { status, stdout, stderr } = spawnSync(first, rest, {
        ...{ env, encoding: "utf8", timeout: START_MS, stdio: ["ignore", "pipe", "pipe"] },
      });
      if (status !== 0)
        throw new Error(`${command.join(" ")}: exit ${status}: ${stdout}${stderr}`.slice(0, 1500));
      return stdout;
    },
  };
  try {
    expectText("health", await untilWell(trial.url, child, () => logs), /^200 .*"ok":true/, say);
    await exercise(trial, image, say);
    const first = Number(/"child-pid": (\d+)/.exec(info)?.[1]);
    expectText("first process", readFileSync(`/proc/${first}/comm`, "utf8"), /^tini$/m, say);
    process.kill(first, "SIGTERM");
    expectText("after SIGTERM", `exit ${await exited}`, /^exit 0$/, say);
  } catch (error) {
    say(logs.slice(-3000));
    throw error;
  } finally {
    // Its change of user made it forget that it should end with its parent.
    const first = /"child-pid": (\d+)/.exec(info)?.[1];
    if (child.exitCode === null && first !== undefined) process.kill(Number(first), "SIGKILL");
    child.kill("SIGKILL");
    await exited;
    rmSync(trialFolder, { recursive: true, force: true });
  }
};

/** Starts the image under both kinds of engine, uses it and stops it. Throws where something is not as it should be. */
export const tryImage = async (image: Image, say: (text: string) => void): Promise<void> => {
  await tryOnce(image, "with namespaces", say);
  await tryOnce(image, "without namespaces", say);
};
