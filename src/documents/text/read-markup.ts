import { Parser } from "htmlparser2";
import { DocumentFailure } from "./limits.ts";

export interface MarkupHandler {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text?: (text: string) => void;
  readonly close?: (name: string) => void;
}

/** The parser moves all open elements with each one that opens: deeper, its time grows with the square. */
const MAX_OPEN = 20_000;

const tooDeep = (): DocumentFailure =>
  new DocumentFailure("invalid_args", "The document is nested too deep.");

const hasDoctype = (): DocumentFailure =>
  new DocumentFailure("invalid_args", "The document declares a document type, which is not read.");

/**
 * Reads HTML or XML as its tags come; every element that opens is closed. Entities that a document declares are unknown
 * here, and XML with a document type, in which they would be declared, is refused: office documents have none.
 */
export const readMarkup = (text: string, language: "html" | "xml", handler: MarkupHandler): void => {
  let open = 0;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (++open > MAX_OPEN) throw tooDeep();
        handler.open(name, attributes);
      },
      ontext: (part) => handler.text?.(part),
      onclosetag: (name) => {
        open--;
        handler.close?.(name);
      },
      onprocessinginstruction: (name) => {
        if (language === "xml" && name.toLowerCase().startsWith("!doctype")) throw hasDoctype();
      },
    },
    { xmlMode: language === "xml" },
  );
  parser.end(text);
};
