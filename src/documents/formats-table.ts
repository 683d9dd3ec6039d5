/** Formats that are read, and how they are recognised. */
export const FORMATS = ["markdown", "html", "text", "rst", "notebook", "docx", "pdf", "code"] as const;
export type Format = (typeof FORMATS)[number];

const BY_EXTENSION: readonly (readonly [format: Format, extensions: string])[] = [
  ["markdown", "md markdown mdown mkd mdx mdwn qmd rmd"],
  ["html", "html htm xhtml xht"],
  ["text", "txt text log adoc asciidoc org tex man 1 2 3 4 5 6 7 8 csv tsv srt vtt"],
  ["rst", "rst rest"],
  ["notebook", "ipynb"],
  ["docx", "docx docm"],
  ["pdf", "pdf"],
  [
    "code",
    "astro bash bat bzl c cc cfg cjs clj cljs cmake coffee conf cpp cs css cts cu cxx d dart dockerfile ejs el elm erl ex exs f90 fish fs fsx gd glsl go gradle graphql groovy h hcl hh hpp hrl hs htmx hx hxx ini ino java jl js json json5 jsonc jsonl jsx kt kts less lisp lua m make mjs ml mli mm mts nim nix pas php pl pm prisma proto ps1 psm1 purs py pyi pyx r rb re rkt rs s sass scala scm scss sh sol sql sv svelte swift tcl tf thrift toml ts tsx v vala vb vhd vhdl vim vue wat wgsl xml xsd xsl yaml yml zig zsh",
  ],
];

/** Never documents: a folder that contains some of them is not reported for it. */
const NO_DOCUMENTS = new Set(
  "7z a apk avi avif bin bmp br bz2 class dat db dll dmg doc dylib ear eot epub exe flac gif gz heic icns ico iso jar jpeg jpg lib lock map mkv mov mp3 mp4 o obj odp ods odt ogg otf pack parquet pdb pkl png ppt pptx psd pyc pyd rar rlib so sqlite svg tar tgz tif tiff ttf war wasm wav webm webp whl woff woff2 xls xlsx xz zip zst".split(
    " ",
  ),
);

const EXTENSIONS: ReadonlyMap<string, Format> = new Map(
  BY_EXTENSION.flatMap(([format, extensions]) =>
    extensions.split(" ").map((extension) => [extension, format] as const),
  ),
);

const BY_MEDIA_TYPE: Readonly<Record<string, Format>> = {
  "text/markdown": "markdown",
  "text/x-markdown": "markdown",
  "text/html": "html",
  "application/xhtml+xml": "html",
  "text/x-rst": "rst",
  "text/prs.fallenstein.rst": "rst",
  "application/x-ipynb+json": "notebook",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/pdf": "pdf",
  "application/json": "code",
  "application/xml": "code",
  "text/xml": "code",
  "text/css": "code",
  "text/javascript": "code",
  "application/javascript": "code",
};

/** Lower case, without the dot; empty where the name has none. */
const extensionOf = (name: string): string => /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** By its name; undefined where that says nothing. */
const formatOfName = (name: string): Format | undefined => {
  if (/(?:^|[/\\])(?:dockerfile|makefile|rakefile|gemfile|justfile)$/i.test(name)) return "code";
  return EXTENSIONS.get(extensionOf(name));
};

/** Whether a file of this name may be a document. */
export const isDocumentName = (name: string): boolean => !NO_DOCUMENTS.has(extensionOf(name));

const START_CHARS = 1024;

const startsLike = (start: string): Format | undefined => {
  if (start.includes("%PDF-")) return "pdf";
  return /^\s*(?:<!--[\s\S]{0,400}?-->\s*)?<(?:!doctype html|html)\b/i.test(start) ? "html" : undefined;
};

/**
 * The format of a document. A media type of a server is believed where it names one of ours; `text/plain` says nothing,
 * since servers send everything as that. What neither says, the beginning of the bytes may; everything else is text.
 */
export const formatOf = (bytes: Uint8Array, name: string, mediaType: string | undefined): Format => {
  const start = Buffer.from(bytes.subarray(0, START_CHARS)).toString("latin1");
  const typed = BY_MEDIA_TYPE[mediaType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""];
  // The content counts more than the name: what begins like a PDF is read as one.
  if (start.startsWith("%PDF-")) return "pdf";
  return typed ?? formatOfName(name) ?? startsLike(start) ?? "text";
};
