/** A problem of the machine or of the call. The message says what to do; a stack trace would not help. */
export class ClusterProblem extends Error {
  override readonly name = 'ClusterProblem';
  /** Exit code of the command line: 1 for a cluster that is not up, 2 for a machine that cannot run one. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
