import { gateChange, type Change, type GateChange } from '../runtime/contracts/api/gate.ts';
import type { ApiClient } from './client.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { negated } from './flags.ts';

/** For commands whose change the gate has to apply. */
export const gateWaitFlag = { wait: negated('do not wait until the gate has applied the change') };

/** Replicas apply a change within a second or two. */
const waitSeconds = 10;

/**
 * Prints on stderr how many replicas of the gate have applied a change of plans or keys, such as `revoked on 2 of 2 replicas
 * after 0.4 s`. The change is already stored, so a replica that lags behind is no failure.
 * @param change from the API's response; absent when nothing changed
 * @param verb what happened, before `on 2 of 2 replicas`
 */
export async function reportGateChange(
  context: Context,
  flags: { wait: boolean },
  api: ApiClient,
  { change, verb }: { change: Change | undefined; verb: string },
): Promise<void> {
  if (!change) {
    context.say('nothing changed');
    return;
  }
  if (!flags.wait) return;
  try {
    const path = `/gate/changes/${change.version}`;
    context.say(changeText(await api.call('GET', path, gateChange, { query: { wait: waitSeconds } }), verb));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    context.say(`the gate applies the change within 90 seconds; its progress is unknown: ${error.message}`);
  }
}

function changeText({ total, applied, replicas }: GateChange, verb: string): string {
  if (total === 0) return `${verb}; no replica of the gate is running, so gated workloads deny every request`;
  const progress = `${verb} on ${applied} of ${total} replica${total === 1 ? '' : 's'}`;
  const pending = replicas.filter((replica) => !replica.applied).map(({ name }) => name);
  if (pending.length > 0) {
    return `${progress}; not yet on ${pending.join(', ')}, which denies all requests after 90 s without updates`;
  }
  const slowestMs = Math.max(...replicas.map(({ afterMs }) => afterMs ?? Infinity));
  return Number.isFinite(slowestMs) ? `${progress} after ${(slowestMs / 1000).toFixed(1)} s` : progress;
}
