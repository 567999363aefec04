import { z } from 'zod';
import { checkEnvironmentName, checkWorkloadName } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import { appCreate } from './api/apps.ts';
import { configurationName } from './api/applied-configurations.ts';
import { newBinding } from './api/bindings.ts';
import { functionCreate } from './api/functions.ts';
import { gitSourceSet } from './api/git.ts';
import { jobCreate } from './api/jobs.ts';
import { displayName, planCreate } from './api/plans.ts';
import { serviceCreate } from './api/services.ts';
import { mount, volumeCreate } from './api/volumes.ts';
import { environmentLimits } from './resources/project.ts';

/** The project file, `svc.yaml` (docs/reference/project-file.md). */

/** A string that a check of the domain accepts. */
function checked(check: (text: string) => unknown): z.ZodType<string, string> {
  return z.string().superRefine((text, context) => {
    try {
      check(text);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      context.addIssue(error.message);
    }
  });
}

/** In YAML, numbers and booleans need no quotes. */
const variables = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]).transform((value) => String(value)),
);

/** A mount, also as `name:/path`. */
const volumes = z.array(
  z.union([
    mount,
    z
      .string()
      .regex(/^[^:]+:\/.*$/, 'must have the form name:/path')
      .transform((text) => {
        const colon = text.indexOf(':');
        return { name: text.slice(0, colon), path: text.slice(colon + 1) };
      }),
  ]),
);

const workload = {
  env: variables,
  volumes,
  /** Names of secrets; the file never holds their values. */
  secrets: z.array(z.string()),
  /** Services to bind to, each as its name, or with a prefix or database. */
  bindings: z.array(z.union([newBinding, z.string().transform((service) => ({ service }))])),
};

const app = z
  .strictObject({
    ...appCreate.omit({ name: true, upload: true }).shape,
    port: appCreate.shape.port.unwrap(),
    replicas: appCreate.shape.replicas.unwrap(),
    /** The folder from which `svc deploy` builds the image. */
    build: z.string(),
    /** Its Dockerfile, relative to that folder. */
    dockerfile: z.string(),
    git: gitSourceSet.omit({ credentials: true, knownHosts: true }),
    gate: z.boolean(),
    ...workload,
  })
  .partial();

const fn = z
  .strictObject({
    ...functionCreate.omit({ name: true, code: true }).shape,
    /** The path of the source file, relative to the project file. */
    codeFile: z.string(),
    gate: z.boolean(),
    ...workload,
  })
  .partial();

const job = z.strictObject({ ...jobCreate.omit({ name: true }).shape, ...workload }).partial();

const service = serviceCreate.omit({ name: true, credentials: true });
const volume = volumeCreate.omit({ name: true });
const plan = planCreate.omit({ name: true });
const name = checked((text) => checkWorkloadName(text));

/** The objects of one environment: kind → name → settings. */
export const projectFileObjects = z
  .strictObject({
    services: z.record(name, service),
    volumes: z.record(name, volume),
    plans: z.record(displayName, plan),
    apps: z.record(name, app),
    functions: z.record(name, fn),
    jobs: z.record(name, job),
  })
  .partial();

export type ProjectFileObjects = z.output<typeof projectFileObjects>;

/** The sections with objects, in the order in which they are applied: what others refer to comes first. */
export const projectFileKinds = ['services', 'volumes', 'plans', 'functions', 'jobs', 'apps'] as const;

export type ProjectFileKind = (typeof projectFileKinds)[number];

const limits = z.strictObject(environmentLimits.shape).partial();

/** The settings of one environment that differ: objects are merged into those of the file, and null removes a setting. */
const override = z.record(z.string(), z.record(z.string(), z.unknown()).nullable());

const environment = z
  .strictObject({
    limits,
    services: override,
    volumes: override,
    plans: override,
    apps: override,
    functions: override,
    jobs: override,
  })
  .partial()
  .nullable()
  .transform((settings) => settings ?? {});

/** The parts of the file that are not objects of an environment. */
export const projectFileHead = z.object({
  project: z.string(),
  /** Distinguishes several files that are applied to one environment; default `default`. */
  name: configurationName.default('default'),
  /** Default: the environment of the command. */
  environments: z
    .record(
      checked((text) => checkEnvironmentName(text)),
      environment,
    )
    .default({}),
});

export type ProjectFileHead = z.output<typeof projectFileHead>;

/** The whole file, for editors. */
const projectFile = z.strictObject({ ...projectFileHead.shape, ...projectFileObjects.shape });

/** The JSON Schema of the file (draft 2020-12). */
export function projectFileSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(projectFile, { io: 'input', unrepresentable: 'any' }), title: 'svc.yaml' };
}
