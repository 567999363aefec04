import type { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { toggle, type FlagValues } from '../flags.ts';
import type { Scope } from '../scope.ts';
import { waitFlags } from '../wait.ts';

const restartFlags = { restart: toggle('restart to apply the change now'), ...waitFlags };

/** The words for one kind of workload in command lines and help texts. */
export interface WorkloadWords {
  kind: 'app' | 'function' | 'job';
  article: 'an app' | 'a function' | 'a job';
  /** A name for the examples. */
  example: string;
}

/** A kind of workload with variables, secrets and bindings. */
export interface Restartable extends WorkloadWords {
  /** Whether it has pods that must be restarted to get a change. The runs of a job are new pods anyway. */
  restarts: boolean;
  /** After a change of variables or secrets: restarts the workload with `--restart`, otherwise prints how to apply it. */
  applyChange: (
    context: Context,
    flags: FlagValues<typeof restartFlags> & Pick<FlagValues<typeof scopeFlags>, 'output'>,
    scope: Scope,
    workload: string,
  ) => Promise<void>;
}

/** For commands that change the variables, secrets or bindings of a workload. Flags that it does not have read as off. */
export function changeFlags({ restarts }: Pick<Restartable, 'restarts'>): typeof restartFlags {
  return restarts ? restartFlags : ({} as typeof restartFlags);
}
