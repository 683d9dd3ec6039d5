import { mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCommandRunner } from "../../src/host/run/runner.ts";
import { plantListener, SECRET } from "./command-plant.ts";
import { createStand, PYTHON, sandboxes, settings } from "./command-stand.ts";

test("REQ-D12: this machine has a sandbox to test", () => {
  expect(sandboxes.length).toBeGreaterThan(0);
});

describe.each(sandboxes)("commands in $name", (setting) => {
  test("REQ-X10: with the network allowed, TCP works and Unix sockets outside still do not", async () => {
    await using stand = await createStand(setting, {}, { network: true });
    const path = join(stand.outside, "socket");
    await using tcp = await plantListener();
    await using unix = await plantListener(path);
    const abstractName = `\0llmc-test-${process.pid}`;
    await using abstract = await plantListener(abstractName);
    const { text } = await stand.run([
      PYTHON,
      "-c",
      `import socket
s = socket.create_connection(("127.0.0.1", ${tcp.port}), 5); print(s.recv(100))
for address in (${JSON.stringify(path)}, ${JSON.stringify(abstractName)}):
    for make in (lambda: socket.socket(socket.AF_UNIX), lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]):
        try: make().connect(address)
        except OSError: print("refused")`,
    ]);
    expect(text).toContain(SECRET);
    expect(text.match(/refused/g)).toHaveLength(4);
    expect([unix.visits(), abstract.visits()]).toEqual([0, 0]);
  });

  test("REQ-X10 REQ-X1: without the network, localhost and the machine's own name stand for the loopback, in both families", async () => {
    await using stand = await createStand(setting);
    const { text } = await stand.run([
      PYTHON,
      "-c",
      `import socket
def addresses(name, family):
    try: return sorted({found[4][0] for found in socket.getaddrinfo(name, 80, family)})
    except OSError: return []
for name in ("localhost", socket.gethostname(), "example.com"): print(addresses(name, socket.AF_INET))
print(addresses("localhost", socket.AF_INET6))`,
    ]);
    const [local, machine, elsewhere, six] = text.split("\n");
    expect([local, elsewhere]).toEqual(["['127.0.0.1']", "[]"]);
    // Landlock shows the machine's own file, which may leave out its name and the second family.
    if (setting.tier === "bubblewrap") expect([machine, six]).toEqual(["['127.0.0.1']", "['::1']"]);
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

  test("REQ-D16 REQ-X10: where the folder for temporary files is a root, what the sandbox is made of stays out of reach", async () => {
    const temp = await realpath(await mkdtemp(join(tmpdir(), "llmc-temp-")));
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = temp;
    try {
      // A runner makes its files when it first runs something.
      await using runner = createCommandRunner({ mode: () => "auto", tiers: [setting.tier] });
      await using stand = await createStand(setting, {}, { writable: [temp] }, runner);
      expect((await stand.sh("true")).exitCode).toBe(0);
      const [base = ""] = (await readdir(temp)).filter((name) => name.startsWith("llmc-commands-"));
      const made = (): Promise<string[]> => readdir(join(temp, base), { recursive: true });
      const parts = (await made()).filter((name) => !name.startsWith("run-"));
      await stand.sh(
        `cd ${temp}/${base}; ls | grep . && echo seen; echo x > seccomp; rm -rf *; mkdir compiled; echo x > compiled/x; mv ../${base} ../y`,
        { cwd: stand.workspace.root },
      );
      expect(await made()).toEqual(expect.arrayContaining(parts));
      expect((await made()).filter((name) => name.endsWith("/x"))).toEqual([]);
      expect((await stand.sh("echo $HOME; touch $HOME/x && echo fine")).text).toContain("fine");
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
      await rm(temp, { recursive: true, force: true });
    }
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
      expect([...first.quarantined, ...second.quarantined].map(({ path }) => path)).toEqual([
        join(root, "mods/policy"),
        join(root, "mods"),
      ]);
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
      expect(new Set(names)).toEqual(
        new Set([
          ...["HOME", "LANG", "LLMC_COMMAND_ID", "NO_COLOR", "PAGER", "PATH", "PWD", "TERM", "TMPDIR"],
          ...["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_PAGER", "GIT_TERMINAL_PROMPT"],
          // In a sandbox there is no network, so another attempt only costs time.
          ...(setting.tier === "plain" ? [] : ["CARGO_NET_RETRY", "PIP_RETRIES", "UV_HTTP_RETRIES"]),
        ]),
      );
      expect((await stand.sh('ls -A "$HOME"; touch "$HOME/x" "$TMPDIR/x" && echo ok')).text).toBe("ok\n");
    } finally {
      delete process.env["LLMC_TEST_API_KEY"];
    }
  });

  test("FAIL-C4: what makes a program load or run other code cannot be set", async () => {
    await using stand = await createStand(setting);
    const names = [
      "LD_PRELOAD",
      "GIT_SSH_COMMAND",
      "NODE_OPTIONS",
      "PYTHONSTARTUP",
      "BASH_ENV",
      "PATH",
      "ld_preload",
    ];
    for (const name of names)
      await expect(stand.sh("true", { env: { [name]: "x" } })).rejects.toMatchObject({ code: "forbidden" });
    expect((await stand.sh("echo $TE_MODEL", { env: { TE_MODEL: "m" } })).text).toBe("m\n");
  });
});
