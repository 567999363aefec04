import type { Stored } from '../contracts/kubernetes.ts';
import { boundServices } from '../contracts/resources/binding.ts';
import { kinds, workloadResources } from '../contracts/resources/kinds.ts';
import type { Project } from '../contracts/resources/project.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Clock } from '../domain/clock.ts';
import { createFairPlaces, PlacesFull } from '../domain/fair-places.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { createUserRate } from '../domain/user-rate.ts';
import { findGitSecret } from '../git/credentials.ts';
import { environmentsOf, type Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readCredentials } from '../services/credentials.ts';
import { readBinding } from '../workloads/bindings.ts';
import type { Configurable } from '../workloads/objects.ts';
import { readSecrets } from '../workloads/secrets.ts';
import { createRedact, type Redact } from './redaction.ts';

/**
 * How long the masks of a namespace are kept, in ms, for calls at once: a pod must not start with a new secret and print it
 * while masks from before are in use.
 */
const keptMs = 1_000;
/** Namespaces whose masks are kept. */
const namespacesMax = 4;
/** Secrets that are read at once in a namespace: each can have a MiB. */
const readsMax = 4;
/** What is masked in one namespace; a workload has at most 200 secrets. */
const valuesMax = 5_000;
const charactersMax = 512 * 1024;
/** Namespaces whose Secrets are read for one user: at once, those of all calls of an answer in 20 environments. */
const readRate = { burst: 480, perSecond: 4 } as const;

type Kube = Pick<KubeClient, 'get' | 'list'>;

/**
 * Masks the secret values that workloads of a project can print: their secrets, current and previous, the passwords of
 * their bindings and services, and their git credentials; of one environment, or of all if none is named. `userId` is the
 * user in whose name they are read.
 * @throws Problem `conflict` for an environment with more than can be masked, `too_many_requests`; and when a Secret
 * cannot be read, because a result without masks would show it
 */
export type ProjectRedact = (project: string, userId: Id, environment?: string) => Promise<Redact>;

/**
 * Reads the Secrets of few namespaces at once, those of different projects in turn, and not often for one user, so that no
 * tenant takes much memory, and no user the turns of all.
 */
export function createProjectRedact({ kube, clock }: { kube: Kube; clock: Pick<Clock, 'monotonic'> }): ProjectRedact {
  const places = createFairPlaces({ total: 3, perKey: 1, waitingPerKey: 20, waitingTotal: 200 });
  const rate = createUserRate(readRate, () => clock.monotonic());
  const kept = new Map<string, { at: number; redact: Promise<Redact> }>();

  const load = async ({ project, environment, namespace }: Environment): Promise<Redact> => {
    const leave = await places.enter(project).catch((error: unknown) => {
      if (!(error instanceof PlacesFull)) throw error;
      throw new Problem('too_many_requests', 'Too many calls of tools wait. Try again in a moment.', {
        details: { retryAfterSeconds: 1 },
      });
    });
    try {
      const values = await readValues(kube, namespace);
      if (values) return createRedact(values);
    } finally {
      leave();
    }
    const message = `The environment "${environment}" has more secrets than can be masked, so tools show nothing of it.`;
    throw new Problem('conflict', message);
  };
  const redactOf = (environment: Environment, userId: Id): Promise<Redact> => {
    const { namespace } = environment;
    const now = clock.monotonic();
    for (const [key, { at }] of kept) if (now - at >= keptMs) kept.delete(key);
    const current = kept.get(namespace);
    if (current) return current.redact;
    const retryAfterSeconds = rate.take(userId);
    if (retryAfterSeconds > 0) {
      throw new Problem('too_many_requests', 'You call tools too often. Try again in a moment.', {
        details: { retryAfterSeconds },
      });
    }
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= namespacesMax) kept.delete(oldest);
    const redact = load(environment);
    kept.set(namespace, { at: now, redact });
    redact.catch(() => kept.delete(namespace));
    return redact;
  };

  return async (projectName, userId, environmentName) => {
    const project = await kube.get<Project>(kinds.Project, projectName);
    const environments = project ? environmentsOf(project) : [];
    const masks: Redact[] = [createRedact()];
    for (const environment of environments) {
      if (environmentName === undefined || environment.environment === environmentName) {
        masks.push(await redactOf(environment, userId));
      }
    }
    return (text) => masks.reduce((masked, redact) => redact(masked), text);
  };
}

/** The values of a namespace; undefined for too many. */
async function readValues(kube: Kube, namespace: string): Promise<Set<string> | undefined> {
  const { App: apps, Function: functions, Job: jobs, Service: services } = workloadResources;
  const [workloads, servers] = await Promise.all([
    Promise.all([apps, functions, jobs].map((kind) => kube.list<Configurable>(kind, { namespace }))),
    kube.list<ServiceResource>(services, { namespace }),
  ]);
  const reads = [
    ...workloads.flatMap(({ items }) => items).flatMap((workload) => readsOf(kube, workload)),
    ...servers.items.map((service) => async () => secretFields((await readCredentials(kube, service)) ?? {})),
  ];
  const values = new Set<string>();
  let characters = 0;
  while (reads.length > 0) {
    const some = await Promise.all(reads.splice(0, readsMax).map((read) => read()));
    for (const value of some.flat()) {
      if (!values.has(value)) characters += value.length;
      values.add(value);
    }
    if (values.size > valuesMax || characters > charactersMax) return undefined;
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
