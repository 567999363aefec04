import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** What a service is (spec.md §2.6); `minio` stands for any object store that speaks S3. */
export const serviceTypes = ['postgres', 'mysql', 'mongodb', 'redis', 'minio'] as const;

export type ServiceType = (typeof serviceTypes)[number];

/** Where each type listens unless told otherwise. */
export const defaultPorts: Readonly<Record<ServiceType, number>> = {
  postgres: 5432,
  mysql: 3306,
  mongodb: 27_017,
  redis: 6379,
  minio: 9000,
};

/** What is written of the way into each type; an external service need not have all of it. */
export const credentialFields = {
  postgres: ['username', 'password', 'database'],
  mysql: ['username', 'password', 'database'],
  mongodb: ['username', 'password', 'database'],
  redis: ['username', 'password'],
  minio: ['accessKey', 'secretKey', 'region', 'bucket'],
} as const satisfies Record<ServiceType, readonly string[]>;

/** Which of these nobody may guess. */
export function passwordField(type: ServiceType): 'password' | 'secretKey' {
  return type === 'minio' ? 'secretKey' : 'password';
}

/** Which of these says who signs in. */
export function usernameField(type: ServiceType): 'username' | 'accessKey' {
  return type === 'minio' ? 'accessKey' : 'username';
}

export type CredentialField = (typeof credentialFields)[ServiceType][number];

/** Where the way into a service lies: in a Secret beside it, with one key for each of its fields. */
export function credentialsName(service: string): string {
  return `service-${service}-credentials`;
}

/** Where the token lies that an object store of the platform's is known by when it tells of its objects. */
export function eventsTokenName(service: string): string {
  return `service-${service}-events`;
}

/** The key of that Secret. */
export const eventsTokenField = 'token';

/** The storage of a service that does not say how much it needs. */
export const defaultStorageSize = '1Gi';

export const serviceSpec = z.object({
  /** Never changed. */
  type: z.enum(serviceTypes),
  /** A service that somebody else runs; without it the platform is to run one. Neither becomes the other. */
  external: z
    .object({
      /** A host name or an address. */
      host: z.string(),
      /** Default: the type's own, see {@link defaultPorts}. */
      port: z.int().min(1).max(65_535).optional(),
      /** Whether connections are to be encrypted. */
      tls: z.boolean().default(false),
    })
    .optional(),
  /** Of a service that the platform runs; never changed. */
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
  /** `ready`: one that the platform runs answers; of an external one that is not known. */
  phase?: 'pending' | 'ready' | 'failed';
  /** For `pending` and `failed`: why. */
  message?: string;
  /** Where workloads reach it. */
  host?: string;
  port?: number;
  conditions?: Condition[];
}

/** A database, cache or object store that workloads can be bound to. */
export interface ServiceResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Service';
  spec: ServiceSpec;
  status?: ServiceStatus;
}
