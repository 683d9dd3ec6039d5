/** Part of a text in which a header stands. */
const HEADER_CHARS = 4096;
const MAX_EXPRESSION_CHARS = 200;

const SPDX_HEADER = /SPDX-License-Identifier:[ \t]*([^\r\n]{1,300})/i;
/** Identifiers of SPDX, joined by AND, OR and WITH. */
const EXPRESSION = /^\(*[A-Za-z0-9][\w.+-]*\)*(?: (?:AND|OR|WITH) \(*[A-Za-z0-9][\w.+-]*\)*)*$/;

/** What ends the comment in which an expression stands. */
const COMMENT_ENDS = ["*/", "-->", "#}", "*)", '"""', "'"];
/** No expression and the comment around it is longer. A manifest may hold anything in its place. */
const MAX_STATEMENT_CHARS = 300;

/** An SPDX expression, or undefined where it is not the shape of one. */
export const spdxExpression = (text: string): string | undefined => {
  const stated = text.slice(0, MAX_STATEMENT_CHARS);
  const ends = COMMENT_ENDS.map((mark) => stated.indexOf(mark)).filter((at) => at >= 0);
  if (ends.length === 0 && text.length > MAX_STATEMENT_CHARS) return undefined;
  const cut = stated
    .slice(0, Math.min(stated.length, ...ends))
    .replace(/\s+/g, " ")
    .trim();
  return cut.length <= MAX_EXPRESSION_CHARS && EXPRESSION.test(cut) ? cut : undefined;
};

/** The licence that a file names in its header. */
export const spdxHeader = (text: string): string | undefined => {
  const found = SPDX_HEADER.exec(text.slice(0, HEADER_CHARS))?.[1];
  return found === undefined ? undefined : spdxExpression(found);
};

const BSD = "redistribution and use in source and binary forms";

/** Where a licence names itself: later, it may speak of others. */
const TITLE_CHARS = 400;

/** What the beginning of a licence names, or sentences that are in one licence only. The order counts. */
const LICENCES: readonly {
  readonly id: string;
  readonly title?: readonly string[];
  readonly text?: readonly string[];
}[] = [
  { id: "AGPL-3.0-only", title: ["gnu affero general public license", "version 3"] },
  { id: "LGPL-3.0-only", title: ["gnu lesser general public license", "version 3"] },
  { id: "LGPL-2.1-only", title: ["gnu lesser general public license", "version 2.1"] },
  { id: "GPL-3.0-only", title: ["gnu general public license", "version 3"] },
  { id: "GPL-2.0-only", title: ["gnu general public license", "version 2"] },
  { id: "Apache-2.0", title: ["apache license", "version 2.0"] },
  { id: "MPL-2.0", title: ["mozilla public license version 2.0"] },
  { id: "EPL-2.0", title: ["eclipse public license - v 2.0"] },
  { id: "BSL-1.0", title: ["boost software license - version 1.0"] },
  { id: "CC-BY-SA-4.0", text: ["creative commons attribution-sharealike 4.0"] },
  { id: "CC-BY-4.0", text: ["creative commons attribution 4.0"] },
  { id: "CC0-1.0", title: ["cc0 1.0 universal"] },
  { id: "PSF-2.0", text: ["python software foundation license version 2"] },
  { id: "Unlicense", text: ["this is free and unencumbered software released into the public domain"] },
  { id: "Zlib", text: ["altered source versions must be plainly marked as such"] },
  { id: "BSD-3-Clause", text: [BSD, "may be used to endorse or promote products derived"] },
  { id: "BSD-2-Clause", text: [BSD] },
  { id: "MIT", text: ["permission is hereby granted, free of charge, to any person obtaining a copy"] },
  {
    id: "ISC",
    text: ["permission to use, copy, modify, and/or distribute this software", "above copyright notice"],
  },
  {
    id: "ISC",
    text: ["permission to use, copy, modify, and distribute this software", "above copyright notice"],
  },
  { id: "0BSD", text: ["permission to use, copy, modify, and/or distribute this software"] },
  { id: "MIT", title: ["mit license"] },
];

/** The licence whose text this is, as the file `LICENSE` of a project holds it; undefined where it is no known one. */
export const licenceOfText = (text: string): string | undefined => {
  const header = spdxHeader(text);
  if (header !== undefined) return header;
  const plain = text
    .slice(0, 64 * 1024)
    .toLowerCase()
    .replace(/[*#=_\s]+/g, " ")
    .trim();
  const start = plain.slice(0, TITLE_CHARS);
  return LICENCES.find(
    ({ title = [], text: sentences = [] }) =>
      title.every((part) => start.includes(part)) && sentences.every((sentence) => plain.includes(sentence)),
  )?.id;
};
