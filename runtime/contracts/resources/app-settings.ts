import { z } from 'zod';
import { appSpec, type AppSpec } from './app.ts';

/**
 * What is kept of an app's settings with each of its revisions, and comes back with `rollback --with-config`: what decides
 * whether that revision runs. The number of pods, hosts, gate and security settings are not about a revision. Secrets are
 * not in it: `env` only refers to them.
 */
export const revisionSettings = z.object({
  port: appSpec.shape.port,
  healthPath: appSpec.shape.healthPath,
  cpu: appSpec.shape.cpu,
  memory: appSpec.shape.memory,
  volumes: appSpec.shape.volumes,
  env: appSpec.shape.env,
});

export type RevisionSettings = z.infer<typeof revisionSettings>;

/** The settings of now, for keeping. Pure. */
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

/** A spec with the settings that were kept in place of its own; what they do not name goes. Pure. */
export function withSettings(spec: AppSpec, settings: RevisionSettings): AppSpec {
  const { port: _port, healthPath: _path, cpu: _cpu, memory: _memory, volumes: _volumes, env: _env, ...rest } = spec;
  return { ...rest, ...settings };
}
