import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tempWorkspace, trustWorkspace } from "../app.ts";
import { openHttpDoor, TOKEN, UNLIMITED } from "../doors/http-door.ts";
import { type AnswerQuestion, connectVersion1, connectVersion2, type Peer, type Where } from "./peers.ts";

type Answer = Awaited<ReturnType<AnswerQuestion>>;
type Connect = (where: Where, answer: AnswerQuestion | "unable") => Promise<Peer>;

const CLIENTS: readonly { readonly library: string; readonly revision: string; readonly connect: Connect }[] =
  [
    {
      library: "1.x",
      revision: "2025-11-25",
      connect: (where, answer) => connectVersion1(where, {}, answer),
    },
    {
      library: "2.x",
      revision: "2025-11-25",
      connect: (where, answer) => connectVersion2(where, "legacy", {}, answer),
    },
    {
      library: "2.x",
      revision: "2026-07-28",
      connect: (where, answer) => connectVersion2(where, "modern", {}, answer),
    },
  ];

const PEERS = [
  ...CLIENTS.map((client) => ({ ...client, door: "http" as const })),
  // Both revisions; what a library does is the same on any transport.
  ...CLIENTS.filter((_, at) => at !== 1).map((client) => ({ ...client, door: "stdio" as const })),
];

const FLOW =
  'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "note.md" }\n';

const FILES = {
  "llmc.toml": '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n',
  "flows/look.toml": FLOW,
  "note.md": "hello flow\n",
  "b.txt": "b\na\n",
};

/** Silence is waited for one second where the server waits. Clients over HTTP without a token share their questions. */
const SETTINGS = [
  "--set",
  "mcp.security.question_timeout_seconds=1",
  "--set",
  "mcp.security.max_questions_per_minute=1000",
];

const NOBODY: AnswerQuestion = () => new Promise(() => {});
const grant = (value: string): Answer => ({ action: "accept", content: { grant: value } });

interface Server {
  readonly where: Where;
  readonly root: string;
  end(): Promise<void>;
}

const openHttp = async (): Promise<Server> => {
  const door = await openHttpDoor({
    args: ["--set", "mcp.auth.mode=none", ...SETTINGS, ...UNLIMITED],
    files: FILES,
  });
  return {
    where: new URL(`${door.url}/mcp`),
    root: door.root,
    end: async () => door[Symbol.asyncDispose](),
  };
};

/** Each client starts a server of its own over the same workspace. */
const openStdio = async (): Promise<Server> => {
  const ends: (() => Promise<void> | void)[] = [];
  const root = tempWorkspace(FILES, (work) => ends.push(work));
  await trustWorkspace(root);
  return {
    where: ["--root", root, ...SETTINGS],
    root,
    end: async () => {
      for (const end of ends) await end();
    },
  };
};

