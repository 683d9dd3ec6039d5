import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AnsweredBy, MIXED_QUESTIONS, type MixedQuestion } from "./lib/mixed-questions.ts";
import type { Benchmark, Report } from "./lib/report.ts";
import { llmc, type ServerProcess, startServer } from "./lib/server-process.ts";
import { round } from "./lib/stats.ts";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));

interface Outcome extends MixedQuestion {
  /** Files of the answer, best first. */
  readonly shown: readonly string[];
  readonly isWeak: boolean;
}

/** As a client asks that knows no scopes. */
const ask = async (server: ServerProcess, question: MixedQuestion): Promise<Outcome> => {
  const { text, structured } = await server.ask("rag_search", { query: question.text });
  const { data } = structured as {
    readonly data: { readonly snippets: readonly { readonly src: string }[] };
  };
  const shown = [...new Set(data.snippets.map(({ src }) => src.slice(0, src.lastIndexOf("#"))))];
  return { ...question, shown, isWeak: (text.split("\n", 1)[0] ?? "").includes("(weak: ") };
};

const askPackage = async (
  program: string,
  name: string,
  asked: readonly MixedQuestion[],
): Promise<readonly Outcome[]> => {
  const folder = await mkdtemp(join(tmpdir(), "llmc-bench-mixed-"));
  await cp(join(PACKAGES, name), folder, { recursive: true });
  const server = startServer(llmc(program, folder, "--mode", "classic"));
  try {
    await server.handshake();
    while ((await server.ask("rag_search", { query: "anything" })).text.startsWith("[Not indexed yet"))
      await new Promise((go) => setTimeout(go, 200));
    const outcomes: Outcome[] = [];
    for (const question of asked) outcomes.push(await ask(server, question));
    return outcomes;
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
};

/** The place of the first right file, from 0; -1: none is shown. */
const rankOf = ({ shown, files }: Outcome): number => shown.findIndex((path) => files.includes(path));

const isFirstRight = (outcome: Outcome): boolean =>
  outcome.by === "nothing" ? outcome.shown.length === 0 || outcome.isWeak : rankOf(outcome) === 0;

const share = (outcomes: readonly Outcome[], isGood: (outcome: Outcome) => boolean): number =>
  round(outcomes.filter(isGood).length / Math.max(1, outcomes.length), 3);

export const mixed: Benchmark = {
  name: "mixed",
  summary: "questions that name no scope, about documents, about code and about nothing there",
  run: async ({ program }): Promise<Report> => {
    const outcomes: Outcome[] = [];
    for (const [name, asked] of Map.groupBy(MIXED_QUESTIONS, (question) => question.package))
      outcomes.push(...(await askPackage(program, name, asked)));
    const of = (by: AnsweredBy): readonly Outcome[] => outcomes.filter((outcome) => outcome.by === by);
    const figures = Object.fromEntries(
      (["docs", "code", "nothing"] as const).map((by) => [
        by,
        { first: share(of(by), isFirstRight), shown: share(of(by), (one) => rankOf(one) >= 0) },
      ]),
    );
    return {
      tables: [
        {
          head: ["answered by", "questions", "right first", "right shown"],
          rows: Object.entries(figures).map(([by, { first, shown }]) => [
            by,
            of(by as AnsweredBy).length,
            first,
            by === "nothing" ? "" : shown,
          ]),
        },
        {
          head: ["not right first", "answered by", "package", "shown"],
          rows: outcomes
            .filter((outcome) => !isFirstRight(outcome))
            .map(({ text, by, package: name, shown }) => [text, by, name, shown.join(" ")]),
        },
      ],
      notes: ["nothing: right is an empty answer, or one that is marked as weak"],
      figures,
    };
  },
};
