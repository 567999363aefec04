import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { referencesOf } from '../../runtime/domain/variables.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { accept } from '../../runtime/host/accept.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { getLivingWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { createSecretStore, noSecret, readSecrets, type WorkloadSecret } from '../../runtime/host/workload-secrets.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { restartTarget, sameImage } from '../../runtime/records/deployments.ts';
import {
  deleteSecretSchema,
  getVariablesSchema,
  listSecretsSchema,
  restartSchema,
  restoreSecretSchema,
  revealSecretSchema,
  setSecretSchema,
  updateVariablesSchema,
} from './schema.ts';
import { changeVariables } from './store.ts';
import { isRestartPending, mergedVariables, replacedVariables } from './variables.ts';
import { secretToView } from './view.ts';

const tag = 'apps';
const path = '/projects/:project/apps/:app';

type AppRequest = Pick<RouteRequest<{ app: string }, unknown, unknown>, 'session' | 'log' | 'params'>;

/**
 * What an app finds in its environment: variables, which anybody in the project may read, and secrets, whose values only
 * an admin may. Both reach the pods with the next deployment, which a restart is.
 */
export function createEnvironmentRoutes({
  kube,
  pool,
  clock,
  baseUrl,
}: {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  baseUrl: string;
}): Route[] {
  const secrets = createSecretStore({ kube, clock });
  /** Names only, never a value. */
  const audit = (request: AppRequest, { environment, project }: Environment, action: string, name: string) => {
    const message = action === 'secret.reveal' ? 'secret revealed' : 'secret changed';
    const { email: actor } = sessionOf(request);
    request.log.info({ action, actor, project, environment, app: request.params.app, secret: name }, message);
  };
  const variablesOf = async (app: Stored<App>) => ({
    variables: Object.fromEntries((app.spec.env ?? []).map(({ name, value }) => [name, value])),
    pendingRestart: await isRestartPending(kube, app),
  });

  return [
    route({
      ...getVariablesSchema,
      method: 'GET',
      path: `${path}/env`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the variables of an app, and tells whether they wait for a restart.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        return { status: 200, body: await variablesOf(app) };
      },
    }),
    route({
      ...updateVariablesSchema,
      method: 'PATCH',
      path: `${path}/env`,
      access: { project: 'deployer' },
      tag,
      summary: 'Sets variables of an app, null removes; pods have them from the next deployment on.',
      async handle(request) {
        const { params, query, body, log } = request;
        if (Object.keys(body).length === 0) throw new Problem('invalid_request', 'Give the variables to change.');
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const app = await changeVariables(
          kube,
          () => getLivingWorkload<App>(kube, 'App', environment, params.app),
          (found) => replacedVariables(kube, found, mergedVariables(found, body)),
        );
        const actor = sessionOf(request).email;
        const names = Object.keys(body);
        log.info({ app: params.app, namespace: environment.namespace, names, actor }, 'app variables changed');
        return { status: 200, body: await variablesOf(app) };
      },
    }),
    route({
      ...listSecretsSchema,
      method: 'GET',
      path: `${path}/secrets`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the secrets of an app by name, without their values.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        const { secrets: all } = await readSecrets(kube, app);
        return { status: 200, body: { items: all.map(secretToView) } };
      },
    }),
    route({
      ...revealSecretSchema,
      method: 'GET',
      path: `${path}/secrets/:secret`,
      access: { project: 'admin' },
      tag,
      summary: 'Shows the value of a secret; the log tells who saw it.',
      async handle(request) {
        const { params } = request;
        const { environment, app } = await findApp(kube, request);
        const { secrets: all } = await readSecrets(kube, app);
        const found = all.find(({ name }) => name === params.secret);
        if (!found) throw noSecret(app, params.secret);
        audit(request, environment, 'secret.reveal', found.name);
        return { status: 200, body: { ...secretToView(found), value: found.value } };
      },
    }),
    route({
      ...setSecretSchema,
      method: 'PUT',
      path: `${path}/secrets/:secret`,
      access: { project: 'deployer' },
      tag,
      summary: 'Sets a secret and keeps its previous value; pods have it from the next deployment on.',
      async handle(request) {
        const { params, body } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const secret = await secrets.set(app, params.secret, body.value);
        audit(request, environment, 'secret.set', secret.name);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    route({
      ...restoreSecretSchema,
      method: 'POST',
      path: `${path}/secrets/:secret/restore`,
      access: { project: 'deployer' },
      tag,
      summary: 'Gives a secret its previous value back, and keeps the one it had.',
      async handle(request) {
        const { params } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const secret: WorkloadSecret = await secrets.restore(app, params.secret);
        audit(request, environment, 'secret.restore', secret.name);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    route({
      ...deleteSecretSchema,
      method: 'DELETE',
      path: `${path}/secrets/:secret`,
      access: { project: 'deployer' },
      tag,
      summary: 'Deletes a secret with its previous value, unless a variable refers to it.',
      async handle(request) {
        const { params } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const users = (app.spec.env ?? []).filter(({ value }) => referencesOf(value).includes(params.secret));
        if (users.length > 0) {
          const names = users.map(({ name }) => name);
          throw new Problem(
            'in_use',
            `The secret "${params.secret}" is what ${names.join(', ')} refer${names.length === 1 ? 's' : ''} to; change that first.`,
            { details: { variables: names } },
          );
        }
        await secrets.remove(app, params.secret);
        audit(request, environment, 'secret.delete', params.secret);
        return { status: 204 };
      },
    }),
    route({
      ...restartSchema,
      method: 'POST',
      path: `${path}/restart`,
      access: { project: 'deployer' },
      tag,
      summary: 'Deploys what the app runs, or was last to run, once more, with its variables and secrets of now.',
      async handle(request) {
        const { environment, app } = await findLivingApp(kube, request);
        const workloadId = workloadIdOf(app);
        const actor = sessionOf(request).email;
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: async (client) => {
            const same = sameImage(await restartTarget(client, workloadId));
            return { workloadId, trigger: 'manual', ...same, actor };
          },
        });
      },
    }),
  ];
}
