import { baseName } from "../../base/paths.ts";
import { stem } from "../terms/stem.ts";

/** Files that mention many things and answer few questions, so they rank lower unless the query asks for them. */
export type FileCategory = "test" | "example" | "docs" | "vendored" | "generated";

/** Directories and file names that say so, in lower case. */
const FOLDERS: Readonly<Record<FileCategory, RegExp>> = {
  test: /(?:^|[-_./])(?:tests?|specs?|unittests?)\/|(?:^|\/)(?:__tests__|testing|testdata|fixtures?|__mocks__|mocks?|e2e|testutils?)\//,
  example:
    /(?:^|\/)(?:examples?|samples?|demos?|tutorials?|playgrounds?|benchmarks?|bench|benches|docs_src)\//,
  docs: /(?:^|\/)(?:docs?|documentation|website|man|changelogs?)\//,
  vendored:
    /(?:^|\/)(?:vendor|vendored|third[-_]?party|external|deps|node_modules|bower_components|extern)\//,
  generated: /(?:^|\/)(?:generated|__generated__|dist|gen|autogen|\.next|out)\//,
};

const FILES: Readonly<Record<FileCategory, RegExp>> = {
  test: /(?:^tests?[-_.]|[-_.]tests?\.|[-_.]spec\.|_test$|^conftest\.|^tests?\.)/,
  example: /(?:^examples?[-_.]|[-_.]examples?\.|[-_.]bench(?:mark)?\.)/,
  docs: /(?:\.(?:md|mdx|rst|adoc|txt)$|^changelog|^readme|^license|^contributing)/,
  vendored: /\.min\.(?:js|css)$/,
  generated: /(?:\.(?:generated|g|pb|designer)\.[a-z]+$|_pb2(?:_grpc)?\.pyi?$|\.lock$|-lock\.(?:json|yaml)$)/,
};

const CATEGORIES: readonly FileCategory[] = ["test", "example", "docs", "vendored", "generated"];

/** `FooTest.java`, `FooTests.cs`, `FooSpec.scala`: only with the capital, since `latest` is not a test. */
const CAPITAL_TEST = /(?:Tests?|Spec|TestCase|[a-z]IT)\.[a-z]+$|^Test[A-Z]/;

/** `commonTest`, `androidTest`. */
const CAPITAL_TEST_FOLDER = /[a-z]Tests?\//;

export const categoryOf = (path: string): FileCategory | undefined => {
  const file = baseName(path);
  if (CAPITAL_TEST.test(file) || CAPITAL_TEST_FOLDER.test(path)) return "test";
  const lowerPath = path.toLowerCase();
  const lowerFile = file.toLowerCase();
  return CATEGORIES.find((category) => FILES[category].test(lowerFile) || FOLDERS[category].test(lowerPath));
};

const QUERY_TERMS: Readonly<Record<FileCategory, readonly string[]>> = {
  test: ["test", "tests", "spec", "specs", "fixture", "mock", "mocks", "testing"],
  example: ["example", "examples", "sample", "demo", "tutorial", "benchmark", "benchmarks"],
  docs: ["docs", "documentation", "readme", "changelog", "guide", "license", "contributing"],
  vendored: ["vendor", "vendored"],
  generated: ["generated"],
};

export const categoriesAskedFor = (stems: ReadonlySet<string>): ReadonlySet<FileCategory> =>
  new Set(CATEGORIES.filter((category) => QUERY_TERMS[category].some((term) => stems.has(stem(term)))));
