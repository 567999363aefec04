import { z } from 'zod';
import {
  componentNames,
  memoryCeilings,
  minComponentMemory,
  profileMemory,
  storeOf,
  type ComponentName,
  type StoreName,
} from '../../domain/monitoring.ts';
import type { PlatformProfile } from '../../domain/platform-profile.ts';
import { formatBytes, parseBytes } from '../../domain/quantity.ts';

const perComponent = <Schema extends z.ZodType>(schema: Schema) =>
  z.object(Object.fromEntries(componentNames.map((name) => [name, schema])) as Record<ComponentName, Schema>).partial();

/** What an admin sets for one component; absent fields follow the profile. */
const componentSettings = z
  .object({
    /** Whether it runs. Default: as its store; stores run on every profile except `nano`. */
    enabled: z.boolean(),
    /** Its memory limit, which the platform then no longer raises. */
    memory: z.string().max(20),
    /** Whether its data is deleted while it is disabled. */
    deleteData: z.boolean(),
  })
  .partial();

export const monitoringSettings = z.object({
  /** `cluster`: the components are pods. `embedded`: the stores are parts of the process of `svc up`. */
  mode: z.enum(['cluster', 'embedded']),
  components: perComponent(componentSettings).exactOptional(),
  /** Images that replace the default ones. */
  images: perComponent(z.string().min(1).max(512)).exactOptional(),
  /** The address of the ingress's metrics inside the cluster, such as `traefik.kube-system.svc:9100`. */
  ingressMetrics: z
    .string()
    .max(300)
    .regex(/^[A-Za-z0-9.-]+:[0-9]{1,5}$/)
    .exactOptional(),
});

export type MonitoringSettings = z.infer<typeof monitoringSettings>;

/** A raise of a memory limit by the platform. */
export interface MemoryRaise {
  raisedAt: string;
  from: string;
  to: string;
  /** Why, such as the time at which the container was killed. */
  reason: string;
}

/** Why a store that was killed for memory kept its limit. */
export const notRaisedReasons = ['AtCeiling', 'ManualLimit', 'TooSoon'] as const;

export const componentPhases = ['on', 'starting', 'unhealthy', 'stopping', 'disabled'] as const;

/** `unhealthy`: it is enabled, and not ready for a reason that more waiting does not remove. */
type ComponentPhase = (typeof componentPhases)[number];

/** The state of one component, as the controllers report it. */
export interface ComponentStatus {
  name: ComponentName;
  enabled: boolean;
  /** Whether all its pods are ready; false while it is disabled. */
  ready: boolean;
  phase: ComponentPhase;
  /** Its memory limit; absent where it has none of its own. */
  memory?: string;
  /** The last automatic raise of its memory limit. */
  raised?: MemoryRaise;
  /** When a container of it was last killed for memory, as far as this was handled. */
  killedAt?: string;
  /** Why the last kill raised nothing. */
  notRaised?: (typeof notRaisedReasons)[number];
  /** Why it is not ready, or what is left of it. */
  message?: string;
}

/** The settings that decide about monitoring. */
interface Installation {
  monitoring?: MonitoringSettings;
  profile?: PlatformProfile;
}

/** Whether a component runs: by its own setting, by that of its store, or by the profile. */
export function isEnabled(name: ComponentName, { monitoring, profile }: Installation): boolean {
  if (!monitoring) return false;
  const { components = {}, mode } = monitoring;
  const byProfile = mode === 'embedded' || profile !== 'nano';
  return components[name]?.enabled ?? components[storeOf[name]]?.enabled ?? byProfile;
}

/** The components that this installation can run. In the embedded cluster, only the stores exist. */
export function possibleComponents({ mode }: MonitoringSettings): readonly ComponentName[] {
  return mode === 'embedded' ? (Object.keys(memoryCeilings) as StoreName[]) : componentNames;
}

/** The limit that an admin set, or else the higher one of the profile's and the last automatic raise. */
export function memoryOf(
  name: ComponentName,
  { monitoring, profile }: Installation,
  raised: MemoryRaise | undefined,
): { limit: string; manual: boolean } {
  const manual = monitoring?.components?.[name]?.memory;
  if (manual !== undefined) return { limit: manual, manual: true };
  const byProfile = profileMemory(name, profile);
  const isHigher = raised && (parseBytes(raised.to) ?? 0) > (parseBytes(byProfile) ?? 0);
  return { limit: isHigher ? raised.to : byProfile, manual: false };
}

/** Half of a memory limit, which a component requests. */
export function halfOf(memory: string): string {
  return formatBytes(Math.ceil((parseBytes(memory) ?? 0) / 2));
}

/** The invalid settings, each with its path in `monitoring`. */
export function monitoringFaults(settings: MonitoringSettings | undefined): { path: string; message: string }[] {
  if (!settings) return [];
  return Object.entries(settings.components ?? {}).flatMap(([name, { memory, enabled } = {}]) => {
    const path = `components.${name}`;
    const isPossible = possibleComponents(settings).some((possible) => possible === name);
    if (enabled === true && !isPossible)
      return [{ path: `${path}.enabled`, message: `${name} does not exist in the embedded cluster` }];
    if (memory === undefined) return [];
    if (settings.mode === 'embedded')
      return [{ path: `${path}.memory`, message: 'components of the embedded cluster have no memory limit' }];
    const bytes = parseBytes(memory);
    if (bytes !== undefined && bytes >= (parseBytes(minComponentMemory) ?? 0)) return [];
    const message = `"${memory}" is not a valid memory limit; use at least ${minComponentMemory}, such as 1Gi`;
    return [{ path: `${path}.memory`, message }];
  });
}
