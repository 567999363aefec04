import { z } from 'zod';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';

/**
 * What the platform writes of Traefik's kinds, and no more: an object that says anything else is refused as a whole,
 * since what would be left out could be what protects the route.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/kubernetes/crd/http/ingressroute/
 */
const serviceRef = z.strictObject({
  kind: z.literal('Service').optional(),
  name: z.string().min(1),
  port: z.union([z.int().min(1).max(65_535), z.string().min(1)]),
  passHostHeader: z.literal(true).optional(),
  scheme: z.literal('http').optional(),
});

export type ServiceRef = z.infer<typeof serviceRef>;

/** One rule of an IngressRoute. */
export const routeRule = z.strictObject({
  kind: z.literal('Rule').optional(),
  match: z.string().min(1),
  services: z.tuple([serviceRef], 'exactly one service is supported'),
  middlewares: z.array(z.strictObject({ name: z.string().regex(/^[a-z0-9.-]+$/) })).default([]),
});

export type RouteRule = z.infer<typeof routeRule>;

/** An IngressRoute but for its rules, which are read one by one: a bad one does not take the others along. */
export const ingressRouteSpec = z.strictObject({
  entryPoints: z.array(z.string()).default([]),
  routes: z.array(z.unknown()),
});

const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'no name of a header')
  .refine((name) => !/^(host|connection|upgrade|te|trailer|content-length|transfer-encoding)$/i.test(name), {
    error: 'a header that belongs to the connection is not supported',
  });
const headerValues = z.record(headerName, z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'no value of a header'));

const headersSpec = z.strictObject({
  customRequestHeaders: headerValues.default({}),
  customResponseHeaders: headerValues.default({}),
});

export type HeadersSpec = z.infer<typeof headersSpec>;

/** Go's syntax, as far as it means the same here; the `u` flag refuses what JavaScript would read in another way. */
const goRegExp = z.string().transform((text, context) => {
  const ignoreCase = text.startsWith('(?i)');
  try {
    return new RegExp(ignoreCase ? text.slice(4) : text, ignoreCase ? 'iu' : 'u');
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const clusterAddress = /^http:\/\/([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(?::(\d+))?(\/[^#]*)?$/;

/** The address of a Service: pods are found as for routes, without names being resolved. */
const checkerAddress = z.string().transform((address, context) => {
  const [, name, namespace, port = '80', uri = '/'] = clusterAddress.exec(address) ?? [];
  if (name === undefined || namespace === undefined) {
    context.addIssue({
      code: 'custom',
      message: `${address} is not an address of a Service, which alone is supported`,
    });
    return z.NEVER;
  }
  return { name, namespace, port: Number(port), host: new URL(address).host, uri };
});

const forwardAuthSpec = z.strictObject({
  address: checkerAddress,
  trustForwardHeader: z.boolean().default(false),
  authRequestHeaders: z.array(z.string()).default([]),
  authResponseHeaders: z.array(z.string()).default([]),
  authResponseHeadersRegex: goRegExp.optional(),
});

export type ForwardAuthSpec = z.infer<typeof forwardAuthSpec>;

/** `404` or `500-599`. */
const statusRange = z
  .string()
  .regex(/^[1-5]\d\d(-[1-5]\d\d)?$/, 'no status and no range of them')
  .transform((text) => ({ from: Number(text.slice(0, 3)), to: Number(text.slice(-3)) }));

const errorsSpec = z.strictObject({
  status: z.array(statusRange).min(1),
  service: serviceRef,
  query: z.string().default(''),
});

export type ErrorsSpec = z.infer<typeof errorsSpec>;

/** A Middleware: one of those that are supported. */
export const middlewareSpec = z
  .strictObject({
    forwardAuth: forwardAuthSpec.optional(),
    headers: headersSpec.optional(),
    errors: errorsSpec.optional(),
  })
  .refine((spec) => Object.keys(spec).length === 1, { error: 'a Middleware has exactly one type' });

export interface IngressRoute extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'IngressRoute';
}

export interface Middleware extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'Middleware';
}

/** What an object says. @throws Error that says what is wrong with it */
export function read<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new Error(
    error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; '),
  );
}
