import { stem } from "../terms/stem.ts";

/** Files that mention much and answer little. */
export type Aside = "test" | "example" | "docs" | "vendored" | "generated";

/** Folders of the way to a file and names of files that say so, in small letters. */
const FOLDERS: Readonly<Record<Aside, RegExp>> = {
  test: /(?:^|[-_./])(?:tests?|specs?|unittests?)\/|(?:^|\/)(?:__tests__|testing|testdata|fixtures?|__mocks__|mocks?|e2e|testutils?)\//,
  example:
    /(?:^|\/)(?:examples?|samples?|demos?|tutorials?|playgrounds?|benchmarks?|bench|benches|docs_src)\//,
  docs: /(?:^|\/)(?:docs?|documentation|website|man|changelogs?)\//,
  vendored:
    /(?:^|\/)(?:vendor|vendored|third[-_]?party|external|deps|node_modules|bower_components|extern)\//,
  generated: /(?:^|\/)(?:generated|__generated__|dist|gen|autogen|\.next|out)\//,
};

const FILES: Readonly<Record<Aside, RegExp>> = {
  test: /(?:^tests?[-_.]|[-_.]tests?\.|[-_.]spec\.|_test$|^conftest\.|^tests?\.)/,
  example: /(?:^examples?[-_.]|[-_.]examples?\.|[-_.]bench(?:mark)?\.)/,
  docs: /(?:\.(?:md|mdx|rst|adoc|txt)$|^changelog|^readme|^license|^contributing)/,
  vendored: /\.min\.(?:js|css)$/,
  generated: /(?:\.(?:generated|g|pb|designer)\.[a-z]+$|_pb2(?:_grpc)?\.pyi?$|\.lock$|-lock\.(?:json|yaml)$)/,
};

const ASIDES: readonly Aside[] = ["test", "example", "docs", "vendored", "generated"];

/** `FooTest.java`, `FooTests.cs`, `FooSpec.scala`: only with the capital, since `latest` is no test. */
const CAPITAL_TEST = /(?:Tests?|Spec|TestCase|[a-z]IT)\.[a-z]+$|^Test[A-Z]/;

/** `commonTest`, `androidTest`. */
const CAPITAL_TEST_FOLDER = /[a-z]Tests?\//;

export const asideOf = (path: string): Aside | undefined => {
  const file = path.slice(path.lastIndexOf("/") + 1);
  if (CAPITAL_TEST.test(file) || CAPITAL_TEST_FOLDER.test(path)) return "test";
  const small = path.toLowerCase();
  const smallFile = file.toLowerCase();
  return ASIDES.find((aside) => FILES[aside].test(smallFile) || FOLDERS[aside].test(small));
};

const ASKING: Readonly<Record<Aside, readonly string[]>> = {
  test: ["test", "tests", "spec", "specs", "fixture", "mock", "mocks", "testing"],
  example: ["example", "examples", "sample", "demo", "tutorial", "benchmark", "benchmarks"],
  docs: ["docs", "documentation", "readme", "changelog", "guide", "license", "contributing"],
  vendored: ["vendor", "vendored"],
  generated: ["generated"],
};

export const asidesAskedFor = (stems: ReadonlySet<string>): ReadonlySet<Aside> =>
  new Set(ASIDES.filter((aside) => ASKING[aside].some((word) => stems.has(stem(word)))));
