import type { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { toggle, type FlagValues } from '../flags.ts';
import type { Place } from '../place.ts';
import { waitFlags } from '../wait.ts';

/** Of the commands that change what a workload finds in its environment. */
export const restartFlags = { restart: toggle('apply it at once, by a restart'), ...waitFlags };

/** What the commands for variables and secrets have to know of the workloads that they are for. */
export interface Restartable {
  what: 'app' | 'function';
  article: 'an app' | 'a function';
  /** Such a workload's name, for examples. */
  example: string;
  /** After a change of variables or secrets: restarts it with `--restart`, and else says what waits for one. */
  applyChange: (
    context: Context,
    flags: FlagValues<typeof restartFlags> & Pick<FlagValues<typeof scopeFlags>, 'output'>,
    place: Place,
    workload: string,
  ) => Promise<void>;
}
