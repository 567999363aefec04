import { existsSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { createAttackers, type AttackName, type Counts, type Places, type Victim } from './attackers.ts';

/** What the bench sends to an attacker's process. */
export type AttackOrder = { order: 'begin'; victims: readonly Victim[] } | { order: 'end' };
/** Its answers: one when it is ready, and one to each order. */
export interface AttackReply {
  /** The port of the attacker's own server, if it has one. */
  port?: number | undefined;
  counts: Counts;
  /** Processor time so far, in seconds. */
  seconds: number;
}

// The measured platform goes first. Where Linux gives each session a share of the processors, whatever the priorities of its
// processes, the session has one of its own: https://man7.org/linux/man-pages/man7/sched.7.html
setPriority(19);
if (existsSync('/proc/self/autogroup')) writeFileSync('/proc/self/autogroup', '19');
const { name, ...places } = JSON.parse(process.argv[2] ?? '') as { name: AttackName } & Places;
const counts: Counts = { requests: 0, answers: {} };
const attacker = await createAttackers(places, counts)[name]();

function reply(): void {
  const { user, system } = process.cpuUsage();
  const seconds = (user + system) / 1e6;
  process.send?.({ port: attacker.port, counts, seconds } satisfies AttackReply);
}

process.on('message', (order: AttackOrder) => {
  const work = async () => (order.order === 'begin' ? attacker.begin(order.victims) : attacker.end());
  void work().then(reply);
});
process.once('disconnect', () => {
  attacker.stop?.();
  process.exit();
});
reply();
