import { z } from 'zod';
import { serviceTypes } from '../resources/service.ts';
import { flag } from './common.ts';

/** `PUT …/functions/{f}/bindings/{service}`: what is absent stays as it was, or is the default of a new one. */
export const bindingUpdate = z.strictObject({
  /** What the names of its variables begin with; default `DB_`, `REDIS_` or `S3_`. */
  prefix: z.string().max(64).optional(),
  /** Of the database, or bucket; default `<service>_<function>_<environment>`, of a bucket the function's name. */
  database: z.string().max(64).optional(),
});

/** How far a binding is. */
export const bindingStatus = z.enum(['pending', 'ready', 'failed', 'deleting']);

export const bindingView = z.object({
  service: z.string(),
  /** Absent when there is no such service any more. */
  type: z.enum(serviceTypes).optional(),
  status: bindingStatus,
  /** Why it is not ready. */
  message: z.string().optional(),
  prefix: z.string().optional(),
  /** Of the database or bucket, once it is known. */
  database: z.string().optional(),
  /** The names that the function may find in its environment. */
  variables: z.array(z.string()),
});

export type BindingView = z.infer<typeof bindingView>;

/** 202: the binding is being made, or taken away. */
export const bindingAccepted = bindingView.extend({
  statusUrl: z.string(),
  /** Whether there was one already, whose password counts no more. */
  renewed: z.boolean().optional(),
});

/** `DELETE …/bindings/{service}` */
export const unbindQuery = z.object({
  /** Deletes the database that the binding made, too, with all its data. */
  dropDatabase: flag,
});
