import type { Pool } from 'pg';
import type { App, ReleaseStatus } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import type { DeploymentTrigger } from '../../../runtime/domain/deployment.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { workloadFinalizer, workloadLabels } from '../../../runtime/domain/labels.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { listDeployments, type Deployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import type { FakeKube } from '../../support/fake-kube.ts';

export const namespace = 'shop-prod';

/** An App as the API server stores it after its creation. */
export function appObject(name: string, id: Id): App {
  return {
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name, namespace, labels: workloadLabels({ kind: 'App', name, id }), finalizers: [workloadFinalizer] },
    spec: { image: `r/${name}:0`, port: 8080, replicas: 1 },
  };
}

/** An app to deploy to: its object in Kubernetes and its row. */
export interface TestApp {
  id: Id;
  name: string;
  accept(image: string, trigger?: DeploymentTrigger): Promise<Id>;
  history(): Promise<Deployment[]>;
  object(): Promise<App>;
  /** Does what the App controller does when it sees the state of the pods. */
  report(status: Pick<ReleaseStatus, 'phase' | 'message'>): Promise<void>;
}

export async function testApp(pool: Pool, kube: FakeKube, name: string): Promise<TestApp> {
  const id = newId();
  kube.seed(appObject(name, id));
  const workload = { id, environmentId: newId(), project: 'shop', environment: 'prod', namespace, name };
  await projectWorkload(pool, { ...workload, kind: 'App', gated: false });
  const get = async () => {
    const app = await kube.get<App>(kinds.App, name, namespace);
    if (!app) throw new Error('the App is gone');
    return app;
  };
  return {
    id,
    name,
    accept: async (image, trigger = 'webhook') =>
      (await transaction(pool, (client) => acceptDeployment(client, { workloadId: id, trigger, image }))).id,
    history: () => listDeployments(pool, id, { limit: 100 }),
    object: get,
    async report(status) {
      const app = await get();
      if (!app.spec.release) throw new Error('the App has no release');
      const { generation, deploymentId } = app.spec.release;
      await kube.replaceStatus<App>({ ...app, status: { release: { generation, deploymentId, ...status } } });
    },
  };
}
