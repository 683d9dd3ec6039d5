import { flag, list, section, whole } from "../base/option.ts";

export const sandboxSections = [
  section("mcp.code_execution", "The code_execution mode, and the bounds of execute_code.", {
    timeout_seconds: whole(30, 1, 3600, "more", "Time of a program that asks for none of its own."),
    max_timeout_seconds: whole(300, 1, 86_400, "more", "Maximum time that a program may ask for."),
    cpu_seconds: whole(60, 1, 86_400, "more", "Processor time of a program."),
    program_memory_mb: whole(
      128,
      32,
      2048,
      "more",
      "Memory of a JavaScript program in MiB; the interpreter around it takes some 60 more, that of Python some 200.",
    ),
    max_output_bytes: whole(
      1_048_576,
      1024,
      10_485_760,
      "more",
      "Maximum size of what a program prints, with the names of its files and of the calls that failed; the rest is dropped. The model sees the beginning and the end of what is long, and a handle to all of it.",
    ),
    max_tool_calls: whole(1000, 1, 1_000_000, "more", "Maximum number of tool calls of a program."),
    max_programs: whole(
      4,
      1,
      100,
      "more",
      "Programs of one principal that run at once, and as many analyses; others wait. One more of each runs for somebody else.",
    ),
    max_sessions: whole(
      4,
      0,
      100,
      "more",
      "Interpreters that are kept with their variables; beyond it, whoever has the most loses the one that was idle longest.",
    ),
    session_seconds: whole(300, 1, 86_400, "more", "How long the variables of an idle session are kept."),
    native_languages: list(
      [],
      "additions",
      "Languages (javascript, python) whose programs run in the machine's own Node or Python, with its packages, in the sandbox of commands: one wall instead of two.",
      { shape: { pattern: /^(?:javascript|python)$/, expected: "javascript or python" } },
    ),
    native_packages: list(
      [],
      "additions",
      "Folders of packages (node_modules, site-packages) that those programs may read and load.",
      {
        path: { noEntry: "read by programs that are confined like their callers' commands" },
        shape: {
          pattern: /(?:^|\/)(?:node_modules|site-packages|dist-packages)\/?$/,
          expected: "a folder named node_modules, site-packages or dist-packages",
        },
      },
    ),
    trust_container: flag(
      false,
      true,
      "In a container where no sandbox works, count the container (its marker file, or LLMC_ISOLATED=1) as isolation.",
    ),
  }),
] as const;
