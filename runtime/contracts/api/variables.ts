import { z } from 'zod';
import { timestamp, variables } from './common.ts';

/** `GET …/env`, and the response to its `PATCH` */
export const variablesView = z.object({
  variables,
  /** Whether running pods have older values of variables or secrets. */
  pendingRestart: z.boolean(),
});

export type VariablesView = z.infer<typeof variablesView>;

/** `PATCH …/env`: sets the given variables and keeps the others; null removes a variable. */
export const variablesUpdate = z.record(z.string().max(200), z.string().max(32_768).nullable());

/** A secret in a list: without its value. */
export const secretView = z.object({
  name: z.string(),
  updatedAt: timestamp,
  /** Whether it has a previous value to restore. */
  hasPrevious: z.boolean(),
});

export type SecretView = z.infer<typeof secretView>;

/** `PUT …/secrets/{name}` */
export const secretUpdate = z.strictObject({ value: z.string().max(65_536) });

/** `GET …/secrets/{name}`, only for admins of the project. */
export const secretReveal = secretView.extend({ value: z.string() });
