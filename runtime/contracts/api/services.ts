import { z } from 'zod';
import { serviceTypes } from '../resources/service.ts';
import { timestamp } from './common.ts';

const short = z.string().min(1).max(253);

/** The credentials of a service; `credentialFields` lists the fields of each type. */
export const serviceCredentials = z.strictObject({
  username: short.optional(),
  password: z.string().min(1).max(4096).optional(),
  database: short.optional(),
  /** For an object store. */
  accessKey: short.optional(),
  secretKey: z.string().min(1).max(4096).optional(),
  region: short.optional(),
  bucket: short.optional(),
});

export type ServiceCredentials = z.infer<typeof serviceCredentials>;

/** `POST /api/v1/projects/{p}/services` */
export const serviceCreate = z.strictObject({
  name: z.string(),
  type: z.enum(serviceTypes),
  /** A quantity such as `10Gi`; default `1Gi`. Not for external services. */
  size: z.string().max(22).optional(),
  /** Default: the cluster's default storage class. Not for external services. */
  storageClass: z.string().max(253).optional(),
  /** An external service. */
  external: z
    .strictObject({
      host: z.string().max(253),
      /** Default: the usual port of the type. */
      port: z.int().min(1).max(65_535).optional(),
      tls: z.boolean().default(false),
    })
    .optional(),
  /** For an external service; only admins of the project can read them. */
  credentials: serviceCredentials.optional(),
});

export const serviceView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  type: z.enum(serviceTypes),
  /** Whether it is an external service. */
  external: z.boolean(),
  status: z.enum(['pending', 'ready', 'failed', 'deleting']),
  /** Why it is not ready. */
  message: z.string().optional(),
  /** Its address inside the environment. */
  host: z.string().optional(),
  port: z.number().optional(),
  /** Whether connections must use TLS. */
  tls: z.boolean(),
  size: z.string().optional(),
  storageClass: z.string().optional(),
  createdAt: timestamp,
});

export type ServiceView = z.infer<typeof serviceView>;

/** `GET /api/v1/projects/{p}/services/{s}/credentials` */
export const serviceAccess = z.object({
  name: z.string(),
  type: z.enum(serviceTypes),
  host: z.string().optional(),
  port: z.number().optional(),
  tls: z.boolean(),
  ...serviceCredentials.shape,
});

export type ServiceAccess = z.infer<typeof serviceAccess>;
