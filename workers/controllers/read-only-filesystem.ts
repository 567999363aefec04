import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { appLabel, kindLabel } from '../../runtime/domain/labels.ts';

/** A crash counts for this long: a container that then keeps running has a file system that works. */
const recentMs = 30 * 60_000;
/**
 * Maximum workloads reported in one namespace. Users write their programs' logs, and must not be able to create as many
 * alerts as they like.
 */
const workloadsMax = 3;
const lineMax = 200;
const volumesMax = 5;

const readOnly = /read-only file ?system|\bEROFS\b/i;
/** Control characters, and characters that change the direction or the look of the text around them. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** A workload that has crashed because a file system was read-only. */
export interface ReadOnlyCrash {
  namespace: string;
  kind: string;
  name: string;
  /** The line of the container's last log that says it, without control characters, up to 200 characters. */
  line: string;
  /** The names of the writable persistent volumes that the container mounts, sorted. */
  volumes: string[];
}

/**
 * The workloads with a container whose last log before its death says that its file system is read-only, up to three in
 * each namespace. Only containers that mount a writable persistent volume are considered. The kubelet keeps the end of the
 * log in the status of a container with `terminationMessagePolicy: FallbackToLogsOnError`. Pure.
 */
export function readOnlyCrashes(pods: readonly Stored<Pod>[], now: Date): ReadOnlyCrash[] {
  const workloads = new Map<string, ReadOnlyCrash>();
  for (const pod of pods) {
    const crash = crashOf(pod, now.getTime() - recentMs);
    if (crash) workloads.set(`${crash.namespace}/${crash.kind}/${crash.name}`, crash);
  }
  const counts = new Map<string, number>();
  // By name, so that the same workloads are reported each time.
  const sorted = [...workloads].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, crash]) => crash);
  return sorted.filter(({ namespace }) => {
    const count = (counts.get(namespace) ?? 0) + 1;
    counts.set(namespace, count);
    return count <= workloadsMax;
  });
}

function crashOf({ metadata, spec, status }: Stored<Pod>, since: number): ReadOnlyCrash | undefined {
  const { namespace, labels = {} } = metadata;
  const kind = labels[kindLabel];
  const name = labels[appLabel];
  if (namespace === undefined || kind === undefined || name === undefined) return undefined;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const claims = new Map(
    (spec.volumes ?? []).flatMap(({ name: volume, persistentVolumeClaim: claim }) =>
      claim && claim.readOnly !== true ? [[volume, claim.claimName] as const] : [],
    ),
  );
  for (const { name: container, state, lastState } of [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
  ]) {
    const mounts = containers.find((candidate) => candidate.name === container)?.volumeMounts ?? [];
    const writable = mounts.filter(({ readOnly: isReadOnly }) => isReadOnly !== true);
    const volumes = [...new Set(writable.flatMap((mount) => claims.get(mount.name) ?? []))].sort();
    if (volumes.length === 0) continue;
    for (const { exitCode, message = '', finishedAt } of [state?.terminated, lastState?.terminated].filter(
      (ended) => ended !== undefined,
    )) {
      if (exitCode === 0 || finishedAt === undefined || !(Date.parse(finishedAt) >= since)) continue;
      const line = message.split('\n').findLast((candidate) => readOnly.test(candidate));
      if (line === undefined) continue;
      return { namespace, kind, name, line: quotable(line), volumes: volumes.slice(0, volumesMax) };
    }
  }
  return undefined;
}

/** A line of a foreign program as an alert may quote it: around the words, because they may be far behind. */
function quotable(line: string): string {
  const text = line.replace(invisible, ' ').trim();
  const at = Math.max(0, text.search(readOnly));
  const from = at + 40 > lineMax ? at - (lineMax - 60) : 0;
  // Well-formed, because a cut may divide a surrogate pair.
  return text.slice(from, from + lineMax).toWellFormed();
}
