import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStand, GIT, PYTHON, sandboxes, settings } from "./command-stand.ts";

const SECRET = "planted-secret-8f3a";

const listen = (server: Server, at: number | string): Promise<Server> =>
  new Promise((resolve) => {
    server.listen(at as number, "127.0.0.1", () => resolve(server));
  });

/** A listener that counts who came. */
const plantListener = async (path?: string) => {
  let visits = 0;
  const server = createServer((socket) => {
    visits++;
    socket.end(SECRET);
  });
  if (path === undefined) await listen(server, 0);
  else await new Promise<void>((resolve) => server.listen(path, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    visits: () => visits,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
};

test("REQ-D12: this machine has a sandbox to test", () => {
  expect(sandboxes.length).toBeGreaterThan(0);
});

describe.each(sandboxes)("commands in $name", (setting) => {
  test("FAIL-C3, REQ-X10: shells and interpreters read nothing outside", async () => {
    await using stand = await createStand(setting);
    const secret = join(stand.outside, "secret");
    await writeFile(secret, SECRET);
    const tries = [
      await stand.sh(`cat ${secret}; ls ${stand.outside}; cp ${secret} got; ln ${secret} hard; cat hard got`),
      await stand.sh(`ln -s ${secret} soft; cat soft; cat /proc/1/root${secret}; cat /proc/*/environ`),
      await stand.run([PYTHON, "-c", `print(open(${JSON.stringify(secret)}).read())`]),
      await stand.run([GIT, "diff", "--no-index", "/dev/null", secret]),
      await stand.run([GIT, "-c", `alias.x=!cat ${secret}`, "x"]),
      await stand.sh(`find / -name secret -path '*llmc-outside*' -exec cat {} + 2>/dev/null`),
    ];
    for (const { text, tier } of tries) {
      expect(text).not.toContain(SECRET);
      expect(tier).toBe(setting.tier);
    }
  });

  test("FAIL-C3, REQ-X10: nothing outside is made, changed or removed", async () => {
    await using stand = await createStand(setting);
    const secret = join(stand.outside, "secret");
    await writeFile(secret, SECRET, { mode: 0o640 });
    const before = await stat(secret);
    await stand.sh(
      `echo x > ${stand.outside}/new; echo x >> ${secret}; rm -f ${secret}; mv ${secret} .; chmod 777 ${secret}; ` +
        `touch -d 2001-01-01 ${secret}; mkdir ${stand.outside}/dir; truncate -s 0 ${secret}; echo x > /usr/planted`,
    );
    await stand.run([
      PYTHON,
      "-c",
      `import os
for f in (lambda: os.truncate(${JSON.stringify(secret)}, 0), lambda: os.chmod(${JSON.stringify(secret)}, 0o777),
          lambda: os.open(${JSON.stringify(secret)}, os.O_RDONLY | os.O_TRUNC), lambda: os.utime(${JSON.stringify(secret)}, (1, 1)),
          lambda: os.chown(${JSON.stringify(secret)}, 65534, 65534), lambda: os.setxattr(${JSON.stringify(secret)}, "user.x", b"x")):
    try: f()
    except OSError: pass`,
    ]);
    await stand.run([GIT, "init", join(stand.outside, "repo")]);
    expect(await readdir(stand.outside)).toEqual(["secret"]);
    expect(await readFile(secret, "utf8")).toBe(SECRET);
    const after = await stat(secret);
    expect([after.mode, after.mtimeMs, after.uid]).toEqual([before.mode, before.mtimeMs, before.uid]);
    await expect(stat("/usr/planted")).rejects.toThrow();
  });

  test("REQ-X10: no connection leaves, by TCP or by a Unix socket", async () => {
    await using stand = await createStand(setting);
    const path = join(stand.outside, "socket");
    await using tcp = await plantListener();
    await using unix = await plantListener(path);
    await using abstract = await plantListener(`\0llmc-test-${process.pid}-${setting.name}`);
    const script = `import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", ${tcp.port})), (socket.AF_UNIX, ${JSON.stringify(path)}),
                        (socket.AF_UNIX, "\\0llmc-test-${process.pid}-${setting.name}")):
    try:
        s = socket.socket(family); s.settimeout(2); s.connect(address); print(s.recv(100))
    except OSError as e: print("refused", e.errno)`;
    const { text } = await stand.run([PYTHON, "-c", script]);
    expect(text).not.toContain(SECRET);
    expect(text.match(/refused/g)?.length, text).toBe(3);
    expect([tcp.visits(), unix.visits(), abstract.visits()]).toEqual([0, 0, 0]);
  });

  test("REQ-X10: with the network allowed, TCP works and the outside socket file still does not", async () => {
    await using stand = await createStand(setting, {}, { network: true });
    const path = join(stand.outside, "socket");
    await using tcp = await plantListener();
    await using unix = await plantListener(path);
    const { text } = await stand.run([
      PYTHON,
      "-c",
      `import socket
s = socket.create_connection(("127.0.0.1", ${tcp.port}), 5); print(s.recv(100))
try: socket.socket(socket.AF_UNIX).connect(${JSON.stringify(path)})
except OSError: print("refused")`,
    ]);
    expect(text).toContain(SECRET);
    expect(text).toContain("refused");
    expect(unix.visits()).toBe(0);
  });

  test("REQ-X10: processes outside cannot be signalled, traced or limited", async () => {
    await using stand = await createStand(setting);
    const victim: ChildProcess = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
    try {
      await stand.sh(
        `kill -9 ${victim.pid}; kill -9 ${process.pid}; prlimit --pid ${process.pid} --nofile=4; true`,
      );
      await stand.run([
        PYTHON,
        "-c",
        `import os, signal
for f in (lambda: os.kill(${victim.pid}, 9), lambda: signal.pidfd_send_signal(os.pidfd_open(${victim.pid}), 9),
          lambda: os.setpriority(os.PRIO_PROCESS, ${process.pid}, 19)):
    try: f()
    except OSError: pass`,
      ]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
      expect(await readFile("/proc/self/limits", "utf8")).not.toMatch(/Max open files\s+4 /);
    } finally {
      victim.kill("SIGKILL");
    }
  });

  test("FAIL-A19, REQ-D16: state is hidden, configuration and protected folders cannot be written or replaced", async () => {
    await using stand = await createStand(setting, { "mods/policy/rules": "deny", "sub/file": "x" });
    const { text } = await stand.sh(
      "cat .llmc/state; echo x > .llmc/new; echo x >> llmc.toml; rm -f llmc.toml; mv llmc.toml old; echo x > n && mv n llmc.toml; " +
        "ln llmc.toml hard && echo x >> hard; echo x > mods/policy/rules; echo x > mods/policy/new; rm -r mods/policy; " +
        "mv mods other && mkdir -p mods/policy && echo x > mods/policy/rules; mv .llmc gone; rm -rf .llmc; echo fine > sub/file",
    );
    expect(text).not.toContain("state-secret");
    expect(await stand.workspace.read(".llmc/state")).toBe("state-secret");
    expect(await readdir(join(stand.workspace.root, ".llmc"))).toEqual(["state"]);
    expect(await stand.workspace.read("llmc.toml")).toBe("# config\n");
    expect(await stand.workspace.read("mods/policy/rules")).toBe("deny");
    expect(await readdir(join(stand.workspace.root, "mods/policy"))).toEqual(["rules"]);
    expect(await stand.workspace.read("sub/file")).toBe("fine\n");
  });

  test("REQ-D16: a protected name that did not exist is not there afterwards", async () => {
    await using stand = await createStand(setting, { "sub/file": "x" });
    const root = stand.workspace.root;
    const secret = join(stand.outside, "policy");
    await writeFile(secret, SECRET);
    const first = await stand.sh("mkdir -p mods && echo evil > mods/policy; true");
    await expect(stat(join(root, "mods/policy"))).rejects.toThrow();
    const second = await stand.sh(`rm -rf mods; ln -s ${stand.outside} mods; true`);
    await expect(stat(join(root, "mods/policy"))).rejects.toThrow();
    expect(await readFile(secret, "utf8")).toBe(SECRET);
    if (setting.tier === "bubblewrap")
      expect([...first.setAside, ...second.setAside].map(({ path }) => path)).toEqual([
        join(root, "mods/policy"),
        join(root, "mods"),
      ]);
  });

  test("FAIL-C10: code that git runs from the workspace's own configuration reaches nothing outside", async () => {
    await using stand = await createStand(setting, { "repo/file": "x" });
    const secret = join(stand.outside, "secret");
    await writeFile(secret, SECRET);
    const repo = { cwd: join(stand.workspace.root, "repo") };
    const git = (...args: string[]): Buffer => execFileSync(GIT, args, repo);
    git("init", "-q", ".");
    await stand.workspace.write(
      "repo/hook.sh",
      `#!/bin/sh\ntouch ran; cat ${secret} > got; echo x > ${stand.outside}/new\n`,
    );
    git("config", "core.fsmonitor", "sh hook.sh");
    await stand.run([GIT, "status"], repo);
    expect(await readdir(stand.outside)).toEqual(["secret"]);
    expect(await readdir(repo.cwd)).toContain("ran");
    expect(await stand.workspace.read("repo/got")).toBe("");
  });

  test("REQ-X10: powers over the machine and new namespaces are refused", async () => {
    await using stand = await createStand(setting);
    const { stdout } = await stand.run([
      PYTHON,
      "-c",
      `import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
nr = {"x86_64": dict(ptrace=101, unshare=272, bpf=321, keyctl=250, mount=165, io_uring_setup=425),
      "aarch64": dict(ptrace=117, unshare=97, bpf=280, keyctl=219, mount=40, io_uring_setup=425)}[platform.machine()]
for name, number in nr.items():
    arg = 0x10000000 if name == "unshare" else 0
    print(name, libc.syscall(number, arg, 0, 0, 0, 0), ctypes.get_errno())
print(open("/proc/self/status").read() if ${setting.tier === "bubblewrap" ? "True" : "False"} else "")`,
    ]);
    for (const name of ["ptrace", "unshare", "bpf", "keyctl", "mount", "io_uring_setup"])
      expect(stdout.toString()).toContain(`${name} -1 1\n`);
    if (setting.tier === "bubblewrap") expect(stdout.toString()).toMatch(/CapEff:\s0+\n/);
  });
});

describe.each(settings)("the environment of commands in $name", (setting) => {
  test("FAIL-C4: no key of the server is inherited, not even through /proc", async () => {
    process.env["LLMC_TEST_API_KEY"] = SECRET;
    try {
      await using stand = await createStand(setting);
      const { stdout } = await stand.sh("env; cat /proc/self/environ");
      expect(stdout.toString()).not.toContain(SECRET);
      expect(stdout.toString()).toContain(
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
      );
      const names = (await stand.sh("env")).stdout.toString().match(/^[A-Z_]+(?==)/gm) ?? [];
      expect([...names].sort()).toEqual(
        [
          "GIT_CONFIG_GLOBAL",
          "GIT_CONFIG_NOSYSTEM",
          "GIT_PAGER",
          "GIT_TERMINAL_PROMPT",
          "HOME",
          "LANG",
        ].concat(["LLMC_COMMAND_ID", "NO_COLOR", "PAGER", "PATH", "PWD", "TERM", "TMPDIR"]),
      );
      expect((await stand.sh('ls -A "$HOME"; touch "$HOME/x" "$TMPDIR/x" && echo ok')).text).toBe("ok\n");
    } finally {
      delete process.env["LLMC_TEST_API_KEY"];
    }
  });

  test.each([
    "LD_PRELOAD",
    "GIT_SSH_COMMAND",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "BASH_ENV",
    "PATH",
    "ld_preload",
  ])("FAIL-C4: %s cannot be set", async (name) => {
    await using stand = await createStand(setting);
    await expect(stand.sh("true", { env: { [name]: "x" } })).rejects.toMatchObject({ code: "forbidden" });
    expect((await stand.sh("echo $TE_MODEL", { env: { TE_MODEL: "m" } })).text).toBe("m\n");
  });
});
