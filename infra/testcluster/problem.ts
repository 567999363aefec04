/** What went wrong is the machine's or the caller's: the message says what to do, and no stack is of use. */
export class ClusterProblem extends Error {
  override readonly name = 'ClusterProblem';
  /** Exit code of the command line: 1 for a cluster that is not up, 2 for a machine that cannot run one. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
