import { readMarkup } from "../text/read-markup.ts";
import { headingText, withoutLinkSign } from "../text/section-list.ts";
import { SKIPPED } from "./html-table.ts";

export interface PageSurvey {
  /** The element, or role, that holds the content; undefined where the page names none. */
  readonly main: string | undefined;
  readonly title: string | undefined;
  readonly firstHeading: string | undefined;
  readonly licence: string | undefined;
  readonly version: string | undefined;
}

/** An element with less text than this is not where the content is. */
const MIN_MAIN_CHARS = 80;

/** In order of preference. */
const MAIN = ["main", "article"] as const;

const LICENCES: readonly (readonly [pattern: RegExp, id: string])[] = [
  [/creativecommons\.org\/licenses\/by\/(\d\.\d)/, "CC-BY-"],
  [/creativecommons\.org\/licenses\/by-sa\/(\d\.\d)/, "CC-BY-SA-"],
  [/creativecommons\.org\/publicdomain\/zero\/(\d\.\d)/, "CC0-"],
];

const licenceOfLink = (href: string): string | undefined => {
  for (const [pattern, id] of LICENCES) {
    const version = pattern.exec(href)?.[1];
    if (version !== undefined) return `${id}${version}`;
  }
  return undefined;
};

/** A first reading: where the content is, and what the page says about itself. */
export const surveyPage = (text: string): PageSurvey => {
  const open = new Map<string, number>(MAIN.map((name) => [name, 0]));
  const chars = new Map<string, number>(MAIN.map((name) => [name, 0]));
  const roles: (string | undefined)[] = [];
  let [skipped, title, firstHeading] = [0, "", ""];
  let [inTitle, inHeading] = [false, false];
  let licence: string | undefined;
  let version: string | undefined;
  const change = (name: string | undefined, by: number): void => {
    if (name !== undefined && open.has(name)) open.set(name, (open.get(name) ?? 0) + by);
  };
  readMarkup(text, "html", {
    open: (name, attributes) => {
      roles.push(attributes["role"] === "main" && name !== "main" ? "main" : undefined);
      if (SKIPPED.has(name) && name !== "head") skipped++;
      change(name, 1);
      change(roles.at(-1), 1);
      if (name === "title" && skipped === 0) inTitle = true;
      if (name === "h1" && firstHeading === "") inHeading = true;
      if (name === "link" && attributes["rel"] === "license")
        licence ??= licenceOfLink(attributes["href"] ?? "");
      if (name === "meta" && attributes["name"]?.toLowerCase() === "version")
        version ??= headingText(attributes["content"] ?? "") || undefined;
    },
    text: (part) => {
      if (skipped > 0) return;
      if (inTitle) title += part;
      if (inHeading) firstHeading += part;
      const length = part.trim().length;
      for (const [name, count] of open) if (count > 0) chars.set(name, (chars.get(name) ?? 0) + length);
    },
    close: (name) => {
      change(name, -1);
      change(roles.pop(), -1);
      if (SKIPPED.has(name) && name !== "head") skipped--;
      if (name === "title") inTitle = false;
      if (name === "h1") inHeading = false;
    },
  });
  return {
    main: MAIN.find((name) => (chars.get(name) ?? 0) >= MIN_MAIN_CHARS),
    title: headingText(title) || undefined,
    firstHeading: headingText(withoutLinkSign(firstHeading)) || undefined,
    licence,
    version,
  };
};
