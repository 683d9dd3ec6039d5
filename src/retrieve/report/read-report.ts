import { type Frame, frameOf, type TracedFrame } from "./frames.ts";
import { isBoilerplate, isForm, isMachineSection } from "./issue-form.ts";

/** A piece of code in a report. */
export interface Example {
  /** As the fence says; empty where it does not. */
  readonly language: string;
  readonly text: string;
}

/** A bug report or another long question, taken apart. */
export interface Report {
  readonly title: string;
  /** Without code, traces, versions and what the form of the tracker says. */
  readonly prose: string;
  readonly examples: readonly Example[];
  /** What programs printed, apart from traces. */
  readonly output: string;
  /** Innermost first, of the last trace first: it is the one that reached the user. */
  readonly frames: readonly Frame[];
  /** Lines of source that traces show. */
  readonly traced: string;
  /** What errors and warnings say, without their type. */
  readonly messages: readonly string[];
}

/** What is longer is cut. */
const MAX_REPORT_CHARS = 32 * 1024;
/** A longer line is data: its beginning says what it is. */
const MAX_LINE_CHARS = 600;
const MAX_FRAMES = 64;
const MAX_MESSAGES = 8;

/** `ValueError: message`, `astropy.wcs.NoConvergence: message`, `panic: message`, `E   AssertionError: message` */
const MESSAGE =
  /^(?:E\s+|> *)?(?:Uncaught |Caused by: |Exception in thread "[^"]*" |error\[\w+\]: )?(?<type>(?:[\w$]+[.:]{1,2})*[A-Z]\w*(?:Error|Exception|Warning|Failure|Fault|Interrupt|Exit|Convergence)|panic|fatal error|error|Error)\b[*`]*: +(?<message>\S.*)$/;

const PROMPT = /^\s*(?:>>> ?|\.\.\. ?|In \[\d+\]: ?|\.{3,}: ?)(.*)$/;
const HAS_PROMPT = /^\s*(?:>>> |In \[\d+\]: )/m;
/** Lines of source in a trace of IPython: `---> 12 code`, `     13 code`. */
const TRACED = /^\s*(?:-+>\s*)?\d+(?:\s(.*))?$/;
const TRACE_HEAD =
  /^(?:\s*-{20,}$|\s*During handling of the above|\s*The above exception was|.{0,100}Traceback \(most recent call last\))/;
