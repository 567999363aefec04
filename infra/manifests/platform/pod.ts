import type {
  V1PodSecurityContext,
  V1ResourceRequirements,
  V1SecurityContext,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';
import type { Json } from '../../../runtime/contracts/kubernetes.ts';
import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { systemSecrets, type SecretName } from './secrets.ts';

/** The user of every image of the platform (infra/images). */
const platformUser = 10_001;

/** Meets the pod security standard `restricted`; `fsGroup` lets the user read Secrets and write to its volumes. */
export function podSecurity(user: number = platformUser): V1PodSecurityContext {
  return {
    runAsNonRoot: true,
    runAsUser: user,
    runAsGroup: user,
    fsGroup: user,
    // Avoids walking a volume with many files on every start.
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** Meets the pod security standard `restricted`, and makes the root file system read-only. */
export const containerSecurity: Json<V1SecurityContext> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** Requests and a memory limit. There is no CPU limit: it would throttle a process while the machine is idle. */
export function resources(request: { cpu: string; memory: string }, memoryLimit: string): V1ResourceRequirements {
  return { requests: request, limits: { memory: memoryLimit } };
}

/** The periods of a started container's probes, in seconds. */
export interface ProbePace {
  ready: number;
  storeReady: number;
  alive: number;
}

/**
 * With two replicas, frequent probes take a failing one out of service quickly. The profile `nano` has no second
 * replica, and on an idle machine the probes are most of the work. Checkers always have frequent ones.
 */
export function probePace(profile: PlatformConfigSpec['profile'] | undefined): ProbePace {
  return profile === 'nano' ? { ready: 10, storeReady: 20, alive: 20 } : { ready: 2, storeReady: 5, alive: 5 };
}

/** The volumes with these Secrets, readable by the pod's group only. */
export function secretVolumes(secrets: readonly SecretName[]): Json<V1Volume>[] {
  return secrets.map((secret) => ({
    name: systemSecrets[secret].name,
    secret: { secretName: systemSecrets[secret].name, defaultMode: 0o440 },
  }));
}

/** The mounts of {@link secretVolumes}. */
export function secretMounts(secrets: readonly SecretName[]): V1VolumeMount[] {
  return secrets.map((secret) => ({
    name: systemSecrets[secret].name,
    mountPath: systemSecrets[secret].mountPath,
    readOnly: true,
  }));
}
