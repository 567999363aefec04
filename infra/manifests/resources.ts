import { canonicalBytes, canonicalCpu, parseBytes, parseMillicores } from '../../runtime/domain/quantity.ts';

/** What a container may use, as Kubernetes quantities. */
export interface ContainerLimits {
  cpu?: string | undefined;
  memory?: string | undefined;
}

/**
 * The resources of a container that serves: half of a limit is set aside for it, and the given requests where there is no
 * limit. Quantities are as the API server gives them back. Pure.
 */
export function servingResources(
  { cpu, memory }: ContainerLimits,
  unlimited: { cpu: string; memory: string },
): { requests: object; limits?: object } {
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
