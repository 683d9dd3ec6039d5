import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rgPath } from "@vscode/ripgrep";
import { tokenCounter } from "../src/host/os/token-counter.ts";
import type { Benchmark, Report } from "./lib/report.ts";
import { llmc, type ServerProcess, startServer } from "./lib/server-process.ts";

/** A question about Fastify's sources, the words that somebody would grep for, and the files that answer it. */
interface Asked {
  readonly question: string;
  readonly terms: readonly string[];
  readonly files: readonly string[];
}

const asked = (question: string, terms: string, ...files: readonly string[]): Asked => ({
  question,
  terms: terms.split(" "),
  files: files.map((file) => `lib/${file}.js`),
});

const QUESTIONS: readonly Asked[] = [
  asked("where is the fourOhFour router built", "fourOhFour", "four-oh-four"),
  asked("how are unknown routes answered with 404", "404 notFound", "four-oh-four"),
  asked("where is ContentTypeParser", "ContentTypeParser", "content-type-parser"),
  asked("how is a request body parsed as JSON", "body parse", "content-type-parser"),
  asked("how are request ids generated", "requestId genReqId", "req-id-gen-factory"),
  asked("where is Reply.prototype.send", "prototype.send", "reply"),
  asked("how does a redirect set status code and location", "redirect", "reply"),
  asked("how are onRequest hooks run one after another", "onRequest hook", "hooks"),
  asked("where are hooks validated when they are added", "hook validate", "hooks"),
  asked("how is the pino logger created", "pino logger", "logger-factory", "logger-pino"),
  asked(
    "how are the schemas of a route compiled for validation",
    "schema compile",
    "validation",
    "schema-controller",
    "route",
  ),
  asked("how are shared schemas kept with addSchema", "addSchema", "schemas", "schema-controller"),
  asked("where does the request get its ip behind a trusted proxy", "trustProxy", "request"),
  asked("how does a plugin get an encapsulated instance of its own", "plugin instance", "plugin-override"),
  asked("how are decorators checked for their dependencies", "decorator dependencies", "decorate"),
  asked("how does listen bind all addresses of localhost", "listen localhost", "server"),
  asked("how are HEAD routes made for GET routes", "head route", "head-route", "route"),
  asked("how is the error handler of a route called", "errorHandler", "error-handler"),
  asked(
    "how is a promise returned by a handler awaited",
    "thenable promise",
    "wrap-thenable",
    "handle-request",
  ),
  asked("how is a route registered with its options", "route options", "route"),
];

/** Files that somebody would open before giving up. */
const MAX_READ_FILES = 10;
const MAX_SHARE = 0.05;
const MIN_RIGHT = 0.8;

/** A real repository that every installation has: sources, documentation and tests. */
const FASTIFY = fileURLToPath(new URL("../node_modules/fastify", import.meta.url));

/** Matching files, the one with most of the words first, then by number of lines that match. */
const grep = (
  folder: string,
  terms: readonly string[],
): { readonly output: string; readonly files: readonly string[] } => {
  const args = ["--no-config", "-n", "-i", ...terms.flatMap((word) => ["-e", word]), "."];
  const output = execFileSync(rgPath, args, { cwd: folder, encoding: "utf8", maxBuffer: 1e9 });
  const lines = Map.groupBy(
    output.split("\n").filter((line) => line !== ""),
    (line) => (line.split(":", 1)[0] ?? "").slice(2),
  );
  const rank = ([, hits]: readonly [string, readonly string[]]): number => {
    const text = hits.join("\n").toLowerCase();
    return terms.filter((word) => text.includes(word.toLowerCase())).length * 1e6 + hits.length;
  };
  return { output, files: [...lines].toSorted((a, b) => rank(b) - rank(a)).map(([file]) => file) };
};

const grepAndRead = (
  folder: string,
  { terms, files: right }: Asked,
  count: (text: string) => number,
): number => {
  const { output, files } = grep(folder, terms);
  const position = files.findIndex((file) => right.includes(file));
  const read = files.slice(0, position < 0 ? MAX_READ_FILES : Math.min(MAX_READ_FILES, position + 1));
  return count(output) + read.reduce((sum, path) => sum + count(readFileSync(join(folder, path), "utf8")), 0);
};

const ask = async (
  server: ServerProcess,
  question: string,
): Promise<{ readonly text: string; readonly first: string }> => {
  const { text } = await server.ask("rag_search", { query: question });
  return { text, first: text.split("#", 1)[0] ?? "" };
};

export const questions: Benchmark = {
  name: "questions",
  summary: "tokens of 20 questions about a real repository (Fastify's), against grep and read",
  run: async ({ program }): Promise<Report> => {
    const count = await tokenCounter();
    const folder = await mkdtemp(join(tmpdir(), "llmc-bench-questions-"));
    await cp(FASTIFY, folder, { recursive: true });
    const server = startServer(llmc(program, folder, "--mode", "classic"));
    await server.handshake();
    const rows: (readonly (string | number)[])[] = [];
    let ours = 0;
    let theirs = 0;
    let right = 0;
    try {
      while ((await ask(server, "anything")).text.includes("being built"))
        await new Promise((go) => setTimeout(go, 500));
      for (const one of QUESTIONS) {
        const { text, first } = await ask(server, one.question);
        const tokens = count(text) + count(one.question);
        const baseline = grepAndRead(folder, one, count);
        const isRight = one.files.includes(first);
        ours += tokens;
        theirs += baseline;
        if (isRight) right++;
        rows.push([one.question, tokens, baseline, isRight ? "right" : first]);
      }
    } finally {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    }
    const share = ours / theirs;
    const verdict = (isMet: boolean): string => (isMet ? "met" : "MISSED");
    return {
      tables: [{ head: ["question", "tokens", "grep and read", "first file"], rows }],
      notes: [
        `${(100 * share).toFixed(1)} % of grep and read, target at most ${100 * MAX_SHARE} %: ${verdict(share <= MAX_SHARE)}`,
        `the right file first in ${right} of ${QUESTIONS.length}, target ${100 * MIN_RIGHT} %: ${verdict(right / QUESTIONS.length >= MIN_RIGHT)}`,
        `grep and read: ripgrep for the words, then whole files, the best match first, until the right one is read (${MAX_READ_FILES} at most)`,
      ],
      figures: { tokens: ours, grep_and_read: theirs, share: Math.round(share * 1000) / 1000, right },
    };
  },
};
