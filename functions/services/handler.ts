import {
  serviceAccess,
  serviceCreate,
  serviceView,
  type ServiceCredentials,
} from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { credentialsName, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { checkStorageQuota } from '../../runtime/api/quota.ts';
import { checkStorageClass } from '../../runtime/api/storage-class.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { credentialsData, readCredentials } from '../../runtime/services/credentials.ts';
import { deleteWorkload, type Configurable } from '../../runtime/workloads/objects.ts';
import { changeOwnedSecret } from '../../runtime/workloads/owned-secret.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { newServiceSpec } from './check.ts';
import { serviceToAccess, serviceToView } from './view.ts';

/** `/projects/{project}/services`: Service objects of the platform, which the Service controller reconciles. */
export function createServiceRoutes({ kube }: { kube: KubeClient }): Route[] {
  const services = objectRoutes<ServiceResource>(kube, 'Service');
  /** Stores the credentials; when that fails, it deletes the service, which would be unusable without them. */
  const storeCredentials = async (service: Stored<ServiceResource>, credentials: ServiceCredentials) => {
    try {
      const data = credentialsData(credentials);
      await changeOwnedSecret(kube, service, credentialsName(service.metadata.name), () => data);
    } catch (error) {
      await deleteWorkload(kube, service).catch(() => undefined);
      throw error;
    }
    return service;
  };

  return [
    ...services.collection({
      view: serviceView,
      viewer: (environment) => (service) => serviceToView(service, environment),
      create: {
        summary: 'Creates a database, cache or object store, or registers an external one.',
        body: serviceCreate,
        async prepare({ body, environment }) {
          const spec = newServiceSpec(body, await readPlatformConfig(kube));
          if (spec.storage) {
            await checkStorageClass(kube, spec.storage.storageClass);
            await checkStorageQuota(kube, environment, spec.storage.size);
          }
          const { credentials } = body;
          return { spec, ...(credentials && { complete: (service) => storeCredentials(service, credentials) }) };
        },
      },
      list: { summary: 'Lists the services of an environment by name.' },
      read: { summary: 'Shows a service and its address.' },
      delete: {
        summary: 'Deletes a service; for a managed service, all its data too. 202 while the deletion is in progress.',
        role: 'admin',
        check: (service) => checkUnbound(kube, service),
      },
    }),
    services.route({
      method: 'GET',
      path: '/credentials',
      access: { project: 'admin' },
      summary: 'Shows a service’s connection details and credentials. The access is recorded in the audit log.',
      audit: 'service.credentials.reveal',
      replies: { 200: serviceAccess },
      async handle({ name, findLiving }) {
        const service = await findLiving();
        const credentials = await readCredentials(kube, service);
        if (!credentials && !service.spec.external) {
          throw new Problem('not_ready', `The service "${name}" has no credentials yet. Try again in a moment.`);
        }
        return { status: 200, body: serviceToAccess(service, credentials ?? {}) };
      },
    }),
  ];
}

/** @throws Problem `in_use` that names the workloads that are bound to the service */
async function checkUnbound(
  kube: KubeClient,
  { metadata: { name, namespace } }: Stored<ServiceResource>,
): Promise<void> {
  const options = namespace === undefined ? {} : { namespace };
  const [apps, functions, jobs] = await Promise.all([
    kube.list<App>(kinds.App, options),
    kube.list<FunctionResource>(kinds.Function, options),
    kube.list<JobResource>(kinds.Job, options),
  ]);
  const isBound = ({ metadata, spec }: Configurable) =>
    metadata.deletionTimestamp === undefined && spec.bindings?.some(({ service }) => service === name) === true;
  const users = {
    app: apps.items.filter(isBound),
    function: functions.items.filter(isBound),
    job: jobs.items.filter(isBound),
  };
  const triggered = namesOf(users.function.filter(({ spec }) => spec.events?.source === name));
  const listed = (kind: string, names: string[]) => `the ${kind}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
  const bound = Object.entries(users).filter(([, { length }]) => length > 0);
  if (bound.length === 0) return;
  const by = bound.map(([kind, workloads]) => listed(kind, namesOf(workloads))).join(' and ');
  const commands = bound.map(([kind]) => `svc ${kind} unbind`).join(', ');
  const message = `The service "${name}" is used by ${by}. Unbind it first (${commands}).`;
  const events = `It is the event source of ${listed('function', triggered)}: change their trigger before that (svc function update).`;
  throw new Problem('in_use', triggered.length > 0 ? `${message} ${events}` : message, {
    details: { apps: namesOf(users.app), functions: namesOf(users.function), jobs: namesOf(users.job) },
  });
}

function namesOf(workloads: readonly Configurable[]): string[] {
  return workloads.map(({ metadata }) => metadata.name);
}
