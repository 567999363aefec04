import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { fields } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { readFunction } from './function-wait.ts';
import type { Restartable } from './workload-restart.ts';

/** Has the pods of a function start anew, and waits until all of them have, unless told not to. @throws Failure */
async function restart(
  context: Context,
  flags: WaitFlags & Pick<FlagValues<typeof scopeFlags>, 'output'>,
  place: Place,
  name: string,
): Promise<void> {
  const path = place.path('functions', name);
  const accepted = await place.api.call('POST', `${path}/restart`, functionView, { query: place.query });
  const found = flags.wait ? await untilRestarted(context, flags, place, name) : accepted;
  context.print(
    {
      data: found,
      table: fields([
        ['Function', found.name],
        ['Status', found.status],
        ['Pods', `${found.readyReplicas} of ${found.replicas} ready`],
      ]),
      names: [found.name],
    },
    flags.output,
  );
}

function untilRestarted(context: Context, flags: WaitFlags, place: Place, name: string): Promise<FunctionView> {
  return waitFor(
    context,
    flags,
    async () => {
      const found = await readFunction(place, name);
      if (!found.pendingRestart) return { done: found };
      if (found.status === 'failed' && found.updating !== true) {
        const { message = 'see its status' } = found;
        throw new Failure(`Function "${name}" failed: ${message}`, { code: 'failed' });
      }
      return { progress: `${name}: pods start anew (${found.readyReplicas} of ${found.replicas} ready)` };
    },
    `it goes on: svc function show ${name} ${place.flags}`,
  );
}

/** Of the commands that change what a function finds in its environment. */
export const restartableFunction: Restartable = {
  what: 'function',
  article: 'a function',
  example: 'hello',
  async applyChange(context, flags, place, name) {
    if (flags.restart) return restart(context, flags, place, name);
    const at = `svc function restart ${name} ${place.flags}`;
    context.say(`the next cold start or run has it; in pods that run, at once: ${at}`);
  },
};

export const restartCommand = command({
  name: 'restart',
  args: ['function'],
  description: 'Have the pods of a function start anew, with its variables, secrets and limits of now.',
  flags: { ...waitFlags, ...scopeFlags },
  examples: ['svc function restart hello', 'svc function restart hello --no-wait'],
  async run({ context, args, flags }) {
    await restart(context, flags, placeOf(context, flags), args.function);
  },
});
