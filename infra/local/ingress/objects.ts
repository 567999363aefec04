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
  port: z.int(),
  passHostHeader: z.literal(true).optional(),
});

/** A Service of a namespace that is known from elsewhere. */
export type ServiceRef = Pick<z.infer<typeof serviceRef>, 'name' | 'port'>;

/** The spec of an IngressRoute: one rule, which is one `Host` or several with `||` between them. */
export const ingressRouteSpec = z.strictObject({
  entryPoints: z.array(z.string()).default([]),
  routes: z.tuple([
    z.strictObject({
      kind: z.literal('Rule').optional(),
      match: z.string().regex(/^Host\(`[^`]+`\)( \|\| Host\(`[^`]+`\))*$/, 'the rule is not supported'),
      services: z.tuple([serviceRef]),
      middlewares: z.array(z.strictObject({ name: z.string().regex(/^[a-z0-9.-]+$/) })).default([]),
    }),
  ]),
});

const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'no name of a header')
  .refine(
    (name) => !/^(host|connection|upgrade|te|trailer|content-length|transfer-encoding|x-forwarded-for)$/i.test(name),
    'a header that belongs to the connection is not supported',
  );
const headerValues = z.record(headerName, z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'no value of a header'));

const headersSpec = z.strictObject({
  customRequestHeaders: headerValues.default({}),
  customResponseHeaders: headerValues.default({}),
});

export type HeadersSpec = z.infer<typeof headersSpec>;

const clusterAddress = /^http:\/\/([a-z0-9-]+)\.([a-z0-9-]+)\.svc(\/[^#]*)$/;

const forwardAuthSpec = z.strictObject({
  /** Of a Service, at port 80: pods are found as for routes, without names being resolved. */
  address: z
    .string()
    .regex(clusterAddress, 'not the address of a Service')
    .transform((address) => {
      const [, name = '', namespace = '', uri = ''] = clusterAddress.exec(address) ?? [];
      return { name, namespace, host: `${name}.${namespace}.svc`, uri };
    }),
  trustForwardHeader: z.literal(true),
  authRequestHeaders: z.array(z.string()).min(1),
  authResponseHeaders: z.array(z.string()),
  /** Go's syntax, as far as it means the same here; the `u` flag refuses what JavaScript would read in another way. */
  authResponseHeadersRegex: z
    .string()
    .startsWith('(?i)')
    .transform((text) => new RegExp(text.slice(4), 'iu')),
});

export type ForwardAuthSpec = z.infer<typeof forwardAuthSpec>;

const errorsSpec = z.strictObject({
  /** `404` or `500-599`. */
  status: z.array(
    z
      .string()
      .regex(/^[1-5]\d\d(-[1-5]\d\d)?$/, 'no status and no range of them')
      .transform((text) => ({ from: Number(text.slice(0, 3)), to: Number(text.slice(-3)) })),
  ),
  service: serviceRef,
  query: z.string().default(''),
});

export type ErrorsSpec = z.infer<typeof errorsSpec>;

const retrySpec = z.strictObject({ attempts: z.int().min(1) });

export type RetrySpec = z.infer<typeof retrySpec>;

/** A Middleware: exactly one of those that are supported. */
export const middlewareSpec = z.union([
  z.strictObject({ forwardAuth: forwardAuthSpec }),
  z.strictObject({ headers: headersSpec }),
  z.strictObject({ errors: errorsSpec }),
  z.strictObject({ retry: retrySpec }),
]);

export interface IngressRoute extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'IngressRoute';
}

export interface Middleware extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'Middleware';
}
