import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** The types of services; `minio` is any object store that supports S3. */
export const serviceTypes = ['postgres', 'mysql', 'mongodb', 'redis', 'minio'] as const;

export type ServiceType = (typeof serviceTypes)[number];

/** The default port of each type. */
export const defaultPorts: Readonly<Record<ServiceType, number>> = {
  postgres: 5432,
  mysql: 3306,
  mongodb: 27_017,
  redis: 6379,
  minio: 9000,
};

/** The credential fields of each type; an external service may lack some. */
export const credentialFields = {
  postgres: ['username', 'password', 'database'],
  mysql: ['username', 'password', 'database'],
  mongodb: ['username', 'password', 'database'],
  redis: ['username', 'password'],
  minio: ['accessKey', 'secretKey', 'region', 'bucket'],
} as const satisfies Record<ServiceType, readonly string[]>;

/** The credential field that is secret. */
export function passwordField(type: ServiceType): 'password' | 'secretKey' {
  return type === 'minio' ? 'secretKey' : 'password';
}

/** The credential field with the user name. */
export function usernameField(type: ServiceType): 'username' | 'accessKey' {
  return type === 'minio' ? 'accessKey' : 'username';
}

/** The name of the Secret with a service's credentials, one key for each field. */
export function credentialsName(service: string): string {
  return `service-${service}-credentials`;
}

/** The name of the Secret with the token that authenticates notices of a managed object store. */
export function eventsTokenName(service: string): string {
  return `service-${service}-events`;
}

/** The key in that Secret. */
export const eventsTokenField = 'token';

/** The default storage size of a service. */
export const defaultStorageSize = '1Gi';

export const serviceSpec = z.object({
  /** Never changed. */
  type: z.enum(serviceTypes),
  /** Set for an external service, absent for a managed one. Never changed. */
  external: z
    .object({
      /** A host name or an address. */
      host: z.string(),
      /** Default: see {@link defaultPorts}. */
      port: z.int().min(1).max(65_535).optional(),
      /** Whether connections must use TLS. */
      tls: z.boolean().default(false),
    })
    .optional(),
  /** For a managed service; never changed. */
  storage: z
    .object({
      /** A quantity such as `10Gi`; default {@link defaultStorageSize}. */
      size: z.string().max(22),
      /** Default: the cluster's default storage class. */
      storageClass: z.string().max(253).exactOptional(),
    })
    .exactOptional(),
});

export type ServiceSpec = z.infer<typeof serviceSpec>;

export interface ServiceStatus {
  observedGeneration?: number;
  /** `ready`: a managed service is available; the state of an external service is not checked. */
  phase?: 'pending' | 'ready' | 'failed';
  /** For `pending` and `failed`: why. */
  message?: string;
  /** Its address for workloads. */
  host?: string;
  port?: number;
  conditions?: Condition[];
}

/** A database, cache or object store that workloads can use. */
export interface ServiceResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Service';
  spec: ServiceSpec;
  status?: ServiceStatus;
}
