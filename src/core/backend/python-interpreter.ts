/** The Python that runs a model, and the environment it runs in. */
export interface PythonInterpreter {
  /** A name on PATH, or a path. */
  readonly python: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}
