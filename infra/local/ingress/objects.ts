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
  /** Not looked up: all connections of this ingress have the settings of the platform's ServersTransport. */
  serversTransport: z.string().optional(),
});

/** A Service by name and port, in the namespace of the referring object. */
export type ServiceRef = Pick<z.infer<typeof serviceRef>, 'name' | 'port'>;

const hostTerm = 'Host\\(`[^`]+`\\)';
const hosts = `${hostTerm}(?: \\|\\| ${hostTerm})*`;
const headerTerm = 'HeaderRegexp\\(`(?<name>[^`]+)`, `(?<pattern>[^`]+)`\\)';
const pathTerm = 'Path\\(`(?<path>/[\\w./-]*)`\\)';
/** One or several `Host` terms, joined by `||`; in brackets, they may be joined with one term about a header or the path. */
const ruleForm = new RegExp(`^(?:(?<all>${hosts})|\\((?<some>${hosts})\\) && (?:${headerTerm}|${pathTerm}))$`);

/** A rule: the requests for these hosts, or those of them that have a header with such a value, or this path. */
export interface Match {
  /** Of the rule's text, which is its weight without a priority. */
  length: number;
  hosts: readonly string[];
  header?: { name: string; pattern: RegExp };
  path?: string;
}

const match = z.string().transform((text, context): Match => {
  const { all, some = '', name, pattern, path } = ruleForm.exec(text)?.groups ?? {};
  const names = [...(all ?? some).matchAll(/`([^`]+)`/g)].map(([, host = '']) => host);
  if (path !== undefined) return { length: text.length, hosts: names, path };
  if (names.length > 0 && name === undefined) return { length: text.length, hosts: names };
  // The `u` flag refuses syntax that JavaScript would read in another way than Go.
  const compiled = name !== undefined && pattern !== undefined && compile(pattern);
  if (compiled) return { length: text.length, hosts: names, header: { name, pattern: compiled } };
  context.addIssue({ code: 'custom', message: 'the rule is not supported' });
  return z.NEVER;
});

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** The spec of an IngressRoute with one or several rules. */
export const ingressRouteSpec = z.strictObject({
  entryPoints: z.array(z.string()).default([]),
  routes: z
    .array(
      z.strictObject({
        kind: z.literal('Rule').optional(),
        match,
        /** Default: the length of the rule. */
        priority: z.int().min(1).optional(),
        services: z.tuple([serviceRef]),
        middlewares: z.array(z.strictObject({ name: z.string().regex(/^[a-z0-9.-]+$/) })).default([]),
      }),
    )
    .min(1),
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

const bufferingSpec = z.strictObject({ maxRequestBodyBytes: z.int().min(1) });

export type BufferingSpec = z.infer<typeof bufferingSpec>;

const retrySpec = z.strictObject({ attempts: z.int().min(1) });

export type RetrySpec = z.infer<typeof retrySpec>;

/** A Middleware: exactly one of the supported kinds. */
export const middlewareSpec = z.union([
  z.strictObject({ forwardAuth: forwardAuthSpec }),
  z.strictObject({ headers: headersSpec }),
  z.strictObject({ errors: errorsSpec }),
  z.strictObject({ retry: retrySpec }),
  z.strictObject({ buffering: bufferingSpec }),
]);

export interface IngressRoute extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'IngressRoute';
}

export interface Middleware extends KubeObject {
  apiVersion: 'traefik.io/v1alpha1';
  kind: 'Middleware';
}
