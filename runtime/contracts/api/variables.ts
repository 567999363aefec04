import { z } from 'zod';
import { timestamp, variables } from './common.ts';

/** `GET …/env`, and the answer to its `PATCH` */
export const variablesView = z.object({
  variables,
  /** Whether what runs has other values than these, or than the secrets have by now. */
  pendingRestart: z.boolean(),
});

export type VariablesView = z.infer<typeof variablesView>;

/** `PATCH …/env`: sets the named variables and leaves the others; null removes one. */
export const variablesUpdate = z.record(z.string().max(200), z.string().max(32_768).nullable());

/** A secret as lists show it: without its value. */
export const secretView = z.object({
  name: z.string(),
  updatedAt: timestamp,
  /** Whether there is a value to which it can be restored. */
  hasPrevious: z.boolean(),
});

export type SecretView = z.infer<typeof secretView>;

/** `PUT …/secrets/{name}` */
export const secretUpdate = z.strictObject({ value: z.string().max(65_536) });

/** `GET …/secrets/{name}`, for admins of the project only. */
export const secretReveal = secretView.extend({ value: z.string() });
