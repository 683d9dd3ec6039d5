import { withoutPrefixes } from "./line-prefix.ts";

/** A line of a stack trace: where in which file, and in which function. */
export interface Frame {
  /** As written, with slashes. */
  readonly path: string;
  /** 0 where it is not given. */
  readonly line: number;
  readonly name: string;
}

export interface TracedFrame {
  readonly frame: Frame;
  /** Traces of this kind end with the innermost frame; the others begin with it. */
  readonly isInnermostLast: boolean;
}

interface FrameShape extends Pick<TracedFrame, "isInnermostLast"> {
  readonly pattern: RegExp;
}

/** Anchored at the start of a line of bounded length, with one part at most that can give characters back. */
const SHAPES: readonly FrameShape[] = [
  // Python: File "a/b.py", line 12, in name
  {
    pattern: /^\s*File "(?<path>[^"]+)", line (?<line>\d+)(?:, in (?<name>[\w.<>]+))?/,
    isInnermostLast: true,
  },
  // IPython 8: File ~/a/b.py:12, in Name.method(arguments)
  {
    pattern: /^\s*File (?<path>[^\s:"]+|[A-Za-z]:[^\s:"]+):(?<line>\d+), in (?<name>[\w.<>]+)/,
    isInnermostLast: true,
  },
  // IPython 7, with or without a link around the path: ~/a/b.py in name(arguments)
  {
    pattern: /^\s*\[?(?<path>[^\s"()[\]]+\.\w{1,5})(?:\]\([^\s()]*\))? in (?<name>[\w.<>]+)\(/,
    isInnermostLast: true,
  },
  // pytest, and warnings: a/b.py:12: in name, a/b.py:12: ValueError, a/b.py:12: UserWarning: message
  {
    pattern: /^(?<path>[^\s:"]+\.py):(?<line>\d+): (?:in (?<name>[\w.<>]+)|[A-Z]\w*(?:$|: ))/,
    isInnermostLast: true,
  },
  // JavaScript: at name (/a/b.js:12:5), at async /a/b.js:12:5, at name (webpack:///./a/b.ts?:12:5)
  {
    pattern:
      /^\s*at (?:async )?(?:new )?(?:(?<name>[\w.$<>#]+)(?: \[as \w+\])? )?\(?(?:[a-z][a-z-]*:\/\/(?:\/\([\w-]+\))?)?(?<path>[^\s()?]+\.\w{1,5})(?:\?[\w=&.-]*)?:(?<line>\d+):\d+\)?/,
    isInnermostLast: false,
  },
  // Java and its relatives: at com.example.Store.open(Store.java:12)
  { pattern: /^\s*at (?<name>[\w.$<>/]+)\((?<path>[\w$-]+\.\w{1,6}):(?<line>\d+)\)/, isInnermostLast: false },
  // C#: at Example.Store.Open(String path) in /a/Store.cs:line 12
  {
    pattern: /^\s*at (?<name>[\w.<>`]+)\([^()]*\) in (?<path>[^\s"]+):line (?<line>\d+)/,
    isInnermostLast: false,
  },
  // Ruby: /a/b.rb:12:in `name'
  {
    pattern: /^\s*(?:from )?(?<path>[^\s:"]+\.\w{1,5}):(?<line>\d+):in [`'"](?:block in )?(?<name>[\w.#?!]+)/,
    isInnermostLast: false,
  },
  // PHP: #0 /a/b.php(12): name()
  {
    pattern: /^#\d+ (?<path>[^\s()"]+\.\w{1,5})\((?<line>\d+)\): (?<name>[\w\\:>-]+)/,
    isInnermostLast: false,
  },
  // PHP: Fatal error: Uncaught TypeError: message in /a/b.php:12
  {
    pattern: /^(?:PHP )?[A-Z]\w* error: .* in (?<path>[^\s()"]+\.\w{1,5})(?::| on line )(?<line>\d+)/,
    isInnermostLast: false,
  },
  // gdb: #0 name (arguments) at a/b.c:12
  {
    pattern:
      /^#\d+ +(?:0x[0-9a-f]+ in )?(?<name>[\w:~]+) \([^()]*\) at (?<path>[^\s:"()]+\.\w{1,5}):(?<line>\d+)/,
    isInnermostLast: false,
  },
  // Rust: 3: app::open, a tab for the end of the line, at src/open.rs:12:5; or the place alone
  {
    pattern:
      /^(?:\s*\d+: +(?:0x[0-9a-f]+ - )?(?<name>[^\t]+)\t|\s*)at (?<path>[^\s:"()]+\.\w{1,5}):(?<line>\d+)/,
    isInnermostLast: false,
  },
  // Rust: thread 'main' panicked at src/main.rs:12:5, thread 'main' panicked at 'message', src/main.rs:12:5
  {
    pattern: /^thread '.*panicked at (?:'.*', )?(?<path>[^\s:"()']+\.\w{1,5}):(?<line>\d+)/,
    isInnermostLast: false,
  },
  // Go: name(arguments), a tab for the end of the line, /a/b.go:12 +0x1d; or the place alone
  {
    pattern:
      /^(?:(?:created by )?(?<name>[^\s(]+(?:\(\*?[^\s()]+\)\.[^\s()]+)?)(?:\(.*\))?(?: in goroutine \d+)?\t|\s+)(?<path>[^\s:"]+\.go):(?<line>\d+)(?: \+0x[0-9a-f]+)?$/,
    isInnermostLast: false,
  },
  // Compilers: a/b.c:12:5: error: message, a/b.ts(12,5): error TS2345: message
  {
    pattern: /^(?<path>[^\s:()"]+\.\w{1,5})[:(](?<line>\d+)(?:[:,]\d+)?\)?: (?:fatal )?(?:error|warning)\b/,
    isInnermostLast: false,
  },
];

/** Names of Go and Rust without the folders of the package, marks of pointers, generics, closures and hashes. */
const plainName = (name: string): string =>
  name
    .replace(/^.*\//, "")
    .replace(/\(\*?([^()]*)\)/, "$1")
    .replace(/\[\.\.\.\]/g, "")
    .replace(/(?:\.func\d+|\.\d+|::\{\{closure\}\}|::h[0-9a-f]{16})+$/, "");

const matchFrame = (line: string): TracedFrame | undefined => {
  for (const { pattern, isInnermostLast } of SHAPES) {
    const found = pattern.exec(line)?.groups;
    if (found === undefined) continue;
    const path = (found["path"] ?? "").replaceAll("\\", "/");
    return {
      frame: { path, line: Number(found["line"] ?? 0), name: plainName(found["name"] ?? "") },
      isInnermostLast,
    };
  }
  return undefined;
};

/** The frame that a line of a trace is, as it was printed or behind what a log, a terminal or a quotation put before it. */
export const frameOf = (line: string): TracedFrame | undefined => {
  for (const form of withoutPrefixes(line)) {
    const found = matchFrame(form);
    if (found !== undefined) return found;
  }
  return undefined;
};
