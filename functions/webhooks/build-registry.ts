import type { BuildRegistry } from '../../runtime/domain/built-image.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';

/** How long a read is used: webhooks arrive in hundreds per second, and the registry almost never changes. In ms. */
const freshMs = 5_000;

/**
 * Returns a function that reads where builds push images, at most every few seconds. While the API server does not
 * answer, the last answer is used; without any, webhooks are accepted unchecked, because the rollout checks every image again.
 */
export function createBuildsReader({
  kube,
  clock,
}: {
  kube: Pick<KubeClient, 'get'>;
  clock: Clock;
}): () => Promise<BuildRegistry | undefined> {
  let last: BuildRegistry | undefined;
  let reading: Promise<BuildRegistry | undefined> | undefined;
  let readAt = -Infinity;
  const read = async () => {
    try {
      last = (await readSettingsIfAny(kube))?.builds;
    } catch {
      // The next request reads again.
      readAt = -Infinity;
    }
    return last;
  };
  return () => {
    const now = clock.monotonic();
    if (!reading || now - readAt >= freshMs) {
      readAt = now;
      reading = read();
    }
    return reading;
  };
}
