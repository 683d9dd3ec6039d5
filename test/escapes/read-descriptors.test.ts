import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { holdLeases } from "./file-lease.ts";

/** What can be done to a file through a descriptor that was opened for reading. */
const TRY = `
import array, fcntl, os, sys
NO_DUMP = 0x40
def tried(name, change):
    try: change()
    except OSError: print(name, "refused")
    else: print(name, "done")
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    tried("lease", lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK))
    tried("notify", lambda: fcntl.fcntl(os.open(os.path.dirname(path) or ".", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS))
    tried("flags", lambda: fcntl.ioctl(fd, 0x40086602, array.array("i", [NO_DUMP])))
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
    fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
print("own descriptors work")
`;

describe.each(sandboxes)(
  "FAIL-J10 FAIL-D6 REQ-X10 a file that was opened for reading in $name",
  (setting) => {
    test("is neither kept from others nor changed", async () => {
      await using workspace = await createWorkspace({ "try.py": TRY, ".vscode/tasks.json": "{}" });
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["python3"],
        powers: [],
        denylist: [],
        startup: ["**/.vscode/**"],
      });
      const answer = await commands.use("run_cmd", "python3 try.py .vscode/tasks.json /usr/bin/env");
      expect(answer).not.toContain(" done");
      expect(answer.match(/lease refused/g)?.length).toBeGreaterThanOrEqual(2);
      expect(answer).toContain("own descriptors work");
    });
  },
);

test("FAIL-J6: a file that another program holds under a lease is told as such", async () => {
  const app = await openTestApp({ overrides: { "mcp.mode": "classic" }, files: { "a.txt": "a" } });
  await using _lease = await holdLeases(join(app.root, "a.txt"));
  expect(await app.errorCode("read_file", { path: "a.txt" })).toBe("busy");
});
