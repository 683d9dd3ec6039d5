import { describe, expect, test } from "vitest";
import { type Server, textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

const MIB = 1024 * 1024;
const FILLING = Buffer.alloc(MIB, "a");

/** A line of so many MiB, sent piece by piece: the test does not hold it, either. */
const sendLine = async (server: Server, before: string, mebibytes: number, after: string): Promise<void> => {
  await server.writeAll(before);
  for (let i = 0; i < mebibytes; i++) await server.writeAll(FILLING);
  await server.writeAll(`${after}\n`);
};

const CALL = '"jsonrpc":"2.0","method":"tools/call"';
const PARAMS = '"params":{"name":"read_file","arguments":{"path":"';

describe("FAIL-D9 REQ-D14 REQ-D18 lines over the limit", () => {
  test("9, 11, 20 and 200 MB: an error for the right id, a living session, and bounded memory", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello" });
    const server = await workspace.start();
    await server.call("read_file", { path: "a.txt" });
    const before = server.residentBytes();
    for (const size of [9, 11, 20, 200]) {
      const forms = [
        { id: `start-${size}`, head: `{"id":"start-${size}",${CALL},${PARAMS}`, tail: '"}}}' },
        { id: `end-${size}`, head: `{${CALL},${PARAMS}`, tail: `"}},"id":"end-${size}"}` },
        {
          id: size + 1000,
          head: `{"jsonrpc":"2.0","id":${size + 1000},"method":"ping",${PARAMS}`,
          tail: '"}}}',
        },
      ];
      for (const { id, head, tail } of size === 200 ? forms.slice(0, 2) : forms) {
        await sendLine(server, head, size, tail);
        const { error } = await server.answer(id);
        expect(error).toMatchObject({ code: -32600, message: expect.stringContaining("max_frame_bytes") });
        expect(server.answersTo(id)).toHaveLength(1);
        expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
      }
    }
    // 70 MB measured, for all processes: the engines that are loaded after the first call are in it. One line is 200 MB.
    expect(server.residentBytes() - before).toBeLessThan(130_000_000);
    expect(server.strays).toEqual([]);
    await server.until(() => server.stderr.includes("malformed request was refused"), "a log record");
  });

  test("numbers that take more room when they are written again are answered, and nobody else waits", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello" });
    const server = await workspace.start();
    const numbers = `[${Array.from({ length: 9000 }, () => "1e20").join()}]`;
    const text = "a".repeat(7 * MIB);
    const args = `{"path":"a.txt","more":[${Array.from({ length: 20 }, () => numbers).join()}],"text":"${text}"}`;
    server.write(
      `{"jsonrpc":"2.0","id":"grows","method":"tools/call","params":{"name":"read_file","arguments":${args}}}\n`,
    );
    expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
    expect(JSON.stringify(await server.answer("grows"))).toContain("more");
  });

  test("several at the limit, sent together, are answered as each of them would be, and no front ends over them", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello" });
    const server = await workspace.start();
    // One character that is not Latin doubles what a text takes.
    const more = `é漢${"a".repeat(7_900_000)}`;
    const params = JSON.stringify({ name: "read_file", arguments: { path: "a.txt", more } });
    const ids = ["1st", "2nd", "3rd", "4th", "5th"];
    for (const id of ids)
      await server.writeAll(`{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":${params}}\n`);
    for (const id of ids) expect(JSON.stringify(await server.answer(id))).toContain("Unrecognized key");
    expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello");
    expect(server.stderr).not.toContain("the front ended");
  });

  test("the limit itself is allowed, one byte more is not", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.serve({ args: ["--set", "mcp.limits.max_frame_bytes=2048"] });
    const padded = (id: string, size: number): string => {
      const [head, tail] = [`{"jsonrpc":"2.0","id":"${id}","method":"ping","params":{"x":"`, '"}}'];
      return `${head}${"é".repeat(20)}${"a".repeat(size - head.length - tail.length - 40)}${tail}`;
    };
    server.write(`${padded("fits", 2048)}\n${padded("over", 2049)}\n${padded("last", 2048)}\n`);
    expect(await server.answer("over")).toHaveProperty("error");
    expect(await server.answer("fits")).toHaveProperty("result");
    expect(await server.answer("last")).toHaveProperty("result");
  });

  test("an oversize response is not answered: its id may be that of a request of the client", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.serve({ args: ["--set", "mcp.limits.max_frame_bytes=2048"] });
    const long = "a".repeat(5000);
    server.write(`{"jsonrpc":"2.0","id":"r1","result":{"x":"${long}"}}\n`);
    server.write(`{"result":{"x":"${long}"},"jsonrpc":"2.0","id":"r2"}\n`);
    server.write(`{"jsonrpc":"2.0","id":"r3","error":{"code":1,"message":"${long}"}}\n`);
    await server.request("ping");
    for (const id of ["r1", "r2", "r3"]) expect(server.answersTo(id)).toEqual([]);
  });

  test("a line without an end, then the end of the input", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.serve();
    await sendLine(server, '{"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":"', 20, "");
    server.write("{".repeat(1000));
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  test("FAIL-D2 a hostile message just under the limit is refused without being built in memory", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.start({ env: { NODE_OPTIONS: "--max-old-space-size=96" } });
    const hostile = {
      deep: `${"[".repeat(4_000_000)}${"]".repeat(4_000_000)}`,
      open: "[".repeat(8_000_000),
      many: `[${"{},".repeat(2_600_000)}{}]`,
      objects: `${'{"a":'.repeat(1_300_000)}1${"}".repeat(1_300_000)}`,
    };
    for (const [id, params] of Object.entries(hostile)) {
      server.write(`{"jsonrpc":"2.0","id":"${id}","method":"ping","params":${params}}\n`);
      expect(await server.answer(id)).toHaveProperty("error");
    }
    expect(await server.request("ping")).toHaveProperty("result");
  });
});
