import { z } from 'zod';
import { environmentQuery, page } from '../contracts/api/common.ts';
import {
  secretReveal,
  secretUpdate,
  secretView,
  variablesUpdate,
  variablesView,
  type SecretView,
} from '../contracts/api/variables.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';
import { referencesOf } from '../domain/variables.ts';
import { resolveEnvironment, type Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { route, sessionOf, type Route, type RouteRequest } from './route.ts';
import { getLivingWorkload, getWorkload } from './workload-objects.ts';
import { createSecretStore, noSecret, readSecrets, type WorkloadSecret } from './workload-secrets.ts';
import {
  changeVariables,
  checkGivenName,
  mergedVariables,
  replacedVariables,
  type Configurable,
} from './workload-variables.ts';

/** What the environments of apps and of functions differ in. */
export interface EnvironmentOwner<Workload extends Configurable> {
  kind: Workload['kind'];
  /** When a change reaches what runs, for the summaries: "pods have it …". */
  reach: string;
  /** Whether what runs was started with other variables or secrets than there are now. */
  isRestartPending: (workload: Stored<Workload>) => Promise<boolean>;
  /** Is told after a secret was changed, for whoever has to bring that about. */
  secretsChanged?: (workload: Stored<Workload>) => Promise<void>;
}

type Request = Pick<
  RouteRequest<Record<string, string>, { environment?: string | undefined }, unknown>,
  'params' | 'query'
>;

/**
 * What a workload finds in its environment: variables, which anybody in the project may read, and secrets, whose values
 * only an admin may: `…/env` and `…/secrets` below the workload's path.
 */
export function environmentRoutes<Workload extends Configurable>(
  { kube, clock }: { kube: KubeClient; clock: Clock },
  { kind, reach, isRestartPending, secretsChanged }: EnvironmentOwner<Workload>,
): Route[] {
  const what = kind === 'App' ? 'app' : 'function';
  const article = what === 'app' ? 'an app' : 'a function';
  const tag = `${what}s`;
  const path = `/projects/:project/${what}s/:${what}` as const;
  const one = z.object({ project: z.string().max(100), [what]: z.string().max(100) });
  const oneSecret = one.extend({ secret: z.string().max(250) });
  const secrets = createSecretStore({ kube, clock });

  const named = ({ params }: Pick<Request, 'params'>) => params[what] ?? '';
  const secretOf = ({ params: { secret = '' } }: Pick<Request, 'params'>) => secret;
  const placeOf = ({ params: { project = '' }, query }: Request) =>
    resolveEnvironment(kube, project, query.environment);
  const find = async (request: Request) => {
    const environment = await placeOf(request);
    return { environment, workload: await getWorkload<Workload>(kube, kind, environment, named(request)) };
  };
  const findLiving = async (request: Request) => {
    const environment = await placeOf(request);
    return { environment, workload: await getLivingWorkload<Workload>(kube, kind, environment, named(request)) };
  };
  /** Names only, never a value. */
  const audit = (
    request: Request & Pick<RouteRequest<unknown, unknown, unknown>, 'session' | 'log'>,
    { environment, project }: Environment,
    action: string,
    name: string,
  ) => {
    const message = action === 'secret.reveal' ? 'secret revealed' : 'secret changed';
    const { email: actor } = sessionOf(request);
    request.log.info({ action, actor, project, environment, [what]: named(request), secret: name }, message);
  };
  const variablesOf = async (workload: Stored<Workload>) => ({
    variables: Object.fromEntries((workload.spec.env ?? []).map(({ name, value }) => [name, value])),
    pendingRestart: await isRestartPending(workload),
  });

  return [
    route({
      params: one,
      query: environmentQuery,
      replies: { 200: variablesView },
      method: 'GET',
      path: `${path}/env`,
      access: { project: 'viewer' },
      tag,
      summary: `Lists the variables of ${article}, and tells whether they wait for a restart.`,
      async handle(request) {
        const { workload } = await find(request);
        return { status: 200, body: await variablesOf(workload) };
      },
    }),
    route({
      params: one,
      query: environmentQuery,
      body: variablesUpdate,
      replies: { 200: variablesView },
      method: 'PATCH',
      path: `${path}/env`,
      access: { project: 'deployer' },
      tag,
      summary: `Sets variables of ${article}, null removes; ${reach}.`,
      async handle(request) {
        const { body, log } = request;
        const names = Object.keys(body);
        if (names.length === 0) throw new Problem('invalid_request', 'Give the variables to change.');
        const environment = await placeOf(request);
        const workload = await changeVariables<Workload>(
          kube,
          () => getLivingWorkload<Workload>(kube, kind, environment, named(request)),
          (found) => replacedVariables(kube, found, mergedVariables(found, body)),
        );
        const actor = sessionOf(request).email;
        log.info(
          { [what]: named(request), namespace: environment.namespace, names, actor },
          `${what} variables changed`,
        );
        return { status: 200, body: await variablesOf(workload) };
      },
    }),
    route({
      params: one,
      query: environmentQuery,
      replies: { 200: page(secretView) },
      method: 'GET',
      path: `${path}/secrets`,
      access: { project: 'viewer' },
      tag,
      summary: `Lists the secrets of ${article} by name, without their values.`,
      async handle(request) {
        const { workload } = await find(request);
        const { secrets: all } = await readSecrets(kube, workload);
        return { status: 200, body: { items: all.map(secretToView) } };
      },
    }),
    route({
      params: oneSecret,
      query: environmentQuery,
      replies: { 200: secretReveal },
      method: 'GET',
      path: `${path}/secrets/:secret`,
      access: { project: 'admin' },
      tag,
      summary: 'Shows the value of a secret; the log tells who saw it.',
      async handle(request) {
        const secret = secretOf(request);
        const { environment, workload } = await find(request);
        const { secrets: all } = await readSecrets(kube, workload);
        const found = all.find(({ name }) => name === secret);
        if (!found) throw noSecret(workload, secret);
        audit(request, environment, 'secret.reveal', found.name);
        return { status: 200, body: { ...secretToView(found), value: found.value } };
      },
    }),
    route({
      params: oneSecret,
      query: environmentQuery,
      body: secretUpdate,
      replies: { 200: secretView },
      method: 'PUT',
      path: `${path}/secrets/:secret`,
      access: { project: 'deployer' },
      tag,
      summary: `Sets a secret and keeps its previous value; ${reach}.`,
      async handle(request) {
        const { environment, workload } = await findLiving(request);
        checkGivenName(kind, secretOf(request), 'name');
        const secret = await secrets.set(workload, secretOf(request), request.body.value);
        audit(request, environment, 'secret.set', secret.name);
        await secretsChanged?.(workload);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    route({
      params: oneSecret,
      query: environmentQuery,
      replies: { 200: secretView },
      method: 'POST',
      path: `${path}/secrets/:secret/restore`,
      access: { project: 'deployer' },
      tag,
      summary: 'Gives a secret its previous value back, and keeps the one it had.',
      async handle(request) {
        const { environment, workload } = await findLiving(request);
        const secret = await secrets.restore(workload, secretOf(request));
        audit(request, environment, 'secret.restore', secret.name);
        await secretsChanged?.(workload);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    route({
      params: oneSecret,
      query: environmentQuery,
      replies: { 204: null },
      method: 'DELETE',
      path: `${path}/secrets/:secret`,
      access: { project: 'deployer' },
      tag,
      summary: 'Deletes a secret with its previous value, unless a variable refers to it.',
      async handle(request) {
        const secret = secretOf(request);
        const { environment, workload } = await findLiving(request);
        const users = (workload.spec.env ?? []).filter(({ value }) => referencesOf(value).includes(secret));
        if (users.length > 0) {
          const names = users.map(({ name }) => name);
          throw new Problem(
            'in_use',
            `The secret "${secret}" is what ${names.join(', ')} refer${names.length === 1 ? 's' : ''} to; change that first.`,
            { details: { variables: names } },
          );
        }
        await secrets.remove(workload, secret);
        audit(request, environment, 'secret.delete', secret);
        await secretsChanged?.(workload);
        return { status: 204 };
      },
    }),
  ];
}

/** A secret as lists show it. */
function secretToView({ name, updatedAt, previous }: WorkloadSecret): SecretView {
  return { name, updatedAt: updatedAt.toISOString(), hasPrevious: previous !== undefined };
}
