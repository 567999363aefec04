import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { isPodReady } from '../../runtime/contracts/pod.ts';
import { imageDigest } from '../../runtime/domain/image.ts';
import { isOfRelease, servingPods } from '../../runtime/domain/labels.ts';
import { readLog } from '../../runtime/host/pod-logs.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Rollout } from './store.ts';

/** What is quoted of a log: as much as a stack trace with its error takes. Characters of a line, and of all. */
const lines = 16;
const lineMax = 200;
const quoteMax = 1_200;
/** Of what is read: room for lines that are longer than what is quoted. */
const logMaxBytes = 64 * 1024;
const container = 'app';

type Reader = Pick<KubeClient, 'list' | 'stream'>;

/**
 * What the failing pods of a release said last: a few lines, of the pod that was started most often. Undefined when they
 * said nothing, or never started.
 */
export async function lastLines(kube: Reader, rollout: Rollout): Promise<string | undefined> {
  const restarts = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount ?? 0;
  const failing = (await podsOf(kube, rollout)).filter((pod) => !isPodReady(pod));
  const [worst] = failing.sort((a, b) => restarts(b) - restarts(a));
  if (!worst) return undefined;
  const query = new URLSearchParams({ container, tailLines: String(lines) });
  const log = await readLog(kube, rollout.namespace, worst.metadata.name, query, logMaxBytes);
  const said = (log?.text ?? '').split('\n').map(printable);
  const quoted: string[] = [];
  let room = quoteMax;
  for (const line of said.filter((each) => each !== '').toReversed()) {
    room -= line.length + 1;
    if (room < 0) break;
    quoted.unshift(line);
  }
  return quoted.length === 0 ? undefined : quoted.join('\n');
}

/** The digest of the image that the pods of a release run; undefined when they do not tell, or not all the same. */
export async function runningDigest(kube: Reader, rollout: Rollout): Promise<string | undefined> {
  const known = imageDigest(rollout.image);
  if (known !== undefined) return known;
  const pods = (await podsOf(kube, rollout)).filter(isPodReady);
  const found = pods.map(({ status }) => {
    const id = status?.containerStatuses?.find(({ name }) => name === container)?.imageID;
    return id === undefined ? undefined : imageDigest(id);
  });
  // A tag that was moved while they came up.
  return new Set(found).size === 1 ? found[0] : undefined;
}

async function podsOf(kube: Reader, { namespace, workloadId, revision }: Rollout): Promise<Stored<Pod>[]> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: servingPods(workloadId) });
  return items.filter(({ metadata }) => isOfRelease(metadata, revision));
}

/** Without colours and whatever else a terminal would act on, and no longer than a person reads. */
function printable(line: string): string {
  // eslint-disable-next-line no-control-regex
  const plain = line.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replaceAll(/[\u0000-\u001f\u007f]/g, ' ');
  return plain.trimEnd().slice(0, lineMax);
}
