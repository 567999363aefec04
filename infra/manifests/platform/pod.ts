import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { systemSecrets, type SecretName } from './secrets.ts';

/** The user of every image of the platform (infra/images). */
export const platformUser = 10_001;

/** What pod security `restricted` wants of a pod; `fsGroup` lets the user read Secrets and write its volumes. */
export function podSecurity(user: number = platformUser): object {
  return {
    runAsNonRoot: true,
    runAsUser: user,
    runAsGroup: user,
    fsGroup: user,
    // A volume with many files is not walked at every start.
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** What pod security `restricted` wants of a container, and a root file system that nobody can write. */
export const containerSecurity: object = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** Requests and a memory limit. There is no CPU limit: it would throttle what the machine has to spare. */
export function resources(request: { cpu: string; memory: string }, memoryLimit: string): object {
  return { requests: request, limits: { memory: memoryLimit } };
}

/** How often the kubelet asks a container that has started, in seconds. */
export interface ProbePace {
  ready: number;
  storeReady: number;
  alive: number;
}

/**
 * With two replicas, the one that cannot serve is to be left out at once. In the profile `nano` there is no other one to
 * send requests to, and on a machine at rest the probes are most of the work.
 */
export function probePace(profile: PlatformConfigSpec['profile'] | undefined): ProbePace {
  return profile === 'nano' ? { ready: 10, storeReady: 20, alive: 20 } : { ready: 2, storeReady: 5, alive: 5 };
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  readOnly?: boolean;
}

/** The volumes that hold these Secrets, readable by the pod's group only. */
export function secretVolumes(secrets: readonly SecretName[]): object[] {
  return secrets.map((secret) => ({
    name: systemSecrets[secret].name,
    secret: { secretName: systemSecrets[secret].name, defaultMode: 0o440 },
  }));
}

/** Where the Secrets of {@link secretVolumes} appear. */
export function secretMounts(secrets: readonly SecretName[]): VolumeMount[] {
  return secrets.map((secret) => ({
    name: systemSecrets[secret].name,
    mountPath: systemSecrets[secret].mountPath,
    readOnly: true,
  }));
}
