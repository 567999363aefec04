import type { Test } from 'tap';
import { createHistoryRoutes } from '../../functions/history/handler.ts';
import type { OtherSettings, RevisionSettings } from '../../runtime/contracts/resources/app-settings.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ProjectRole } from '../../runtime/domain/roles.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Session } from '../../runtime/http/route.ts';
import { acceptDeployment, type NewDeployment } from '../../runtime/records/acceptance.ts';
import { startDeployment, succeedDeployment } from '../../runtime/records/deployments.ts';
import { projectWorkload } from '../../runtime/records/workloads.ts';
import { ownedSecret } from '../../runtime/workloads/owned-secret.ts';
import { testApi, testSession } from './api.ts';
import { fakeKube } from './fake-kube.ts';
import { environmentId, seedShop } from './objects.ts';
import { testDatabase } from './postgres.ts';

interface Rollout extends Partial<NewDeployment> {
  settings?: RevisionSettings;
  otherSettings?: OtherSettings;
  /** The environment of its pods; its name is derived from the revision. */
  environment?: Record<string, string>;
  envSecret?: string;
}

/** An app whose caller has a role, with functions that roll out revisions. */
export async function revisionsOfApp(
  t: Test,
  { role = 'deployer', token }: { role?: ProjectRole; token?: Session['token'] } = {},
) {
  const kube = fakeKube();
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const workloadId = newId();
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: {
      name: 'api',
      namespace: 'shop-prod',
      labels: workloadLabels({ kind: 'App', name: 'api', id: workloadId }),
    },
    spec: { image: 'api:1', port: 8080, replicas: 1 },
  });
  await projectWorkload(pool, {
    id: workloadId,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const api = await testApi(t, {
    routes: createHistoryRoutes({
      kube,
      pool,
      baseUrl: 'http://console.test',
      verifyToken: () => Promise.reject(new Problem('invalid_webhook_token', 'No.')),
    }),
    authenticate: () => Promise.resolve({ ...testSession, role: 'member', ...(token && { token }) }),
    authorize: () => Promise.resolve({ projectId: newId(), role }),
  });
  const app = (): Stored<App> => {
    const [object] = kube.all<App>(kinds.App);
    if (!object) throw new Error('no app');
    return object;
  };
  const rollOut = async ({ settings, otherSettings, environment, envSecret, ...more }: Rollout = {}) => {
    const { id, revision } = await acceptDeployment(pool, { workloadId, trigger: 'manual', image: 'api:1', ...more });
    const name = envSecret ?? (environment && `app-api-env-${revision}`);
    if (environment && name !== undefined) {
      const data = Object.entries(environment).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
      kube.seed(ownedSecret(app(), name, Object.fromEntries(data) as Record<string, string>));
    }
    const applied = settings && { settings, envSecret: name, ...(otherSettings && { otherSettings }) };
    await startDeployment(pool, id, applied);
    await succeedDeployment(pool, id);
    return { id, revision: revision ?? 0, envSecret: name };
  };
  const change = (spec: Partial<App['spec']>) => kube.replace<App>({ ...app(), spec: { ...app().spec, ...spec } });
  const read = (revision: number | string, query = '') =>
    api.call('GET', `/api/v1/projects/shop/apps/api/revisions/${revision}${query}`);
  return { kube, app, rollOut, change, read };
}

/** Variables by name, as an App has them. */
export function variables(values: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
