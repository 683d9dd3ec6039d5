import { readMarkup } from "../text/read-markup.ts";
import { utf8 } from "../text/zip.ts";

interface Style {
  level: number | undefined;
  basedOn: string | undefined;
}

const MAX_CHAIN = 10;

const levelOfName = (name: string): number | undefined => {
  if (/^title$/i.test(name)) return 1;
  const number = /^heading ([1-9])$/i.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
};

/** Which styles are headings, and of which level: by outline level or name, their own or of the style below them. */
export const readHeadingStyles = (bytes: Uint8Array | undefined): ((style: string) => number | undefined) => {
  const styles = new Map<string, Style>();
  let current: Style | undefined;
  if (bytes !== undefined)
    readMarkup(utf8(bytes), "xml", {
      open: (name, attributes) => {
        const value = attributes["w:val"] ?? "";
        if (name === "w:style") {
          current = { level: undefined, basedOn: undefined };
          styles.set(attributes["w:styleId"] ?? "", current);
        } else if (current === undefined) return;
        else if (name === "w:name") current.level ??= levelOfName(value);
        else if (name === "w:basedOn") current.basedOn = value;
        else if (name === "w:outlineLvl" && /^[0-8]$/.test(value)) current.level = Number(value) + 1;
      },
      close: (name) => {
        if (name === "w:style") current = undefined;
      },
    });
  return (id) => {
    let style = styles.get(id);
    for (let step = 0; step < MAX_CHAIN && style !== undefined; step++) {
      if (style.level !== undefined) return style.level;
      style = style.basedOn === undefined ? undefined : styles.get(style.basedOn);
    }
    // Where there is no list of styles, the usual names say it.
    const number = /^Heading([1-9])$/i.exec(id)?.[1];
    return number === undefined ? undefined : Number(number);
  };
};
