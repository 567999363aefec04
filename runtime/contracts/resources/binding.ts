import { z } from 'zod';
import type { ServiceType } from './service.ts';

/** Maximum number of bindings of a workload. */
export const bindingsMax = 20;

/** The default prefixes of a binding's variables (docs/reference/functions.md#bindings). */
export const defaultPrefixes: Readonly<Record<ServiceType, string>> = {
  postgres: 'DB_',
  mysql: 'DB_',
  mongodb: 'DB_',
  redis: 'REDIS_',
  minio: 'S3_',
};

/** A service that a workload uses, with a user of its own; its credentials are in the workload's environment. */
export const binding = z.object({
  /** The name of the Service, in the workload's environment. */
  service: z.string().min(1).max(63),
  /** Prefix of its variables; default see {@link defaultPrefixes}. */
  prefix: z.string().max(64).exactOptional(),
  /** Name of the database or bucket; default `<service>_<workload>_<environment>`. */
  database: z.string().max(64).exactOptional(),
  /** Increased by every PUT; each version has its own password. */
  version: z.int().min(1).default(1),
  /** The binding is being removed with its database; treat it as absent. */
  dropDatabase: z.boolean().exactOptional(),
});

export type Binding = z.infer<typeof binding>;

/** `ready`: the credentials in the binding's Secret are valid. */
export const bindingPhases = ['pending', 'ready', 'failed'] as const;

/** The status of a binding, which the queue `bindings` reports and the controller keeps. */
export interface BindingStatus {
  service: string;
  /** The version of the binding that this status is about. */
  version: number;
  phase: (typeof bindingPhases)[number];
  /** For `pending` and `failed`: why. It is retried in either case. */
  message?: string;
  /** The name of its database or bucket. */
  database?: string;
  /** Of a function: pods that start from now on get its variables. The controller says so. */
  applied?: boolean;
}

/** The bindings of a workload, without those that are being removed. Pure. */
export function boundServices({ bindings = [] }: { bindings?: Binding[] | undefined }): Binding[] {
  return bindings.filter(({ dropDatabase }) => dropDatabase !== true);
}

/** The status of the current version of a binding; undefined if none was reported yet. Pure. */
export function bindingStatus(
  { status }: { status?: { bindings?: BindingStatus[] } },
  { service, version }: Pick<Binding, 'service' | 'version'>,
): BindingStatus | undefined {
  return status?.bindings?.find((status) => status.service === service && status.version === version);
}
