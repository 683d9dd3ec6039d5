import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnv } from "../workspace.ts";
import { PYTHON } from "./command-stand.ts";

export const SECRET = "planted-secret-8f3a";

/** A listener that gives the secret away to whoever comes, and counts them. */
export const plantListener = async (path?: string) => {
  let visits = 0;
  const server = createServer((socket) => {
    visits++;
    socket.on("error", () => {}).resume();
    socket.end(SECRET);
  });
  const at = path === undefined ? { port: 0, host: "127.0.0.1" } : { path };
  await new Promise<void>((resolve) => server.listen(at, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    visits: () => visits,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
};

const plantDatagrams = async () => {
  let visits = 0;
  const socket = createSocket("udp4", () => visits++);
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, visits: () => visits, close: () => socket.close() };
};

/** A datagram socket with a path, which Node itself cannot open: counts what came, and answers with it at the end. */
const DATAGRAMS = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("ready", flush=True)
while True: print("got", s.recv(100), flush=True)`;

const started = async (child: ChildProcess): Promise<string> => {
  const [first] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  return first.toString();
};

/** Everything that a command must not reach, of one test. */
export interface Plant extends AsyncDisposable {
  /** What an attacker that knew everything would know. */
  readonly plan: Readonly<Record<string, unknown>>;
  /** What of it was reached, seen from this side. */
  traces(): Promise<readonly string[]>;
}

export const plantAround = async (): Promise<Plant> => {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
  const inHome = await realpath(await mkdtemp(join(homedir(), ".llmc-test-")));
  const inMemory = await realpath(await mkdtemp("/dev/shm/llmc-test-"));
  const secret = join(outside, "secret");
  for (const folder of [outside, inHome, inMemory])
    await writeFile(join(folder, "secret"), SECRET, { mode: 0o640 });
  for (const name of ["spare", "spare2", "spare3"]) await writeFile(join(outside, name), name);
  const [unix, abstract, datagram] = [join(outside, "unix"), `llmc-${outside}`, join(outside, "datagram")];
  const listeners = [await plantListener(), await plantListener(unix), await plantListener(`\0${abstract}`)];
  const udp = await plantDatagrams();
  const victim = spawn(PYTHON, [join(import.meta.dirname, "command-victim.py"), secret, SECRET], {
    cwd: outside,
    env: { ...cleanEnv(), API_KEY: SECRET },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const receiver = spawn(PYTHON, ["-c", DATAGRAMS, datagram], { stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([started(victim), started(receiver)]);
  let datagrams = "";
  receiver.stdout.on("data", (chunk: Buffer) => {
    datagrams += chunk.toString();
  });
  const before = await stat(secret);
  const names = (await readdir(outside)).sort();
  return {
    plan: {
      ...(JSON.parse(output) as object),
      ...{ victim: victim.pid, server: process.pid, secret, outside },
      ...{ home: join(inHome, "secret"), shm: join(inMemory, "secret") },
      ...{ tcp: listeners[0]?.port, udp: udp.port, unix, abstract, datagram },
    },
    traces: async () => {
      // What was sent before is there once this arrives behind it.
      const knock = createSocket("udp4");
      const visits = udp.visits();
      await new Promise((resolve) => knock.send("knock", udp.port, "127.0.0.1", resolve));
      for (let round = 0; round < 200 && udp.visits() === visits; round++)
        await new Promise((resolve) => setTimeout(resolve, 5));
      knock.close();
      const after = await stat(secret);
      const same = [after.mode, after.mtimeMs, after.size, await readFile(secret, "utf8")];
      return [
        ...listeners.flatMap(({ visits }, at) => (visits() === 0 ? [] : [`listener ${at} was reached`])),
        ...(udp.visits() === 1 ? [] : ["a datagram came"]),
        ...(datagrams.includes("got") ? ["a datagram came to the Unix socket"] : []),
        ...(victim.exitCode === null && victim.signalCode === null ? [] : ["the victim was ended"]),
        ...((await readdir(outside)).sort().join() === names.join() ? [] : ["names changed outside"]),
        ...(same.join() === [before.mode, before.mtimeMs, before.size, SECRET].join()
          ? []
          : ["the file outside changed"]),
      ];
    },
    [Symbol.asyncDispose]: async () => {
      victim.kill("SIGKILL");
      receiver.kill("SIGKILL");
      udp.close();
      await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()));
      for (const folder of [outside, inHome, inMemory]) await rm(folder, { recursive: true, force: true });
    },
  };
};
