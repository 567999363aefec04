import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { isPodReady } from '../../runtime/contracts/pod.ts';
import { imageDigest } from '../../runtime/domain/image.ts';
import { idLabel, isOfRelease } from '../../runtime/domain/labels.ts';
import { crashLogMaxBytes, type CrashLog } from '../../runtime/records/crash-logs.ts';
import { readLog } from '../../runtime/workloads/pod-logs.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Rollout } from './store.ts';

/** How much of a log a failure quotes: the size of a stack trace with its error. In lines, characters of a line, and characters. */
const linesMax = 16;
const lineMax = 200;
const quoteMax = 1_200;
/** How many lines of a log are kept, at most {@link crashLogMaxBytes} in all. */
const linesRead = 1_000;
const container = 'app';

type Reader = Pick<KubeClient, 'list' | 'stream'>;

/**
 * The end of the log of a release's failing pod, the one with the most restarts. Undefined without output, or without a
 * pod that started.
 */
export async function crashLog(kube: Reader, rollout: Rollout): Promise<CrashLog | undefined> {
  const restarts = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount ?? 0;
  const failing = (await podsOf(kube, rollout)).filter((pod) => !isPodReady(pod) && pod.status?.phase !== 'Succeeded');
  const [worst] = failing.sort((a, b) => restarts(b) - restarts(a));
  if (!worst) return undefined;
  const { name } = worst.metadata;
  const query = new URLSearchParams({ container, tailLines: String(linesRead) });
  const log = await readLog(kube, rollout.namespace, name, query, crashLogMaxBytes);
  return log && log.text !== '' ? { pod: name, ...log } : undefined;
}

/** The last lines of a log, for the reason of a failure; undefined without any. Pure. */
export function lastLines(log: string): string | undefined {
  const output = log
    .split('\n')
    .slice(-linesMax - 1)
    .map(printable);
  const quoted: string[] = [];
  let bytesLeft = quoteMax;
  for (const line of output.filter((text) => text !== '').toReversed()) {
    bytesLeft -= line.length + 1;
    if (bytesLeft < 0) break;
    quoted.unshift(line);
  }
  return quoted.length === 0 ? undefined : quoted.join('\n');
}

/** The digest of the image that the pods of a release run; undefined where it is unknown or differs between pods. */
export async function runningDigest(kube: Reader, rollout: Rollout): Promise<string | undefined> {
  const pinned = imageDigest(rollout.image);
  if (pinned !== undefined) return pinned;
  const pods = (await podsOf(kube, rollout)).filter(isPodReady);
  const digests = pods.map(({ status }) => {
    const id = status?.containerStatuses?.find(({ name }) => name === container)?.imageID;
    return id === undefined ? undefined : imageDigest(id);
  });
  // They differ when the tag was moved during the rollout.
  return new Set(digests).size === 1 ? digests[0] : undefined;
}

/** The serving pods of a release, and that of its command. */
async function podsOf(kube: Reader, { namespace, workloadId, revision }: Rollout): Promise<Stored<Pod>[]> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${idLabel}=${workloadId}` });
  return items.filter(({ metadata }) => isOfRelease(metadata, revision));
}

/** Removes colours and control characters, and shortens long lines. */
function printable(line: string): string {
  // eslint-disable-next-line no-control-regex
  const printable = line.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replaceAll(/[\u0000-\u001f\u007f]/g, ' ');
  return printable.trimEnd().slice(0, lineMax);
}
