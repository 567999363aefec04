import { ingressRouteSpec, read, routeRule, type IngressRoute, type RouteRule } from './objects.ts';

/** One rule of an IngressRoute. */
export interface HostRule {
  /** In lower case, without a final dot. */
  hosts: readonly string[];
  /** Of several rules for a host the longest counts, as in Traefik. */
  weight: number;
  /** What to do, or why that cannot be done: then the hosts are nobody's, since it could be what protects them. */
  spec: RouteRule | Error;
}

/** Whatever a rule quotes, since a rule that is not understood may name its hosts in any way. */
const quoted = /[`"]([^`"]*)[`"]/g;

/**
 * Reads an IngressRoute. Rules are one `Host` or several with `||` between them. One that says more, and every rule of an
 * object that does, is an error for all hosts that it names.
 */
export function readRules({ spec }: IngressRoute): HostRule[] {
  const { routes } = (spec ?? {}) as { routes?: unknown };
  const rules = Array.isArray(routes) ? routes.map((rule: unknown) => readRule(spec, rule)) : [];
  const whole = attempt(() => read(ingressRouteSpec, spec));
  // Of what names no host it can only be said that it is wrong.
  return rules.length === 0 && whole instanceof Error ? [{ hosts: [], weight: 0, spec: whole }] : rules;
}

function readRule(whole: unknown, rule: unknown): HostRule {
  const { match } = (rule ?? {}) as { match?: unknown };
  const text = typeof match === 'string' ? match : '';
  const named = [...text.matchAll(quoted)].map(([, name = '']) => name);
  const spec = attempt(() => {
    read(ingressRouteSpec, whole);
    const plain = named.map((name) => `Host(\`${name}\`)`).join(' || ');
    if (text === '' || text !== plain) throw new Error(`the rule ${text} is not supported`);
    return read(routeRule, rule);
  });
  const hosts = named.map((name) => name.toLowerCase().replace(/\.$/, ''));
  return { hosts, weight: text.length, spec };
}

/** What is thrown, as a value. */
export function attempt<T>(make: () => T): T | Error {
  try {
    return make();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
