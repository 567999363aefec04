import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AttackOrder, AttackReply } from './attacker-process.ts';
import type { AttackName, Counts, Places, Victim } from './attackers.ts';

/** An attacker in a process of its own. */
export interface RunningAttacker {
  name: AttackName;
  /** The port of its own server, if it has one. */
  port: number | undefined;
  begin(victims: readonly Victim[]): Promise<void>;
  end(): Promise<void>;
  /** Since it started. */
  counts(): Counts;
  /** Processor time since it started, in seconds. */
  seconds(): number;
  stop(): void;
}

/** Starts the process, at the lowest priority and in a session of its own. @throws Error when it ends */
export async function startAttacker(name: AttackName, places: Places): Promise<RunningAttacker> {
  const child = fork(join(import.meta.dirname, 'attacker-process.ts'), [JSON.stringify({ name, ...places })], {
    detached: true,
  });
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the attacker ${name} ended with ${String(code)}`);
  });
  // Its end is expected after `stop`.
  exited.catch(() => undefined);
  const answer = async (): Promise<AttackReply> => {
    const [reply] = (await Promise.race([once(child, 'message'), exited])) as [AttackReply];
    return reply;
  };
  let last = await answer();
  const ask = async (order: AttackOrder) => {
    child.send(order);
    last = await answer();
  };
  return {
    name,
    port: last.port,
    begin: (victims) => ask({ order: 'begin', victims }),
    end: () => ask({ order: 'end' }),
    counts: () => last.counts,
    seconds: () => last.seconds,
    stop: () => child.disconnect(),
  };
}
