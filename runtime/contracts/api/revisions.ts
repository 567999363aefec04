import { z } from 'zod';
import { deploymentView } from './apps.ts';
import { environmentQuery } from './common.ts';
import { mount } from './volumes.ts';

/** The fields of a deployment that are compared. */
export const comparedFields = ['image', 'digest', 'commit', 'commitMessage', 'branch'] as const;

/** The settings of a revision, those first that a rollback can restore. */
export const settingNames = [
  'port',
  'healthPath',
  'memory',
  'cpu',
  'volumes',
  'replicas',
  'releaseCommand',
  'bindings',
  'autoRollback',
] as const;

/** `GET /api/v1/projects/{p}/apps/{a}/revisions/{revision}` */
export const revisionQuery = environmentQuery.extend({
  compareWith: z
    .union([z.literal('previous'), z.literal('now'), z.coerce.number().int().min(1).max(2_147_483_647)])
    .default('previous')
    .describe(
      'What the revision is compared with: `previous`, the revision that the app ran before it; `now`, the current state of the app; or the number of a revision.',
    ),
});

/** What differs between two revisions. */
const difference = z.object({
  kind: z.enum(['deployment', 'setting', 'variable', 'secret']),
  /** The name of the field, setting, variable or secret. Variables that bindings set count as secrets. */
  name: z.string(),
  change: z.enum(['added', 'removed', 'changed']),
  /** The values, as text; absent for a secret, and for the value of a variable that the caller may not see. */
  before: z.string().optional(),
  after: z.string().optional(),
  /** Whether a rollback to the revision with `withConfig` restores it. */
  restorable: z.boolean(),
});

export type RevisionDifference = z.infer<typeof difference>;

export const revisionView = z.object({
  deployment: deploymentView,
  /** The settings when the revision was rolled out; absent when they are not known. */
  settings: z
    .object({
      port: z.int(),
      healthPath: z.string().optional(),
      memory: z.string().optional(),
      cpu: z.string().optional(),
      volumes: z.array(mount),
      /** This and the following are absent for a revision of an older version of the platform. */
      replicas: z.int().optional(),
      releaseCommand: z.array(z.string()).optional(),
      bindings: z
        .array(z.object({ service: z.string(), prefix: z.string().optional(), database: z.string().optional() }))
        .optional(),
      autoRollback: z.boolean().optional(),
    })
    .optional(),
  /** The variables of its pods. A value is absent when the caller may not see it. */
  variables: z.array(z.object({ name: z.string(), value: z.string().optional() })).optional(),
  /** The names of the other variables of its pods: its secrets, and what its bindings set. */
  secrets: z.array(z.string()).optional(),
  /** What it is compared with; absent when nothing ran before it. */
  comparison: z
    .object({
      /** Absent for the current state of the app. */
      revision: z.int().optional(),
      differences: z.array(difference),
      /** What cannot be compared, because it is not known of both. */
      unknown: z.array(z.enum([...settingNames, 'variables', 'secrets'])),
    })
    .optional(),
});

export type RevisionView = z.infer<typeof revisionView>;