const FENCE = /^\s*(?:```+|~~~+)\s*([\w+#.-]*)/;
const HEADING = /^(?:#{1,6}\s+|\*\*)(.+?)(?:\*\*)?:?\s*#*$/;
/** Code that nobody fenced, by how its lines begin. */
const BARE_CODE =
  /^\s*(?:import [\w.{*]|from \S+ import |#include\b|using \w+|def \w+\(|class \w+.*[:{]$|(?:const|let|var|func|fn) \w|[\w.[\]]+ ?[-+*]?= ?[^=\s]|[\w.]+\([^()]*(?:\)|,)\s*[;:{]?$|(?:for|while|if|with|try)\b.*[:{]$)/;

/** Comments of the form: `<!-- … -->`. */
const withoutComments = (text: string): string => {
  let kept = "";
  let from = 0;
  for (;;) {
    const start = text.indexOf("<!--", from);
    if (start < 0) return kept + text.slice(from);
    const end = text.indexOf("-->", start);
    kept += `${text.slice(from, start)}\n`;
    if (end < 0) return kept;
    from = end + 3;
  }
};

interface Parts {
  title: string;
  readonly prose: string[];
  readonly examples: { language: string; lines: string[] }[];
  readonly output: string[];
  readonly traces: TracedFrame[][];
  readonly traced: string[];
  readonly messages: string[];
  /** The last line belonged to a trace. */
  isInTrace: boolean;
  /** The last line outside of fences was code. */
  isInCode: boolean;
}

const addCode = ({ examples }: Parts, line: string, isNew: boolean, language: string): void => {
  const last = examples.at(-1);
  if (last === undefined || isNew) examples.push({ language, lines: [line] });
  else last.lines.push(line);
};

/** Takes a line that belongs to a trace or is a message of one; false where it is something else. */
const takeTraceLine = (parts: Parts, line: string): boolean => {
  const found = frameOf(line);
  if (found !== undefined) {
    if (!parts.isInTrace) parts.traces.push([]);
    parts.traces.at(-1)?.push(found);
    parts.isInTrace = true;
    return true;
  }
  if (TRACE_HEAD.test(line)) {
    parts.traces.push([]);
    parts.isInTrace = true;
    return true;
  }
  const message = MESSAGE.exec(line)?.groups;
  if (message !== undefined) {
    if (parts.messages.length < MAX_MESSAGES) parts.messages.push(message["message"] ?? "");
    parts.isInTrace = false;
    return true;
  }
  if (!parts.isInTrace) return false;
  const traced = TRACED.exec(line);
  if (traced !== null) parts.traced.push(traced[1] ?? "");
  // Below a frame of Python stands its line of source, indented.
  else if (/^\s+\S/.test(line)) parts.traced.push(line);
  else if (line.trim() === "") return true;
  else {
    parts.isInTrace = false;
    return false;
  }
  return true;
};

const takeFenced = (parts: Parts, lines: readonly string[], language: string): void => {
  const isSession = HAS_PROMPT.test(lines.join("\n"));
  let isNew = true;
  parts.isInTrace = false;
  for (const line of lines) {
    if (takeTraceLine(parts, line)) continue;
    const typed = isSession ? PROMPT.exec(line) : null;
    if (isSession && typed === null) {
      parts.output.push(line);
      continue;
    }
    addCode(parts, typed?.[1] ?? line, isNew, language);
    isNew = false;
  }
  parts.isInTrace = false;
};

const takeProse = (parts: Parts, line: string): void => {
  if (takeTraceLine(parts, line)) return;
  const typed = PROMPT.exec(line);
  const isCode = typed !== null || BARE_CODE.test(line);
  if (isCode) addCode(parts, typed?.[1] ?? line, !parts.isInCode, "");
  else if (!isBoilerplate(line)) parts.prose.push(line);
  parts.isInCode = isCode || (parts.isInCode && line.trim() === "");
};

const innermostFirst = (traces: Parts["traces"]): readonly Frame[] =>
  traces
    .toReversed()
    .flatMap((trace) => (trace[0]?.isInnermostLast === true ? trace.toReversed() : trace))
    .map(({ frame }) => frame)
    .slice(0, MAX_FRAMES);

const collect = (text: string): Parts => {
  const parts: Parts = {
    title: "",
    prose: [],
    examples: [],
    output: [],
    traces: [],
    traced: [],
    messages: [],
    isInTrace: false,
    isInCode: false,
  };
  let fenced: string[] | undefined;
  let language = "";
  let isLeftOut = false;
  for (const whole of withoutComments(text.slice(0, MAX_REPORT_CHARS)).split(/\r?\n/)) {
    const line = whole.slice(0, MAX_LINE_CHARS);
    const fence = FENCE.exec(line);
    if (fence !== null) {
      if (fenced !== undefined && !isLeftOut) takeFenced(parts, fenced, language);
      fenced = fenced === undefined ? [] : undefined;
      language = fence[1] ?? "";
      continue;
    }
    if (fenced !== undefined) {
      fenced.push(line);
      continue;
    }
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) isLeftOut = isMachineSection(heading);
    if (isLeftOut || (heading !== undefined && isForm(heading))) continue;
    if (parts.title === "") parts.title = line.trim();
    else takeProse(parts, line);
  }
  if (fenced !== undefined && !isLeftOut) takeFenced(parts, fenced, language);
  return parts;
};

export const readReport = (text: string): Report => {
  const { title, prose, examples, output, traces, traced, messages } = collect(text);
  return {
    title,
    prose: prose.join("\n"),
    examples: examples.map(({ language, lines }) => ({ language, text: lines.join("\n") })),
    output: output.join("\n"),
    frames: innermostFirst(traces),
    traced: traced.join("\n"),
    messages: [...new Set(messages)],
  };
};

/** With a line break and so many characters, or without one and twice as many, a question is read as a report. */
const MIN_REPORT_CHARS = 200;

export const isReport = (question: string): boolean => {
  const text = question.slice(0, MAX_REPORT_CHARS).trim();
  const hasLines = text.includes("\n");
  if (text.length >= MIN_REPORT_CHARS * (hasLines ? 1 : 2)) return true;
  return hasLines && text.split("\n").some((line) => frameOf(line) !== undefined);
};