describe.each(PEERS)(
  "REQ-I5: the user of a $library client of $revision over $door",
  ({ revision, connect, door }) => {
    let server: Server;
    let outside: string;
    beforeAll(async () => {
      server = await (door === "http" ? openHttp() : openStdio());
      outside = mkdtempSync(join(tmpdir(), "llmc-outside-"));
      writeFileSync(join(outside, "x.txt"), "from outside\n");
    });
    afterAll(async () => {
      await server.end();
      rmSync(outside, { recursive: true, force: true });
    });

    /** One client, with what its user was shown. */
    const open = async (answers: readonly (Answer | AnswerQuestion)[] | "unable") => {
      const shown: string[] = [];
      const peer = await connect(
        server.where,
        answers === "unable"
          ? answers
          : (message) => {
              shown.push(message);
              const answer = answers[shown.length - 1] ?? { action: "decline" };
              return typeof answer === "function" ? answer(message) : answer;
            },
      );
      return { peer, shown };
    };

    /** Runs a program that is not on the list, once for each answer and once more, as one client. */
    const run = async (program: string, answers: readonly Answer[]) => {
      const { peer, shown } = await open(answers);
      const results: string[] = [];
      for (let at = 0; at <= answers.length; at++)
        results.push(await peer.call("run_cmd", { command: `${program} --version` }));
      await peer.close();
      return { shown, results };
    };

    const refused = expect.stringContaining("is not among the programs that may be run");
    const ran = expect.stringContaining("coreutils");
    // Without a token, sessions over HTTP share one owner, so each case has a program of its own.

    test("agrees once: it runs once, and they are asked again", async () => {
      const { shown, results } = await run("date", [grant("once")]);
      expect(results).toEqual([ran, refused]);
      expect(shown).toHaveLength(2);
      expect(shown[0]).toContain('"command": "date --version"');
    });

    test("accepts without content: that is once", async () => {
      const { shown, results } = await run("factor", [{ action: "accept" }]);
      expect(results).toEqual([ran, refused]);
      expect(shown).toHaveLength(2);
    });

    test("agrees for the session: they are asked once", async () => {
      const { shown, results } = await run("nproc", [grant("session")]);
      expect(results).toEqual([ran, ran]);
      expect(shown).toHaveLength(1);
    });

    test("says never: refused, and not asked again", async () => {
      const { shown, results } = await run("uname", [grant("never")]);
      expect(results).toEqual([refused, refused]);
      expect(shown).toHaveLength(1);
    });

    test("declines or cancels: refused this time", async () => {
      const { shown, results } = await run("arch", [{ action: "decline" }, { action: "cancel" }]);
      expect(results).toEqual([refused, refused, refused]);
      expect(shown).toHaveLength(3);
    });

    test("cannot be asked: refused, with the command that they can run instead", async () => {
      const { peer } = await open("unable");
      const result = await peer.call("run_cmd", { command: "tac --version" });
      await peer.close();
      expect(result).toEqual(refused);
      expect(result).toContain("llmc allow");
      expect(JSON.parse(result)).toMatchObject({ meta: { error_code: expect.any(String) } });
    });

    test.each([
      ["says nothing", NOBODY],
      [
        "has a client that fails",
        () => {
          throw new Error("the dialogue crashed");
        },
      ],
    ] as const)("%s: the program does not run, and the next call is answered as usual", async (_, answer) => {
      const { peer, shown } = await open([answer]);
      const call = peer.call("run_cmd", { command: "touch made" });
      if (revision === "2025-11-25") {
        // The server waits, so the refusal is its own: with a code, the reason, and what to run instead.
        const result = await call;
        expect(result).toEqual(refused);
        expect(result).toContain("was asked and did not answer");
        expect(result).toContain("llmc allow");
        expect(JSON.parse(result)).toMatchObject({ meta: { error_code: expect.any(String) } });
      } else {
        // The client asks its user by itself, and never comes back.
        const ended = call.then(String, () => "failed");
        await expect.poll(() => shown.length).toBe(1);
        const silent = new Promise((resolve) => setTimeout(resolve, 500, "silent"));
        expect(["failed", "silent"]).toContain(await Promise.race([ended, silent]));
      }
      expect(shown).toHaveLength(1);
      expect(await peer.call("read_file", { path: "note.md" })).toContain("hello flow");
      expect(existsSync(join(server.root, "made"))).toBe(false);
      await peer.close();
      if (revision !== "2025-11-25") return;
      const { peer: admin } = await open([grant("once")]);
      const counted = await admin.call("admin_get_metrics", { scope: "llmc_questions", timerange: "1h" });
      await admin.close();
      // Over stdio each client has a server of its own.
      if (door === "http") expect(counted).toContain("unanswered");
    });

    test.each([
      ["a power", "run_cmd", { command: "sort -o sorted.txt b.txt" }, /sort:write/, ""],
      [
        "a path outside the roots",
        "read_file",
        () => ({ path: join(outside, "x.txt") }),
        /outside the allowed/,
        "from outside",
      ],
      ["a flow", "kb_compose_flow", { flow_id: "look" }, /runs the flow "look"/, "hello flow"],
      ["an admin tool", "admin_get_status", {}, /admin_get_status/, "state_database"],
    ] as const)("is asked about %s: no means no, yes means once", async (_, tool, given, question, found) => {
      const args = typeof given === "function" ? given() : given;
      const { peer, shown } = await open([{ action: "decline" }, grant("once")]);
      const first = await peer.call(tool, args);
      const second = await peer.call(tool, args);
      const third = await peer.call(tool, args);
      await peer.close();
      expect(shown).toHaveLength(3);
      for (const message of shown) expect(message).toMatch(question);
      for (const result of [first, third])
        expect(JSON.parse(result)).toMatchObject({ meta: { error_code: expect.any(String) } });
      expect(second).toContain(found);
      expect(second).not.toMatch(/error_code/);
    });
  },
);

test("REQ-I5: a client of 2025 whose tool never stops asking gets an error with a code", async () => {
  const module = `export const register = ({ tool, z }) => tool({
    name: "asks_on", description: "x", effect: "read", input: z.strictObject({}), render: JSON.stringify,
    run: (_args, _ports, call) => call.ask({ q: { kind: "form", message: "again?", schema: { type: "object", properties: {} } } }),
  });\n`;
  await using door = await openHttpDoor({
    args: ["--set", "mcp.auth.mode=none", ...UNLIMITED],
    files: {
      "llmc.toml": '[mcp]\nmode = "classic"\n[mcp.tools]\ncustom_modules = "mods"\n',
      "mods/asks.mjs": module,
    },
  });
  const peer = await connectVersion1(new URL(`${door.url}/mcp`), {}, () => ({
    action: "accept",
    content: {},
  }));
  const result = await peer.call("asks_on");
  await peer.close();
  expect(JSON.parse(result)).toMatchObject({ meta: { error_code: "unavailable" } });
});

test("REQ-I5: a question shows the whole call, but for secrets of the server itself", async () => {
  const key = 'sk-"quoted"-and-long';
  await using door = await openHttpDoor({
    args: [...UNLIMITED],
    env: { LLMC_MCP_TOKEN: TOKEN, OPENAI_API_KEY: key },
  });
  const shown: string[] = [];
  const peer = await connectVersion1(new URL(`${door.url}/mcp`), { "x-llmc-token": TOKEN }, (message) => {
    shown.push(message);
    return { action: "decline" };
  });
  await peer.call("run_cmd", { command: `date '${key}' ${TOKEN} another-secret-of-theirs` });
  await peer.close();
  expect(shown).toHaveLength(1);
  expect(shown[0]).toContain("[OPENAI_API_KEY]' [LLMC_MCP_TOKEN] another-secret-of-theirs");
  expect(shown[0]).not.toContain(TOKEN);
  expect(shown[0]).not.toContain("and-long");
});
