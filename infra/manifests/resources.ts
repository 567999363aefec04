import type { V1ResourceRequirements } from '@kubernetes/client-node';
import { canonicalBytes, canonicalCpu, parseBytes, parseMillicores } from '../../runtime/domain/quantity.ts';

/** The limits of a container, as Kubernetes quantities. */
export interface ContainerLimits {
  cpu?: string | undefined;
  memory?: string | undefined;
}

/**
 * The resources of a container that serves requests: it requests half of each limit, or the values of `unlimited` where
 * there is no limit. Quantities are in the API server's canonical form. Pure.
 */
export function servingResources(
  { cpu, memory }: ContainerLimits,
  unlimited: { cpu: string; memory: string },
): V1ResourceRequirements & { requests: Record<string, string> } {
  const requests = {
    cpu: cpu === undefined ? unlimited.cpu : canonicalCpu(`${Math.ceil((parseMillicores(cpu) ?? 0) / 2)}m`),
    memory: memory === undefined ? unlimited.memory : canonicalBytes(String(Math.ceil((parseBytes(memory) ?? 0) / 2))),
  };
  const limits = {
    ...(cpu !== undefined && { cpu: canonicalCpu(cpu) }),
    ...(memory !== undefined && { memory: canonicalBytes(memory) }),
  };
  return { requests, ...(Object.keys(limits).length > 0 && { limits }) };
}
