import { gateChange, type Change, type GateChange } from '../runtime/contracts/api/gate.ts';
import type { ApiClient } from './client.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { unless } from './flags.ts';

/** Of commands whose change the gate has to learn of. */
export const gateWaitFlag = { wait: unless('do not wait until the gate has applied it') };

/** Replicas apply a change within a second or two; what takes longer is in trouble. */
const waitSeconds = 10;

/**
 * Says on stderr how far a change of plans or keys has come, such as `revoked on 2 of 2 replicas after 0.4 s`. The change
 * is made already, so nothing of this is a failure.
 * @param change of the API's answer; absent when nothing changed
 * @param done what happened, before `on 2 of 2 replicas`
 */
export async function sayProgress(
  context: Context,
  flags: { wait: boolean },
  api: ApiClient,
  change: Change | undefined,
  done: string,
): Promise<void> {
  if (!change) {
    context.say('nothing changed');
    return;
  }
  if (!flags.wait) return;
  try {
    const path = `/gate/changes/${change.version}`;
    context.say(progressLine(await api.call('GET', path, gateChange, { query: { wait: waitSeconds } }), done));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    context.say(`the gate will follow within seconds, 90 at most; how far it is cannot be seen: ${error.message}`);
  }
}

function progressLine({ total, applied, replicas }: GateChange, done: string): string {
  if (total === 0) return `${done}; no replica of the gate is running, so gated apps are closed`;
  const sofar = `${done} on ${applied} of ${total} replica${total === 1 ? '' : 's'}`;
  const missing = replicas.filter((replica) => !replica.applied).map(({ name }) => name);
  if (missing.length > 0) {
    return `${sofar}; not yet on ${missing.join(', ')}, which closes 90 s after it last could learn of changes`;
  }
  const times = replicas.map(({ afterMs }) => afterMs ?? Infinity);
  const last = Math.max(...times);
  return Number.isFinite(last) ? `${sofar} after ${(last / 1000).toFixed(1)} s` : sofar;
}
