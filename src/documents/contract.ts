import type { LlmcError } from "../base/error.ts";

/** A document as somebody handed it over. Nothing about it is believed. */
export interface DocumentInput {
  readonly bytes: Uint8Array;
  /** File name or last part of a URL: its extension decides on the format where no media type does. */
  readonly name: string;
  readonly mediaType?: string | undefined;
}

/** A part of a document under exactly one heading, of one kind. Lines and pages count from 1. */
export interface Section {
  /** The headings that lead here, the outermost first. */
  readonly headings: readonly string[];
  /** What follows `#` in a link to this section. */
  readonly anchor?: string | undefined;
  readonly page?: number | undefined;
  readonly startLine?: number | undefined;
  readonly endLine?: number | undefined;
  readonly text: string;
  readonly kind: "prose" | "code" | "table";
}

export interface ParsedDocument {
  readonly title: string;
  /** `markdown`, `html`, `text`, `rst`, `notebook`, `docx`, `pdf` or `code`. */
  readonly format: string;
  readonly sections: readonly Section[];
  /** As an SPDX expression where it is known. */
  readonly licence?: string | undefined;
  readonly version?: string | undefined;
  /** What was left out or repaired. */
  readonly warnings: readonly string[];
}

export interface DocumentParser {
  /**
   * Fails with an `LlmcError` about this one document: `unavailable` where documents cannot be confined or the program is
   * ending, `file_too_large`, `timeout`, `unsupported_media` for a format nobody parses here, `invalid_args` for a document
   * that cannot be read, `cancelled`.
   */
  parse(input: DocumentInput, signal?: AbortSignal): Promise<ParsedDocument>;
}

/** A document that a source gave, with what the source knows about it. */
export interface SourceDocument {
  readonly kind: "document";
  /** How many documents the source gives altogether, where it knows that beforehand. */
  readonly total?: number | undefined;
  /** The same for the same document of the same source each time: a path below the source, or a URL. */
  readonly id: string;
  /** File name or last part of the URL. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly mediaType?: string | undefined;
  readonly url?: string | undefined;
  /** SHA-256 of the bytes, in base64url. */
  readonly contentHash: string;
  /** Of the package or folder that it lies in, as an SPDX expression. */
  readonly licence?: string | undefined;
  readonly version?: string | undefined;
}

/** Something that the source should have delivered and could not; the rest is still read. */
export interface SourceFailure {
  readonly kind: "failure";
  readonly total?: number | undefined;
  readonly id: string;
  /** Of a page: what it would be cited by. */
  readonly url?: string | undefined;
  readonly error: LlmcError;
  /** More lies behind it, or was left out: what the source did not deliver may still be there. */
  readonly isIncomplete?: true | undefined;
}

export type SourceItem = SourceDocument | SourceFailure;

export interface SourceNetwork {
  /** Hosts (`host` or `host:port`) that may have a private address. */
  readonly privateHosts: readonly string[];
}

export interface SourceOptions {
  /** Globs of names whose content is never taken (`mcp.tools.denylist_globs`). */
  readonly denylist: readonly string[];
  /** What is the server's own (`ownPaths`), of which nothing is taken either. */
  readonly closed: readonly string[];
  /** Undefined: the network is not allowed, and URLs and remote repositories are refused. */
  readonly network: SourceNetwork | undefined;
  readonly maxDocumentBytes: number;
  readonly maxDocuments: number;
  /** For one download, from its first packet to its last, and for one document of a repository. */
  readonly timeoutMs: number;
}

/** Reads a source, named by the operator: a file, a folder, a git repository (`git+…`, `….git`), a URL or a sitemap. */
export type ReadSource = (
  source: string,
  options: SourceOptions,
  signal?: AbortSignal,
) => AsyncIterable<SourceItem>;
