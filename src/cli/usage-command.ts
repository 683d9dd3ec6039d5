import { LlmcError } from "../base/error.ts";
import type { Io } from "./io.ts";

interface UsageParts<S> {
  summary(filter: { readonly days?: number | undefined; readonly session?: string | undefined }): S;
  text(summary: S, options: { readonly bars: boolean }): string;
}

const daysOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const days = Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= 36_500) return days;
  throw new LlmcError("invalid_args", "--days takes a whole number of at least 1.", {
    hint: "For example --days 7.",
  });
};

/** Shows the tokens that commands have cost and the Tool Envelope has saved. */
export const runUsage = <S>(
  { summary, text }: UsageParts<S>,
  io: Io,
  options: { readonly json?: boolean; readonly days?: string; readonly session?: string },
): void => {
  const found = summary({ days: daysOf(options.days), session: options.session });
  io[options.json ? "data" : "out"](
    options.json ? `${JSON.stringify(found, null, 2)}\n` : text(found, { bars: io.hasColours }),
  );
};
