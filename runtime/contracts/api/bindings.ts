import { z } from 'zod';
import { serviceTypes } from '../resources/service.ts';
import { flag } from './common.ts';

/** `PUT …/apps/{a}/bindings/{service}`, and of functions and jobs: absent fields keep their value, or get the default in a new binding. */
export const bindingUpdate = z.strictObject({
  /** Prefix of its variables; default `DB_`, `REDIS_` or `S3_`. */
  prefix: z.string().max(64).optional(),
  /** Name of the database or bucket; default `<service>_<workload>_<environment>`, for a bucket the workload's name. */
  database: z.string().max(64).optional(),
});

/** A binding of a new workload. */
export const newBinding = bindingUpdate.extend({ service: z.string().max(63) });

export type NewBinding = z.output<typeof newBinding>;

/** The status of a binding. */
const bindingStatus = z.enum(['pending', 'ready', 'failed', 'deleting']);

/** A binding in the view of its workload. */
export const bindingSummary = z.object({ service: z.string(), status: bindingStatus });

export type BindingSummary = z.infer<typeof bindingSummary>;

/** A binding and its status. */
export const bindingView = z.object({
  service: z.string(),
  /** Absent if the service no longer exists. */
  type: z.enum(serviceTypes).optional(),
  status: bindingStatus,
  /** Why it is not ready. */
  message: z.string().optional(),
  prefix: z.string().optional(),
  /** Name of the database or bucket, once it is known. */
  database: z.string().optional(),
  /** The names of the variables that the binding adds. */
  variables: z.array(z.string()),
});

export type BindingView = z.infer<typeof bindingView>;

/** 202: the binding is being created or removed. */
export const bindingAccepted = bindingView.extend({
  statusUrl: z.string(),
  /** Whether it replaced an earlier binding, whose password is no longer valid. */
  renewed: z.boolean().optional(),
});

/** `DELETE …/bindings/{service}` */
export const unbindQuery = z.object({
  dropDatabase: flag.describe('Also deletes the database that was created for the binding, with all its data.'),
});
