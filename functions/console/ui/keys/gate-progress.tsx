import { useQuery } from '@tanstack/react-query';
import type { Change, GateChange } from '../../../../runtime/contracts/api/gate.ts';
import { ErrorNote, Note } from '../parts/note.tsx';
import { keyText } from '../text/keys.ts';
import { gateChangeQuery } from './queries.ts';

const words = keyText.gate;

export interface GateOutcome {
  /** Absent when nothing has changed. */
  change?: Change | undefined;
  verb: keyof typeof words.verbs;
}

/** Says how many replicas of the gate have applied a change of plans or keys, and how fast. */
export function GateProgress({ change, verb }: GateOutcome) {
  if (!change) return <Note look="good">{words.unchanged}</Note>;
  return <VersionProgress version={change.version} verb={words.verbs[verb]} />;
}

function VersionProgress({ version, verb }: { version: number; verb: string }) {
  const { data, error } = useQuery(gateChangeQuery(version));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <Note look="good">{words.waiting}</Note>;
  return <Note look={data.total === 0 || data.applied < data.total ? 'warn' : 'good'}>{progressOf(data, verb)}</Note>;
}

/** `disabled on 2 of 2 replicas after 0.4 s`, as `svc` says it. */
function progressOf({ total, applied, replicas }: GateChange, verb: string): string {
  if (total === 0) return words.none(verb);
  const progress = words.progress(verb, applied, total);
  const pending = replicas.filter((replica) => !replica.applied).map(({ name }) => name);
  if (pending.length > 0) return `${progress}; ${words.pending(pending.join(', '))}`;
  const slowestMs = Math.max(...replicas.map(({ afterMs }) => afterMs ?? Infinity));
  return Number.isFinite(slowestMs) ? `${progress} ${words.after((slowestMs / 1000).toFixed(1))}` : progress;
}
