import type { FileRecord } from "./family.ts";

/** Folders and file names that mean a test in most languages. */
const TEST_PATH =
  /(?:^|\/)(?:tests?|__tests__|testing|spec|specs|e2e)\/|(?:^|\/)(?:test_[^/]*|[^/]*(?:_test|_spec|\.test|\.spec|Tests?|Spec|IT))\.\w+$/;

export const isTestFile = ({ path, family }: Pick<FileRecord, "path" | "family">): boolean =>
  TEST_PATH.test(path) || family.testFiles?.test(path) === true;
