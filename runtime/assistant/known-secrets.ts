import type { Stored } from '../contracts/kubernetes.ts';
import { boundServices } from '../contracts/resources/binding.ts';
import { kinds, workloadResources } from '../contracts/resources/kinds.ts';
import type { Project } from '../contracts/resources/project.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Clock } from '../domain/clock.ts';
import { findGitSecret } from '../git/credentials.ts';
import { environmentsOf } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readCredentials } from '../services/credentials.ts';
import { readBinding } from '../workloads/bindings.ts';
import type { Configurable } from '../workloads/objects.ts';
import { readSecrets } from '../workloads/secrets.ts';

/** How long the values of a namespace are kept, in ms: an agent makes several calls after each other. */
const keptMs = 10_000;
/** Namespaces of which the values are kept. */
const namespacesMax = 50;
/** Reads at once. */
const readsMax = 8;

type Kube = Pick<KubeClient, 'get' | 'list'>;

/**
 * The secret values that workloads of a project can print: their secrets, current and previous, the passwords of their
 * bindings and services, and their git credentials. Rejects when one of them cannot be read.
 */
export type KnownSecrets = (project: string, environment?: string) => Promise<readonly string[]>;

/** Reads them from the Secrets of the environment, or of all environments of the project if none is named. */
export function createKnownSecrets({ kube, clock }: { kube: Kube; clock: Pick<Clock, 'monotonic'> }): KnownSecrets {
  const kept = new Map<string, { at: number; values: Promise<readonly string[]> }>();

  const valuesOf = (namespace: string) => {
    const now = clock.monotonic();
    for (const [key, { at }] of kept) if (now - at >= keptMs || kept.size > namespacesMax) kept.delete(key);
    const current = kept.get(namespace);
    if (current) return current.values;
    const values = readValues(kube, namespace);
    kept.set(namespace, { at: now, values });
    values.catch(() => kept.delete(namespace));
    return values;
  };

  return async (projectName, environment) => {
    const project = await kube.get<Project>(kinds.Project, projectName);
    const environments = project ? environmentsOf(project) : [];
    const chosen = environments.filter((each) => environment === undefined || each.environment === environment);
    const values = await Promise.all(chosen.map(({ namespace }) => valuesOf(namespace)));
    return values.flat();
  };
}

async function readValues(kube: Kube, namespace: string): Promise<readonly string[]> {
  const { App: apps, Function: functions, Job: jobs, Service: services } = workloadResources;
  const [workloads, servers] = await Promise.all([
    Promise.all([apps, functions, jobs].map((kind) => kube.list<Configurable>(kind, { namespace }))),
    kube.list<ServiceResource>(services, { namespace }),
  ]);
  const reads = [
    ...workloads.flatMap(({ items }) => items).flatMap((workload) => readsOf(kube, workload)),
    ...servers.items.map((service) => async () => secretFields((await readCredentials(kube, service)) ?? {})),
  ];
  const values: string[] = [];
  while (reads.length > 0) {
    const some = await Promise.all(reads.splice(0, readsMax).map((read) => read()));
    values.push(...some.flat());
  }
  return values;
}

function readsOf(kube: Kube, workload: Stored<Configurable>): (() => Promise<string[]>)[] {
  return [
    async () => {
      const { secrets } = await readSecrets(kube, workload);
      return secrets.flatMap(({ value, previous }) => (previous === undefined ? [value] : [value, previous]));
    },
    ...boundServices(workload.spec).map(
      ({ service }) =>
        async () =>
          secretFields((await readBinding(kube, workload, service)) ?? {}),
    ),
    ...(workload.kind === 'App'
      ? [
          async () => {
            const { token, deployKey } = (await findGitSecret(kube, workload)) ?? {};
            return [token, deployKey].flatMap((value) =>
              value === undefined ? [] : [Buffer.from(value, 'base64').toString('utf8')],
            );
          },
        ]
      : []),
  ];
}

/** Of credentials, the fields that are secret. */
function secretFields({
  password,
  secretKey,
}: {
  password?: string | undefined;
  secretKey?: string | undefined;
}): string[] {
  return [password, secretKey].filter((value) => value !== undefined);
}
