import type { Io } from "./io.ts";
import { wholeNumber } from "./whole-number.ts";

interface UsageParts<S> {
  summary(filter: { readonly days?: number | undefined; readonly session?: string | undefined }): S;
  text(summary: S, options: { readonly bars: boolean }): string;
}

const MAX_DAYS = 36_500;

/** Shows the tokens that commands have cost and the Tool Envelope has saved. */
export const runUsage = <S>(
  { summary, text }: UsageParts<S>,
  io: Io,
  options: { readonly json?: boolean; readonly days?: string; readonly session?: string },
): void => {
  const days =
    options.days === undefined ? undefined : wholeNumber("--days", options.days, { min: 1, max: MAX_DAYS });
  const found = summary({ days, session: options.session });
  io[options.json ? "data" : "out"](
    options.json ? `${JSON.stringify(found, null, 2)}\n` : text(found, { bars: io.hasColours }),
  );
};
