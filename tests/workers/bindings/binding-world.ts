import type { Test } from 'tap';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import type { ServiceCredentials } from '../../../runtime/contracts/api/services.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Binding } from '../../../runtime/contracts/resources/binding.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { jobSpec, type JobResource } from '../../../runtime/contracts/resources/job.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import {
  credentialsName,
  type ServiceResource,
  type ServiceSpec,
  type ServiceStatus,
} from '../../../runtime/contracts/resources/service.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { readBinding } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { credentialsData } from '../../../runtime/services/credentials.ts';
import { workloadIdOf, type Configurable } from '../../../runtime/workloads/objects.ts';
import { projectBindings } from '../../../runtime/records/bindings.ts';
import { markWorkloadDeleted, projectWorkload } from '../../../runtime/records/workloads.ts';
import { createBindingProcessor } from '../../../workers/bindings/process.ts';
import { handOverBindings, type BindingRecords } from '../../../workers/controllers/bindings.ts';
import { createRemoteServers } from '../../../workers/bindings/remote-server.ts';
import { testClients } from '../../support/clients.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const namespace = 'shop-prod';

/** Functions, apps, jobs and services of one environment, and the queue that processes their bindings. */
export async function bindingWorld(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const spec: PlatformConfigSpec = {
    appsDomain: 'apps.test',
    cluster: 'local',
    scheme: 'http',
    entryPoints: ['web'],
    // Addresses that a platform admin cannot open. The tests' servers listen only there.
    runtimeImages: { node: 'r/node:1' },
    allowPrivateNetworks: ['127.0.0.0/8'],
  };
  const settings: PlatformConfig = {
    apiVersion: 'platform.svc/v1',
    kind: 'PlatformConfig',
    metadata: { name: 'platform' },
    spec,
    status: { accepted: { generation: 1, spec } },
  };
  kube.seed(settings);
  const records: BindingRecords = { projectBindings: (id, bindings) => projectBindings(pool, id, bindings) };
  const process = createBindingProcessor({ pool, kube, clock: systemClock, open: createRemoteServers(testClients(t)) });

  const addWorkload = async <Workload extends Configurable>(
    kind: Workload['kind'],
    name: string,
    spec: Workload['spec'],
  ) => {
    const id = newId();
    const metadata = { name, namespace, labels: workloadLabels({ kind, name, id }) };
    await kube.create<Workload>({ apiVersion: 'platform.svc/v1', kind, metadata, spec } as Workload);
    const workload = { id, environmentId: newId(), project: 'shop', environment: 'prod', namespace, name };
    await projectWorkload(pool, { ...workload, kind, gated: false });
    const ref = { apiVersion: 'platform.svc/v1', kind, namespace, name };
    const object = async (): Promise<Stored<Workload>> => {
      const current = await kube.get<Workload>(kinds[kind], name, namespace);
      if (!current) throw new Error('the workload is gone');
      return current;
    };
    const configurable = async () => (await object()) as Stored<Configurable>;
    return {
      object,
      /** Acts as the API and the controller do. */
      async bind(...bindings: Binding[]) {
        await kube.mergePatch(ref, { spec: { bindings } });
        await handOverBindings(kube, records, await configurable(), workload);
      },
      /** Gives a function a MinIO trigger for a bucket of a service. */
      async listen(source: string, bucket: string) {
        await kube.mergePatch(ref, { spec: { events: { type: 'minio', source, bucket } } });
        await handOverBindings(kube, records, await configurable(), workload);
      },
      /** Says, as the controller does, that pods get the variables of the bindings. */
      async apply() {
        const { status, ...rest } = await configurable();
        const bindings = status?.bindings?.map((one) => ({ ...one, applied: true })) ?? [];
        await kube.replaceStatus<Configurable>({ ...rest, status: { ...status, bindings } } as Stored<Configurable>);
      },
      async remove() {
        await kube.delete(ref);
        await projectBindings(pool, id, []);
        await markWorkloadDeleted(pool, id);
      },
      status: async (service: string) =>
        (await object()).status?.bindings?.find((binding) => binding.service === service),
      credentials: async (service: string) => {
        const current = await readBinding(kube, await configurable(), service);
        if (!current) throw new Error('there are no credentials');
        return current;
      },
    };
  };
  const addFunction = (name: string) =>
    addWorkload<FunctionResource>('Function', name, {
      runtime: 'node',
      code: 'x',
      trigger: 'http',
      port: 8080,
      idleTimeoutSeconds: 300,
    });
  const addJob = (name: string) => addWorkload<JobResource>('Job', name, jobSpec.parse({ image: 'r/x:1' }));
  const addApp = (name: string) => addWorkload<App>('App', name, { image: 'r/x:1', port: 8080, replicas: 1 });

  const addService = async (
    name: string,
    spec: ServiceSpec,
    { status, credentials }: { status: ServiceStatus; credentials: ServiceCredentials },
  ) => {
    const service = await kube.create<ServiceResource>({
      apiVersion: 'platform.svc/v1',
      kind: 'Service',
      metadata: { name, namespace, labels: workloadLabels({ kind: 'Service', name, id: newId() }) },
      spec,
    });
    await kube.replaceStatus({ ...service, status });
    await kube.create(ownedSecret(service, credentialsName(name), credentialsData(credentials)));
    return workloadIdOf(service);
  };

  /** Runs all binding work that is due, as the queue does. @returns the outcomes of the attempts */
  const work = async () => {
    const { rows } = await pool.query<{ id: string; recordId: string }>(
      `SELECT id, record_id AS "recordId" FROM work WHERE kind = 'bindings' AND state = 'pending' AND due_at <= now()`,
    );
    const outcomes = [];
    for (const { id, recordId } of rows) {
      const attempt: Attempt = {
        recordId,
        attempt: 1,
        last: false,
        signal: new AbortController().signal,
        log: silentLog,
      };
      const outcome = await process(attempt);
      outcomes.push(outcome);
      const due = outcome === 'done' ? 'infinity' : outcome.again;
      await pool.query(`UPDATE work SET due_at = $2 WHERE id = $1`, [id, due]);
    }
    return outcomes;
  };
  /** Makes postponed work due, and runs it. */
  const workLater = async () => {
    await pool.query(`UPDATE work SET due_at = now() WHERE due_at < 'infinity'`);
    return work();
  };

  return { kube, pool, addFunction, addApp, addJob, addService, work, workLater };
}

/** A managed service at this address. */
export function runningAt({ host, port }: { host: string; port: number }): ServiceStatus {
  return { phase: 'ready', host, port };
}
