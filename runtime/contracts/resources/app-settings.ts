import { z } from 'zod';
import { appSpec, type AppSpec } from './app.ts';
import { boundServices } from './binding.ts';

/**
 * The settings of an app that are stored with each revision and restored by `rollback --with-config`: those that decide
 * whether that revision runs. Number of pods, hosts, gate and security settings do not belong to a revision. Secrets are not
 * included: `env` only refers to them.
 */
const revisionSettings = z.object({
  port: appSpec.shape.port,
  healthPath: appSpec.shape.healthPath,
  cpu: appSpec.shape.cpu,
  memory: appSpec.shape.memory,
  volumes: appSpec.shape.volumes,
  env: appSpec.shape.env,
});

export type RevisionSettings = z.infer<typeof revisionSettings>;

/** The current settings, to store with a revision. Pure. */
export function settingsOf({ port, healthPath, cpu, memory, volumes, env }: AppSpec): RevisionSettings {
  return {
    port,
    ...(healthPath !== undefined && { healthPath }),
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
    ...(volumes !== undefined && { volumes }),
    ...(env !== undefined && { env }),
  };
}

/** The spec with its revision settings replaced by the stored ones; settings absent there are removed. Pure. */
export function withSettings(spec: AppSpec, settings: RevisionSettings): AppSpec {
  const { port: _port, healthPath: _path, cpu: _cpu, memory: _memory, volumes: _volumes, env: _env, ...rest } = spec;
  return { ...rest, ...settings };
}

/**
 * Settings that are stored with each revision for the differences between revisions. A rollback does not restore them.
 */
export interface OtherSettings {
  replicas: number;
  releaseCommand?: string[];
  autoRollback: boolean;
  bindings: { service: string; prefix?: string; database?: string }[];
}

/** The current values of {@link OtherSettings}, to store with a revision. Pure. */
export function otherSettingsOf(spec: AppSpec): OtherSettings {
  const { replicas, releaseCommand, autoRollback = true } = spec;
  return {
    replicas,
    ...(releaseCommand !== undefined && { releaseCommand }),
    autoRollback,
    bindings: boundServices({ bindings: spec.bindings }).map(({ service, prefix, database }) => ({
      service,
      ...(prefix !== undefined && { prefix }),
      ...(database !== undefined && { database }),
    })),
  };
}
