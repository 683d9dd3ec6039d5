import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createStand, PYTHON, settings } from "../../../test/escapes/command-stand.ts";
import { createLiveWriters } from "./live-writers.ts";
import { createCommandRunner } from "./runner.ts";

describe.each(settings)("a command in $name", (setting) => {
  test("REQ-X1: exit codes, both streams, and arguments as they are", async () => {
    await using stand = await createStand(setting);
    const outcome = await stand.sh('echo out; echo err >&2; printf "%s|" "$@"; exit 42');
    expect(outcome).toMatchObject({ exitCode: 42, signal: undefined, timedOut: false, tier: setting.tier });
    const literal = await stand.run(["/bin/echo", "a b", "$(id)", "; id", "é\n", ""]);
    expect(literal.stdout.toString()).toBe("a b $(id) ; id é\n \n");
    expect((await stand.run(["/bin/cat"])).stdout.length).toBe(0);
  });

  test("REQ-X1: a death by signal is told", async () => {
    await using stand = await createStand(setting);
    const { exitCode, signal } = await stand.sh("kill -SEGV $$");
    expect(setting.tier === "bubblewrap" ? exitCode : signal).toBe(
      setting.tier === "bubblewrap" ? 139 : "SIGSEGV",
    );
  });

  test("REQ-X1: pipes between programs end as in a shell", async () => {
    await using stand = await createStand(setting);
    expect((await stand.sh("yes | head -n 2")).stdout.toString()).toBe("y\ny\n");
  });

  test("REQ-X1: a script may open its own streams by name", async () => {
    await using stand = await createStand(setting);
    const { stdout, stderr } = await stand.sh("echo a > /dev/stdout; echo b > /dev/stderr");
    expect([stdout.toString(), stderr.toString()]).toEqual(["a\n", "b\n"]);
  });

  test("REQ-X10: no descriptor of the server is inherited", async () => {
    await using stand = await createStand(setting);
    const script = `import os
found = []
for fd in range(3, 1024):
    try: os.fstat(fd); found.append(fd)
    except OSError: pass
print(found)`;
    const { stdout } = await stand.run([PYTHON, "-c", script]);
    expect(stdout.toString()).toBe("[]\n");
  });

  test("REQ-X1: a missing program, one that cannot run, and a wrong folder are named", async () => {
    await using stand = await createStand(setting, { "sub/data": "x" });
    const root = stand.workspace.root;
    await expect(stand.run([join(root, "nothing")])).rejects.toMatchObject({ code: "file_not_found" });
    await expect(stand.run([join(root, "sub/data")])).rejects.toMatchObject({ code: "permission_denied" });
    await expect(stand.sh("true", { cwd: join(root, "sub/data") })).rejects.toMatchObject({
      code: "not_a_directory",
    });
    await writeFile(join(root, "sub/script"), "#!/no/such/interpreter\n", { mode: 0o755 });
    if (setting.tier !== "plain")
      await expect(stand.run([join(root, "sub/script")])).rejects.toMatchObject({ code: "file_not_found" });
  });
});

test("REQ-D19: off means plain, require refuses plain, and the mode is read at each call", async () => {
  let mode: "auto" | "require" | "off" = "off";
  await using plainOnly = createCommandRunner({ mode: () => mode, tiers: ["plain"] });
  expect(await plainOnly.tier()).toBe("plain");
  mode = "auto";
  expect(await plainOnly.tier()).toBe("plain");
  mode = "require";
  await expect(plainOnly.tier()).rejects.toMatchObject({
    code: "unavailable",
    hint: expect.stringContaining("bubblewrap"),
  });
  await using best = createCommandRunner({ mode: () => "require" });
  expect(await best.tier()).toBe(settings[0]?.tier);
});

/** Holds 120 MB for two seconds, in one process. */
const HOLD = "{ head -c 120000000 /dev/zero; sleep 2; } | tail >/dev/null";

test.each([
  ["programs that only read", []],
  ["programs that write", ["/tmp"]],
])("REQ-X10 FAIL-J6 the limits are of all programs of a pipeline together: %s", async (_name, writable) => {
  await using runner = createCommandRunner({ mode: () => "auto" });
  const limits = { memoryBytes: 300 * 1024 * 1024, processes: 100, fileBytes: 2 ** 20 };
  const profile = { writable, protectedInside: [], hidden: [], network: false, limits };
  const request = { argv: ["/bin/sh", "-c", HOLD] as const, cwd: "/", timeoutMs: 20_000 };
  const one = { request, profile };
  expect((await runner.runTogether([one])).map(({ limit }) => limit)).toEqual([undefined]);
  const outcomes = await runner.runTogether([one, one, one, one]);
  expect(outcomes.map(({ limit }) => limit)).toEqual(Array(4).fill("memory"));
});

test("REQ-X10 no command runs on a system that is not Linux, and the answer says so", async () => {
  const { platform } = process;
  onTestFinished(() => void Object.defineProperty(process, "platform", { value: platform }));
  Object.defineProperty(process, "platform", { value: "darwin" });
  for (const mode of ["auto", "off"] as const)
    await expect(createCommandRunner({ mode: () => mode }).tier()).rejects.toMatchObject({
      code: "unavailable",
    });
});

test.each([
  ["fails once", 1, { unchecked: 0, checked: 1, open: true }],
  ["fails again and again", 9, { unchecked: 1, checked: 0, open: false }],
])(
  "REQ-D16 FAIL-J1 a check that %s: what the command wrote is obeyed only after one that passed",
  async (_what, failures, expected) => {
    await using stand = await createStand({ name: "plain", tier: "plain" });
    const { root } = stand.workspace;
    const seen = { unchecked: 0, checked: 0 };
    const writers = createLiveWriters(() => seen.unchecked++);
    writers.onChecked(() => seen.checked++);
    await using runner = createCommandRunner({ mode: () => "auto", tiers: ["plain"], writers });
    let left = failures;
    const command = {
      request: { argv: ["/bin/sh", "-c", "echo > llmc.toml"] as const, cwd: root, timeoutMs: 10_000 },
      profile: { writable: [root], protectedInside: [], hidden: [], network: false },
      quarantineNew: async () => {
        if (left-- > 0) throw new Error("the scan failed");
        return [];
      },
    };
    const outcome = await runner.runTogether([command], undefined).then(
      () => "ran",
      () => "failed",
    );
    expect(outcome).toBe(expected.open ? "ran" : "failed");
    expect(seen).toEqual({ unchecked: expected.unchecked, checked: expected.checked });
    expect(writers.mayHaveWritten(join(root, "llmc.toml"))).toBe(!expected.open);
  },
);
