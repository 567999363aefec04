import { appLabel, kindLabel } from './labels.ts';

/** The kinds of workloads that have pods, as users write them. */
type PodKind = 'app' | 'function' | 'job' | 'service';

const podKinds: ReadonlyMap<string | undefined, PodKind> = new Map([
  ['App', 'app'],
  ['Function', 'function'],
  ['Job', 'job'],
  ['Service', 'service'],
]);

/** The workload that an object's labels name, which only the platform sets; undefined for any other object. Pure. */
export function workloadOfLabels(
  labels: Readonly<Record<string, string>> = {},
): { kind: PodKind; name: string } | undefined {
  const kind = podKinds.get(labels[kindLabel]);
  const name = labels[appLabel];
  return kind === undefined || name === undefined ? undefined : { kind, name };
}
