import { messageOf } from "./error-message.ts";
import { type Frame, frameOf, type TracedFrame } from "./frames.ts";
import { isBoilerplate, isForm, isMachineSection } from "./issue-form.ts";
import { optionMentions } from "./option-mentions.ts";
import { quotedPhrases } from "./quotations.ts";
import { MAX_REPORT_CHARS, reportLines, splitTitle } from "./report-lines.ts";

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
  /** Quotations in title and prose that may be messages, too. */
  readonly phrases: readonly string[];
  /** Options of commands and keys of settings: `--no-cache-dir`, `max_line_length`. */
  readonly options: readonly string[];
}

const MAX_FRAMES = 64;
const MAX_MESSAGES = 8;
/** A longer one is data. */
const MAX_TITLE_CHARS = 600;

const PROMPT = /^\s*(?:>>> ?|\.\.\. ?|In \[\d+\]: ?|\.{3,}: ?)(.*)$/;
const HAS_PROMPT = /^\s*(?:>>> |In \[\d+\]: )/;
/** Lines of source in a trace of IPython: `---> 12 code`, `     13 code`. */
const TRACED = /^\s*(?:-+>\s*)?\d+(?:\s(.*))?$/;
const TRACE_HEAD =
  /^(?:\s*-{20,}$|\s*During handling of the above|\s*The above exception was|.{0,100}Traceback \(most recent call last\))/;
/** Between or above the frames of one trace. The first goroutine of Go is the one that failed, so the others follow it. */
const TRACE_PART = /^\s*(?:goroutine \d+ .*\[.*\]:|stack (?:back)?trace:|note: run with )/i;
/** Marks of a quotation in Markdown; three of them are a prompt. */
const QUOTED = /^ {0,3}(?:>(?!>) ?)+/;
const FENCE = /^\s*(?:```+|~~~+)\s*([\w+#.-]*)/;
const HEADING = /^(?:#{1,6}\s+|\*\*)(.+?)(?:\*\*)?:?\s*#*$/;
/** Code that nobody fenced, by how its lines begin. */
const BARE_CODE =
  /^\s*(?:import [\w.{*]|from \S+ import |#include\b|using \w+|def \w+\(|class \w+.*[:{]$|(?:const|let|var|func|fn) \w|[\w.[\]]+ ?[-+*]?= ?[^=\s]|[\w.]+\([^()]*(?:\)|,)\s*[;:{]?$|(?:for|while|if|with|try)\b.*[:{]$)/;

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

interface TakenLine {
  /** It has a message; what stands before that in the line is text. */
  readonly isMessage: boolean;
  readonly lead: string;
}

const OF_TRACE: TakenLine = { isMessage: false, lead: "" };

const takeFrame = (parts: Parts, found: TracedFrame): void => {
  if (!parts.isInTrace) parts.traces.push([]);
  parts.traces.at(-1)?.push(found);
  parts.isInTrace = true;
};

/** What belongs to a trace without being a frame or a message: heads, and lines of source. */
const takeTraceText = (parts: Parts, line: string): boolean => {
  if (TRACE_HEAD.test(line) || (TRACE_PART.test(line) && !parts.isInTrace)) {
    parts.traces.push([]);
    parts.isInTrace = true;
    return true;
  }
  if (!parts.isInTrace) return false;
  const traced = TRACED.exec(line);
  if (traced !== null) parts.traced.push(traced[1] ?? "");
  // Below a frame of Python stands its line of source, indented.
  else if (/^\s+\S/.test(line)) parts.traced.push(line);
  else parts.isInTrace = line.trim() === "" || TRACE_PART.test(line);
  return parts.isInTrace;
};

/** Takes a line that belongs to a trace or has a message; undefined where it is something else. */
const takeTraceLine = (parts: Parts, line: string, isProse: boolean): TakenLine | undefined => {
  const frame = frameOf(line);
  const found = messageOf(line, { isInTrace: parts.isInTrace, isProse });
  if (frame !== undefined) takeFrame(parts, frame);
  if (found !== undefined) {
    if (parts.messages.length < MAX_MESSAGES) parts.messages.push(found.message);
    // A message ends its trace, unless it stands in the line of a frame.
    parts.isInTrace = frame !== undefined;
    return { isMessage: true, lead: found.lead };
  }
  return frame !== undefined || takeTraceText(parts, line) ? OF_TRACE : undefined;
};

const takeFenced = (parts: Parts, lines: readonly string[], language: string): void => {
  const isSession = lines.some((line) => HAS_PROMPT.test(line));
  let isNew = true;
  parts.isInTrace = false;
  for (const line of lines) {
    if (takeTraceLine(parts, line, false) !== undefined) continue;
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
  const taken = takeTraceLine(parts, line, true);
  if (taken !== undefined) {
    if (taken.lead.trim() !== "") parts.prose.push(taken.lead);
    return;
  }
  const typed = PROMPT.exec(line);
  const isCode = typed !== null || BARE_CODE.test(line);
  if (isCode) addCode(parts, typed?.[1] ?? line, !parts.isInCode, "");
  else if (!isBoilerplate(line)) parts.prose.push(line);
  parts.isInCode = isCode || (parts.isInCode && line.trim() === "");
};

/** The first line is the title, unless it belongs to a trace; an error that was pasted alone is its own title. */
const takeFirst = (parts: Parts, line: string): void => {
  if (line.trim() === "") return;
  const taken = takeTraceLine(parts, line, true);
  if (taken !== undefined && !taken.isMessage) return;
  const { title, rest } = splitTitle(line);
  parts.title = title;
  if (rest !== "") parts.prose.push(rest);
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
  let isFenceQuoted = false;
  let language = "";
  let isLeftOut = false;
  for (const written of reportLines(text)) {
    const isBare: boolean = fenced !== undefined && !isFenceQuoted;
    const line: string = isBare ? written : written.replace(QUOTED, "");
    const fence = FENCE.exec(line);
    if (fence !== null) {
      if (fenced !== undefined && !isLeftOut) takeFenced(parts, fenced, language);
      fenced = fenced === undefined ? [] : undefined;
      isFenceQuoted = line !== written;
      language = fence[1] ?? "";
      continue;
    }
    if (fenced !== undefined) {
      fenced.push(line);
      continue;
    }
    const heading = HEADING.exec(line.trimEnd())?.[1];
    if (heading !== undefined) isLeftOut = isMachineSection(heading);
    if (isLeftOut || (heading !== undefined && isForm(heading))) continue;
    if (parts.title === "") takeFirst(parts, line);
    else takeProse(parts, line);
  }
  if (fenced !== undefined && !isLeftOut) takeFenced(parts, fenced, language);
  return parts;
};

export const readReport = (text: string): Report => {
  const parts = collect(text);
  const { output, traces, traced, messages } = parts;
  // A trace without any other text: its message is what it is about.
  const title = parts.title || (messages[0] ?? text.slice(0, MAX_REPORT_CHARS).trim().split("\n")[0] ?? "");
  const prose = parts.prose.join("\n");
  const examples = parts.examples.map(({ language, lines }) => ({ language, text: lines.join("\n") }));
  return {
    title: title.slice(0, MAX_TITLE_CHARS),
    prose,
    examples,
    output: output.join("\n"),
    frames: innermostFirst(traces),
    traced: traced.join("\n"),
    messages: [...new Set(messages)],
    phrases: quotedPhrases(`${title}\n${prose}`),
    options: optionMentions({ title, prose, examples, output: output.join("\n") }),
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
