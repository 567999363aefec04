import { z } from 'zod';
import { timestamp } from './common.ts';

/** The name of a file in the record of what was applied: `name` in `svc.yaml`. */
export const configurationName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be 1 to 63 lower-case letters, digits and hyphens');

/** Settings by kind (`apps`) and name. The API stores them for `svc apply` and does not interpret them. */
const appliedObjects = z.record(z.string().max(63), z.record(z.string().max(253), z.record(z.string(), z.unknown())));

export type AppliedObjects = z.infer<typeof appliedObjects>;

/** `PUT …/applied-configurations/{name}` */
export const appliedConfigurationUpdate = z.strictObject({
  /** The version that the caller has read; 0 if there was none. */
  version: z.int().min(0),
  objects: appliedObjects,
});

/** What was last applied to an environment from one file. */
export const appliedConfigurationView = z.object({
  name: z.string(),
  environment: z.string(),
  version: z.int(),
  objects: appliedObjects,
  /** Who applied it. */
  appliedBy: z.string(),
  appliedAt: timestamp,
});

export type AppliedConfigurationView = z.infer<typeof appliedConfigurationView>;
