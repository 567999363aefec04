import { z } from 'zod';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';

/**
 * The fields of Traefik's kinds that the platform writes. An object with any other field is refused as a whole, since
 * the field could be what protects the route.
 * https://doc.traefik.io/traefik/v3.6/reference/routing-configuration/kubernetes/crd/http/ingressroute/
 */
const serviceRef = z.strictObject({
  kind: z.literal('Service').optional(),
  name: z.string().min(1),
  port: z.int(),
  passHostHeader: z.literal(true).optional(),
});

/** A Service by name and port, in the namespace of the referring object. */
export type ServiceRef = Pick<z.infer<typeof serviceRef>, 'name' | 'port'>;

/** The spec of an IngressRoute: one rule of one or several `Host` terms, joined by `||`. */
export const ingressRouteSpec = z.strictObject({
  entryPoints: z.array(z.string()).default([]),
  routes: z.tuple([
    z.strictObject({
      kind: z.literal('Rule').optional(),
      match: z.string().regex(/^Host\(`[^`]+`\)( \|\| Host\(`[^`]+`\))*$/, 'the rule is not supported'),
      /** Default: the length of the rule. */
      priority: z.int().min(1).optional(),
      services: z.tuple([serviceRef]),
      middlewares: z.array(z.strictObject({ name: z.string().regex(/^[a-z0-9.-]+$/) })).default([]),
    }),
  ]),
});

const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'not a valid header name')
  .refine(
    (name) => !/^(host|connection|upgrade|te|trailer|content-length|transfer-encoding|x-forwarded-for)$/i.test(name),
    'a header of the connection is not supported',
  );
const headerValues = z.record(headerName, z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'not a valid header value'));

const headersSpec = z.strictObject({
  customRequestHeaders: headerValues.default({}),
  customResponseHeaders: headerValues.default({}),
});

export type HeadersSpec = z.infer<typeof headersSpec>;

const clusterAddress = /^http:\/\/([a-z0-9-]+)\.([a-z0-9-]+)\.svc(\/[^#]*)$/;

const forwardAuthSpec = z.strictObject({
  /** The address of a Service on port 80. Pods are found through the Service, not by DNS. */
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
  /** A Go pattern. The `u` flag refuses syntax that JavaScript would read in another way. */
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
      .regex(/^[1-5]\d\d(-[1-5]\d\d)?$/, 'not a status or a range of statuses')
      .transform((text) => ({ from: Number(text.slice(0, 3)), to: Number(text.slice(-3)) })),
  ),
  service: serviceRef,
  query: z.string().default(''),
});

export type ErrorsSpec = z.infer<typeof errorsSpec>;

const retrySpec = z.strictObject({ attempts: z.int().min(1) });

export type RetrySpec = z.infer<typeof retrySpec>;

/** A Middleware: exactly one of the supported kinds. */
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
