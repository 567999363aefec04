import type { Handler, RouteRequest } from './exchange.ts';

/** A rule of a route, with the hosts whose requests it may answer. */
export interface Rule {
  hosts: readonly string[];
  /** Of a host's rules that accept a request, the one with the highest weight answers it. */
  weight: number;
  accepts: (request: RouteRequest) => boolean;
  handler: Handler;
}

/** The rules of all routes, by host. */
export interface RouteTable {
  /** Sets a route's rules in place of those that it has. Among rules of one weight, the older route's is first. */
  set(route: string, rules: readonly Rule[]): void;
  delete(route: string): void;
  /** The rules of a host, the one that counts first at the front. */
  find(host: string): readonly Rule[];
}

/** A rule, with the place of its route among rules of the same weight. */
interface Ranked extends Rule {
  age: number;
}

/** Creates an empty table. A change costs as much as the route has rules, however many routes there are. */
export function createRouteTable(): RouteTable {
  const byHost = new Map<string, Ranked[]>();
  const byRoute = new Map<string, { age: number; rules: readonly Ranked[] }>();
  let nextAge = 0;

  const remove = (rules: readonly Ranked[]) => {
    const removed = new Set(rules);
    for (const host of new Set(rules.flatMap(({ hosts }) => hosts))) {
      const others = byHost.get(host)?.filter((rule) => !removed.has(rule)) ?? [];
      if (others.length > 0) byHost.set(host, others);
      else byHost.delete(host);
    }
  };

  return {
    set(route, rules) {
      const before = byRoute.get(route);
      if (before) remove(before.rules);
      const age = before?.age ?? nextAge++;
      const ranked = rules.map((rule) => ({ ...rule, age }));
      byRoute.set(route, { age, rules: ranked });
      for (const rule of ranked) {
        for (const host of rule.hosts) {
          const all = [...(byHost.get(host) ?? []), rule];
          byHost.set(
            host,
            all.toSorted((one, other) => other.weight - one.weight || one.age - other.age),
          );
        }
      }
    },
    delete(route) {
      const before = byRoute.get(route);
      if (before) remove(before.rules);
      byRoute.delete(route);
    },
    find: (host) => byHost.get(host) ?? [],
  };
}
