import { z } from 'zod';
import { environmentLimits } from '../resources/project.ts';
import { projectRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

/** Maximum number of environments of a project. */
export const environmentsMax = 20;

/** `POST /api/v1/projects` */
export const projectCreate = z.strictObject({
  name: z.string(),
  displayName: z.string().max(200).optional(),
  environments: z.array(z.string()).min(1).max(environmentsMax).default(['prod']),
});

/** `POST /api/v1/projects/{p}/environments` */
export const environmentCreate = z.strictObject({
  name: z.string(),
  limits: z.strictObject(environmentLimits.shape).exactOptional(),
});

/** `PATCH /api/v1/projects/{p}/environments/{e}`: absent fields keep their value; null restores the default. */
export const environmentUpdate = z.strictObject({
  limits: z.strictObject({
    cpu: environmentLimits.shape.cpu.nullable(),
    memory: environmentLimits.shape.memory.nullable(),
    storage: environmentLimits.shape.storage.nullable(),
    pods: environmentLimits.shape.pods.nullable(),
    containerMemory: environmentLimits.shape.containerMemory.nullable(),
  }),
});

export type EnvironmentUpdate = z.infer<typeof environmentUpdate>;

export const environmentView = z.object({
  name: z.string(),
  namespace: z.string(),
  ready: z.boolean(),
  /** Whether it is being deleted with everything in it. */
  deleting: z.boolean().optional(),
  message: z.string().optional(),
  /** The active limits, including defaults. */
  limits: z
    .object({ cpu: z.string(), memory: z.string(), storage: z.string(), pods: z.int(), containerMemory: z.string() })
    .optional(),
  /** The limits that were set for this environment; the others are the installation's defaults. */
  ownLimits: environmentLimits.optional(),
});

export const projectView = z.object({
  name: z.string(),
  displayName: z.string().optional(),
  status: z.enum(['creating', 'ready', 'failed', 'deleting']),
  environments: z.array(environmentView),
  /** The caller's role; absent in lists. */
  role: z.enum(projectRoles).optional(),
  createdAt: timestamp,
});

export type ProjectView = z.infer<typeof projectView>;

export type EnvironmentView = z.infer<typeof environmentView>;
