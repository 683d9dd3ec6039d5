import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runLlmc } from "../command-line.ts";
import { cleanEnv } from "../workspace.ts";
import { type HttpDoor, openHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";
import { STDIO_PEERS, type StdioPeer } from "./stdio-peers.ts";

const FLOW = `id = "look"
[[steps]]
id = "find"
kind = "kb"
collection = "hand"
query = "how long are backups kept"
`;
const DOCUMENT = "# Backups\nBackups are taken every night. Each backup is kept for thirty days.\n";
const PERMIT = 'permit (principal, action == Action::"kb_compose_flow", resource);';

let door: HttpDoor;
let peer: StdioPeer | undefined;
let chunk = "";
let document = "";

const CITATION = { title: "Backups", anchor: "docs/backup.md#L2", version: "1.0.0" };
const HITS = [
  {
    chunk_id: expect.stringMatching(/^hand@1\.0\.0\/[0-9a-f]{20}#0$/),
    score: expect.any(Number),
    snippet: expect.stringContaining("thirty days"),
    citation: CITATION,
    meta: {
      doc_id: expect.stringMatching(/^hand@1\.0\.0\/[0-9a-f]{20}$/),
      headings: ["Backups"],
      kind: "prose",
    },
  },
];

interface Case {
  readonly tool: string;
  readonly args: () => Record<string, unknown>;
  /** As structured content has it. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** The field that is the whole answer where the published API has a list. */
  readonly list?: string;
}

const CASES: readonly Case[] = [
  {
    tool: "kb_list_collections",
    args: () => ({}),
    answer: { collections: [{ name: "hand", version: "1.0.0", flows: ["look"] }] },
    list: "collections",
  },
  {
    tool: "kb_hybrid_search",
    args: () => ({ collection: "hand", query: "how long are backups kept" }),
    answer: { hits: HITS },
    list: "hits",
  },
  {
    tool: "kb_answer",
    args: () => ({ query: "How long is each backup kept?" }),
    answer: {
      text: expect.stringContaining("1> Each backup is kept for thirty days."),
      citations: [CITATION],
      confidence: expect.any(Number),
    },
  },
  {
    tool: "kb_get_document",
    args: () => ({ doc_id: document }),
    answer: {
      metadata: {
        title: "Backups",
        uri: "docs/backup.md",
        format: "markdown",
        collection: "hand",
        version: "1.0.0",
        bytes: DOCUMENT.length,
        chunks: 1,
        warnings: [],
      },
      chunks: [
        {
          chunk_id: expect.any(String),
          text: expect.stringContaining("thirty days"),
          anchor: expect.any(String),
          headings: ["Backups"],
        },
      ],
    },
  },
  {
    tool: "kb_resolve_citations",
    args: () => ({ chunk_ids: [chunk, chunk.replace(/#0$/, "#9")] }),
    answer: {
      citations: [CITATION, { title: expect.stringMatching(/#9$/), error: expect.stringMatching(/no such/) }],
    },
    list: "citations",
  },
  {
    tool: "kb_stats",
    args: () => ({ collection: "hand" }),
    answer: {
      size: { documents: 1, chunks: 1, bytes: DOCUMENT.length },
      versions: ["1.0.0"],
      embedder_version: expect.any(String),
      health: "healthy",
    },
  },
  {
    tool: "kb_compose_flow",
    args: () => ({ flow_id: "look" }),
    answer: {
      results: { find: { hits: HITS } },
      citations: [CITATION],
      timings: { find: expect.any(Number) },
    },
  },
];

const jsonOf = async (answer: Promise<Response>): Promise<unknown> => (await answer).json();

beforeAll(async () => {
  door = await openHttpDoor({
    args: [...UNLIMITED, "--mode", "classic"],
    env: { LLMC_MCP_TOKEN: TOKEN },
    files: {
      "docs/backup.md": DOCUMENT,
      "flows/look.toml": FLOW,
      "p.cedar": PERMIT,
      "llmc.toml":
        '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
    },
  });
  for (const args of [
    ["create", "hand"],
    ["add", "hand", "docs/backup.md", "--version", "1.0.0"],
    ["promote", "hand"],
  ])
    expect(await runLlmc(door.root, ["kb", ...args], { env: cleanEnv() })).toMatchObject({ code: 0 });
  const [first] = STDIO_PEERS;
  if (first === undefined) throw new Error("there is no client");
  peer = await first.connect(door.root, []);
  const body = (await jsonOf(door.tool("kb_hybrid_search", { collection: "hand", query: "backup" }))) as {
    readonly hits: readonly { readonly chunk_id: string; readonly meta: { readonly doc_id: string } }[];
  };
  chunk = body.hits[0]?.chunk_id ?? "";
  document = body.hits[0]?.meta.doc_id ?? "";
}, 60_000);

afterAll(async () => {
  await peer?.close();
  await door[Symbol.asyncDispose]();
});

describe.each(CASES)("REQ-D3 REQ-T7 $tool", ({ tool, args, answer, list }) => {
  test("over MCP: an object, and its text", async () => {
    const result = await peer?.call(tool, args());
    expect(result?.isError).not.toBe(true);
    expect(result?.structuredContent).toEqual(answer);
    expect(result?.content).toMatchObject([{ type: "text", text: expect.stringMatching(/./) }]);
  });

  test("over HTTP, at /tool: the same object", async () => {
    expect(await jsonOf(door.tool(tool, args()))).toEqual(answer);
  });

  test(`over /invoke: ${list === undefined ? "the same object" : "the bare list"}`, async () => {
    const reply = door.post("/invoke", { method: tool.replace("_", "."), params: args() });
    expect(await jsonOf(reply)).toEqual({
      result: list === undefined ? answer : answer[list],
      request_id: expect.any(String),
    });
  });
});

test("REQ-D3 where text is JSON, it carries the bare list", async () => {
  const [first] = STDIO_PEERS;
  const json = await first?.connect(door.root, ["--set", "mcp.tools.text_format=json"]);
  const result = await json?.call("kb_list_collections");
  await json?.close();
  expect(JSON.parse(result?.content[0]?.text ?? "")).toEqual([
    { name: "hand", version: "1.0.0", flows: ["look"] },
  ]);
});
