import type { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { toggle, type FlagValues } from '../flags.ts';
import type { Scope } from '../scope.ts';
import { waitFlags } from '../wait.ts';

/** For commands that change the variables, secrets or bindings of a workload. */
export const restartFlags = { restart: toggle('restart to apply the change now'), ...waitFlags };

/** The words for one kind of workload in command lines and help texts. */
export interface WorkloadWords {
  kind: 'app' | 'function';
  article: 'an app' | 'a function';
  /** A name for the examples. */
  example: string;
}

/** A kind of workload whose pods must be restarted to get changed variables and secrets. */
export interface Restartable extends WorkloadWords {
  /** After a change of variables or secrets: restarts the workload with `--restart`, otherwise prints how to apply it. */
  applyChange: (
    context: Context,
    flags: FlagValues<typeof restartFlags> & Pick<FlagValues<typeof scopeFlags>, 'output'>,
    scope: Scope,
    workload: string,
  ) => Promise<void>;
}
