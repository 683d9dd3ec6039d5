/** A use of a definition as a compiler sees it. Lines are counted from 1, paths are relative to the project. */
export interface OracleUse {
  readonly path: string;
  readonly line: number;
  readonly target: OracleLocation;
  /** What the target is called there; left out: by its own name. */
  readonly name?: string;
  /** The outermost function, or the method of a class, around a call; undefined where it is no call or stands in none. */
  readonly caller: OracleLocation | undefined;
}

export interface OracleLocation {
  readonly path: string;
  readonly line: number;
  readonly name: string;
}

export interface OracleAnswer {
  /** Functions, methods, classes, interfaces, types and enums that the project defines. */
  readonly definitions: readonly OracleLocation[];
  readonly uses: readonly OracleUse[];
  /** `path:line:name` of the names of which the compiler says nothing at all: no answer about them is right or wrong. */
  readonly unknown?: ReadonlySet<string>;
}

export interface Project {
  readonly name: string;
  readonly folder: string;
  /** Relative to the folder. */
  readonly paths: readonly string[];
}
