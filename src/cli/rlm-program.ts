import { Option } from "commander";
import { FIRST_MODEL } from "../base/first-model.ts";
import { type AddCommands, withCommon } from "./common-options.ts";

const { pull, once, lines, trust } = FIRST_MODEL;
const SETUP = `
A model has to be configured. With Ollama on this machine (${pull}), for one command:
  ${once}
and for good, by these lines in llmc.toml, and then ${trust}:
  ${lines.join("\n  ")}
Other models: docs/guides/models.md.`;

/** `llmc rlm` and what belongs to it. */
export const addRlmCommands: AddCommands = (program, actions) => {
  const rlm = program
    .command("rlm")
    .description("let a model analyse a long text by program and sub-calls")
    .addHelpText("after", SETUP);

  withCommon(
    rlm
      .command("query")
      .description("answer a question about a file or a text, within a budget")
      .argument("<task>", "the question"),
  )
    .option("--file <path>", "the file to analyse")
    // What the tool rlm_query calls it.
    .addOption(new Option("--path <path>", "the same as --file").hideHelp().conflicts("file"))
    .option("--context <text>", "the text to analyse; - for stdin")
    .option("--budget-usd <amount>", "the most that it may cost (default: 1)")
    .option("--max-turns <number>", "programs that the model may write, 1 to 10 (default: 5)")
    .option("--timeout <seconds>", "time for the whole analysis (default: mcp.rlm.default_timeout_s)")
    .option("--max-bytes <number>", "the most that is read of the file (default: mcp.rlm.default_max_bytes)")
    .option("--model <name>", "another model than the configured one, where that is allowed")
    .option("--language <name>", "language of the text, such as python")
    .option("--estimate", "only show what it could cost; nothing is sent")
    .option("--trace <file>", "write a trace, which llmc rlm view shows")
    .option("--trace-content", "with programs, outputs, prompts and answers in the trace")
    .addOption(
      new Option("--record <file>", "keep the answers of the models in a cassette").conflicts("replay"),
    )
    .option("--replay <file>", "answer from a cassette, without any connection")
    .option(
      "--strict",
      "with --replay: the run has to match the recorded one (trajectory), and use every recorded answer",
    )
    .option("--json", "as JSON, like the tool rlm_query")
    .action((task, { path, ...options }) =>
      actions.queryRlm(task, path === undefined ? options : { ...options, file: path }),
    );

  rlm
    .command("view")
    .description("show a trace as a page: tree, programs, cost and time of every step, timeline")
    .argument("<trace>", "a file that --trace or mcp.rlm.trace_enabled wrote")
    .option("--content", "show programs, outputs, prompts and answers, where the trace has them")
    .option("--out <file>", "the page (default: the trace's name with .html)")
    .option("--print", "only make the page and print its name; do not open it")
    .action((trace, options) => actions.viewTrace(trace, options));
};
