import type { Command } from "commander";
import type { KbFlags } from "./actions.ts";
import { withCommon } from "./common-options.ts";
import type { KbCommand } from "./kb-actions.ts";

type Run = (command: KbCommand, options: KbFlags) => Promise<void>;

const NAME = "<name>";

interface VersionFlags extends KbFlags {
  readonly version?: string;
}

const addReading = (kb: Command, run: Run): void => {
  withCommon(
    kb.command("create").description("make an empty knowledge base for this workspace").argument(NAME),
  )
    .option("--product <product>", "what it is about, for filters", "")
    .action((name, { product, ...options }) => run({ do: "create", name, product }, options));
  withCommon(
    kb
      .command("add")
      .description("read documents into a new version")
      .argument(NAME)
      .argument("<sources...>", "files, folders, git repositories, URLs"),
  )
    .option("--version <version>", "1.2.0; left out: the version that is being made, or the next one")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--json", "as JSON")
    .action((name, sources, { version, dryRun, ...options }) =>
      run({ do: "add", name, sources, version, dryRun: dryRun ?? false }, options),
    );
  withCommon(kb.command("sync").description("read all sources again, into a new version").argument(NAME))
    .option("--version <version>", "of the new version")
    .option("--dry-run", "show what would change, and change nothing")
    .option("--json", "as JSON")
    .action((name, { version, dryRun, ...options }) =>
      run({ do: "sync", name, version, dryRun: dryRun ?? false }, options),
    );
  withCommon(
    kb
      .command("forget")
      .description("make a new version without some of the sources")
      .argument(NAME)
      .argument("<sources...>", "as llmc kb ls shows them"),
  )
    .option("--version <version>", "of the new version")
    .option("--json", "as JSON")
    .action((name, sources, { version, ...options }) =>
      run({ do: "forget", name, sources, version }, options),
    );
};

const addAsking = (kb: Command, run: Run): void => {
  withCommon(kb.command("ls").description("show knowledge bases and their versions"))
    .option("--json", "as JSON")
    .action((options: KbFlags) => run({ do: "ls" }, options));
  withCommon(kb.command("search").description("search a knowledge base").argument(NAME).argument("<query>"))
    .option("--version <version>", "another version than the active one")
    .option("-k, --k <number>", "maximum number of hits")
    .option("--json", "as JSON")
    .action((name, query, { version, k, ...options }) =>
      run({ do: "search", name, query, version, topK: k }, options),
    );
  withCommon(
    kb
      .command("ask")
      .description("answer a question from knowledge bases, with citations")
      .argument("<query>"),
  )
    .option("--collection <name>", "only this one")
    .option("--model <model>", "put the answer into a model's words")
    .option("--json", "as JSON")
    .action((query, { collection, model, ...options }) =>
      run({ do: "ask", query, collection, model }, options),
    );
  withCommon(
    kb
      .command("eval")
      .description("measure how well a version answers a question set")
      .argument(NAME)
      .argument("[questions]", "JSON lines with query and gold; kept for the next time"),
  )
    .option("--version <version>", "another version than the active one")
    .option("--report <file>", "also write an HTML page with curves")
    .option("--json", "as JSON")
    .action((name, questions, { version, report, ...options }) =>
      run({ do: "eval", name, questions, version, report }, options),
    );
};

const addVersions = (kb: Command, run: Run): void => {
  withCommon(
    kb.command("promote").description("make a version the active one").argument(NAME).argument("[version]"),
  )
    .option("--force", "even if it does worse on its question set")
    .option("--json", "as JSON")
    .action((name, version, { force, ...options }) =>
      run({ do: "promote", name, version, force: force ?? false }, options),
    );
  withCommon(
    kb.command("rollback").description("go back to the version that was active before").argument(NAME),
  ).action((name, options: KbFlags) => run({ do: "rollback", name }, options));
  withCommon(
    kb
      .command("pin")
      .description("use one version in this workspace; without a version, follow the active one again")
      .argument(NAME)
      .argument("[version]"),
  ).action((name, version, options: KbFlags) => run({ do: "pin", name, version }, options));
  withCommon(kb.command("gc").description("remove versions that nobody needs").argument("[name]"))
    .option("--keep <number>", "how many of the last versions to keep (default: 2)")
    .option("--json", "as JSON")
    .action((name, { keep, ...options }) => run({ do: "gc", name, keep }, options));
  withCommon(kb.command("rm").description("remove a knowledge base with all versions").argument(NAME))
    .option("--yes", "do not ask")
    .action((name, { yes, ...options }) => run({ do: "rm", name, yes: yes ?? false }, options));
};

const addPacks = (kb: Command, run: Run): void => {
  withCommon(kb.command("export").description("write a version to a pack").argument(NAME).argument("<file>"))
    .option("--version <version>", "another version than the active one")
    .action((name, file, { version, ...options }: VersionFlags & Record<string, unknown>) =>
      run({ do: "export", name, file, version }, options as KbFlags),
    );
  withCommon(kb.command("import").description("read a pack into a new version").argument("<file>"))
    .option("--name <name>", "another name than in the pack")
    .option("--json", "as JSON")
    .action((file, { name, ...options }) => run({ do: "import", file, name }, options));
};

/** `llmc kb …`: what the operator does with knowledge bases. */
export const addKbCommands = (program: Command, run: Run): void => {
  const kb = program.command("kb").description("make, search, measure and promote knowledge bases");
  addReading(kb, run);
  addAsking(kb, run);
  addVersions(kb, run);
  addPacks(kb, run);
};
