const TEST_PATH =
  /(?:^|\/)(?:tests?|__tests__|testing|spec|specs|e2e)\/|(?:^|\/)(?:test_[^/]*|[^/]*(?:_test|_spec|\.test|\.spec|Tests?|Spec|IT))\.\w+$|(?:^|\/)conftest\.py$/;

export const isTestPath = (path: string): boolean => TEST_PATH.test(path);
