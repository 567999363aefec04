import type { FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { functionHost, ownFunctionHost } from '../../runtime/domain/names.ts';
import { otherHolder } from '../../runtime/kube/claims.ts';
import { isServedElsewhere } from '../../runtime/kube/foreign-routes.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** A function that gets a host; without an id it does not exist yet. */
interface Owner {
  name: string;
  namespace: string;
  workloadId?: Id;
}

/**
 * The host of an HTTP function, and its spec. Without a chosen host it gets the short default host, or, where another
 * workload has that, the one that only it can have; the spec then names it (decision 0042).
 * @throws Problem `invalid_value` for a name from which no host can be made
 */
export async function withHost(
  { kube, config }: { kube: Pick<KubeClient, 'get' | 'list' | 'cache'>; config: PlatformConfigSpec },
  { name, namespace, workloadId }: Owner,
  spec: FunctionSpec,
): Promise<{ spec: FunctionSpec; host: string }> {
  if (spec.hostname !== undefined) return { spec, host: spec.hostname };
  const host = functionHost(name, config.cluster, config.appsDomain);
  const isTaken = (await otherHolder(kube, workloadId, host)) !== undefined || (await isServedElsewhere(kube, host));
  if (!isTaken) return { spec, host };
  const own = ownFunctionHost({ name, namespace }, config.cluster, config.appsDomain);
  return { spec: { ...spec, hostname: own }, host: own };
}
