import type { ProjectFileKind } from '../../runtime/contracts/project-file.ts';
import { canonicalBytes, canonicalCpu } from '../../runtime/domain/quantity.ts';
import { defaultTimeZone } from '../../runtime/domain/schedule.ts';
import type { SettingRules } from './compare.ts';

const memory = { canonical: canonicalBytes };
const cpu = { canonical: canonicalCpu };

const pods = {
  env: { form: 'map' },
  volumes: { form: 'set', default: [] },
  memory,
  cpu,
} as const satisfies SettingRules;

const routed = {
  security: { default: { headers: true, csp: null } },
  gate: { default: false },
} as const satisfies SettingRules;

const bound = { bindings: { form: 'map' } } as const satisfies SettingRules;

const scheduled = {
  schedule: {},
  timeZone: { default: defaultTimeZone },
  overlap: { default: 'Forbid' },
} as const satisfies SettingRules;

/** The settings of each kind, with the API's names and defaults. */
export const rulesByKind: Readonly<Record<ProjectFileKind, SettingRules>> = {
  services: {
    type: { fixed: true },
    size: { fixed: true, ...memory },
    storageClass: { fixed: true },
    external: { fixed: true, form: 'fields' },
  },
  volumes: {
    size: { kept: true, ...memory },
    storageClass: { fixed: true },
    accessMode: { fixed: true, default: 'ReadWriteOnce' },
  },
  plans: { requestsPerSecond: { kept: true }, burst: { kept: true }, quota: {} },
  apps: {
    image: { kept: true },
    git: { form: 'fields' },
    port: { default: 8080 },
    replicas: { default: 1 },
    healthPath: {},
    releaseCommand: {},
    autoRollback: { default: true },
    hostname: { fixed: true },
    extraHosts: { form: 'set', default: [] },
    ...pods,
    ...routed,
    ...bound,
  },
  functions: {
    runtime: { kept: true },
    code: { kept: true },
    image: { kept: true },
    dependencies: { form: 'set', default: [] },
    trigger: { kept: true },
    events: { form: 'fields' },
    port: { default: 8080 },
    hostname: {},
    idleTimeoutSeconds: { default: 300 },
    concurrency: { default: 100 },
    targetRate: { default: 200 },
    requestTimeoutSeconds: { default: 300 },
    minReplicas: { default: 0 },
    maxReplicas: { default: 10 },
    ...scheduled,
    schedule: { kept: true },
    ...pods,
    ...routed,
    ...bound,
  },
  jobs: {
    image: { kept: true },
    command: {},
    ...scheduled,
    suspended: { default: false },
    retries: { default: 0 },
    timeoutSeconds: {},
    historyLimit: { default: 5 },
    ...pods,
    ...bound,
  },
};

/** The limits of an environment; one that leaves the file gets the installation's default. */
export const limitRules: SettingRules = { cpu, memory, storage: memory, pods: {}, containerMemory: memory };
