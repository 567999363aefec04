import { z } from 'zod';
import { timestamp } from './common.ts';

/** Environments of one project. */
export const environmentsMax = 20;

/** `POST /api/v1/projects` */
export const projectCreate = z.strictObject({
  name: z.string(),
  displayName: z.string().max(200).optional(),
  environments: z.array(z.string()).min(1).max(environmentsMax).default(['prod']),
});

/** `POST /api/v1/projects/{p}/environments` */
export const environmentCreate = z.strictObject({ name: z.string() });

export const environmentView = z.object({
  name: z.string(),
  namespace: z.string(),
  ready: z.boolean(),
  message: z.string().optional(),
});

export const projectView = z.object({
  name: z.string(),
  displayName: z.string().optional(),
  status: z.enum(['creating', 'ready', 'failed', 'deleting']),
  environments: z.array(environmentView),
  createdAt: timestamp,
});

export type ProjectView = z.infer<typeof projectView>;

export type EnvironmentView = z.infer<typeof environmentView>;
