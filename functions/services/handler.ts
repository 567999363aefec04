import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { credentialsName, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { checkWorkloadName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { changeOwnedSecret } from '../../runtime/host/owned-secret.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { credentialsData, readCredentials } from '../../runtime/host/service-credentials.ts';
import { checkStorageClass } from '../../runtime/host/storage-class.ts';
import { createWorkload, newWorkloadMetadata } from '../../runtime/host/workload-create.ts';
import { deleteWorkload, getLivingWorkload, getWorkload } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { newServiceSpec } from './check.ts';
import {
  createServiceSchema,
  deleteServiceSchema,
  getCredentialsSchema,
  getServiceSchema,
  listServicesSchema,
} from './schema.ts';
import { serviceToAccess, serviceToView } from './view.ts';

const tag = 'services';
const collection = '/projects/:project/services';
const path = `${collection}/:service`;

/** `/projects/{p}/services`: Service objects of the platform, whose controller runs the servers. */
export function createServiceRoutes({ kube }: { kube: KubeClient }): Route[] {
  /** Nothing stays behind a refusal: a service that cannot be entered is of no use. */
  const keepCredentials = async (service: Stored<ServiceResource>, credentials: ServiceCredentials) => {
    try {
      const data = credentialsData(credentials);
      await changeOwnedSecret(kube, service, credentialsName(service.metadata.name), () => data);
    } catch (error) {
      await deleteWorkload(kube, service).catch(() => undefined);
      throw error;
    }
  };

  return [
    route({
      ...createServiceSchema,
      method: 'POST',
      path: collection,
      access: { project: 'deployer' },
      tag,
      summary: 'Creates a database, cache or object store, or registers one that runs elsewhere.',
      async handle(request) {
        const { params, query, body, log } = request;
        checkWorkloadName(body.name);
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const spec = newServiceSpec(body, await readPlatformConfig(kube));
        if (spec.storage) await checkStorageClass(kube, spec.storage.storageClass);
        const { apiVersion, kind } = kinds.ServiceResource;
        const metadata = newWorkloadMetadata('Service', body.name, environment);
        const created = await createWorkload<ServiceResource>(
          kube,
          { apiVersion, kind, metadata, spec } as ServiceResource,
          { environment },
        );
        if (body.credentials) await keepCredentials(created, body.credentials);
        const { namespace } = environment;
        const external = spec.external !== undefined;
        log.info(
          { service: body.name, namespace, type: spec.type, external, actor: sessionOf(request).email },
          'service created',
        );
        return { status: 201, body: serviceToView(created, environment) };
      },
    }),
    route({
      ...listServicesSchema,
      method: 'GET',
      path: collection,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the services of an environment by name.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { namespace } = environment;
        const { items } = await kube.list<ServiceResource>(kinds.ServiceResource, { namespace });
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: page.items.map((each) => serviceToView(each, environment)) } };
      },
    }),
    route({
      ...getServiceSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a service and where it is reached.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const service = await getWorkload<ServiceResource>(kube, 'Service', environment, params.service);
        return { status: 200, body: serviceToView(service, environment) };
      },
    }),
    route({
      ...getCredentialsSchema,
      method: 'GET',
      path: `${path}/credentials`,
      access: { project: 'admin' },
      tag,
      summary: 'Shows the way into a service; the log tells who saw it.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const service = await getLivingWorkload<ServiceResource>(kube, 'Service', environment, params.service);
        const credentials = await readCredentials(kube, service);
        if (!credentials && !service.spec.external) {
          throw new Problem(
            'not_ready',
            `The service "${params.service}" has no credentials yet; try again in a moment.`,
          );
        }
        const { project, environment: name } = environment;
        const who = { actor: sessionOf(request).email, project, environment: name, service: params.service };
        log.info({ action: 'secret.reveal', ...who }, 'secret revealed');
        return { status: 200, body: serviceToAccess(service, credentials ?? {}) };
      },
    }),
    route({
      ...deleteServiceSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a service, and all its data when the platform runs it; 202 while that goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const service = await getWorkload<ServiceResource>(kube, 'Service', environment, params.service);
        await refuseBound(kube, service);
        const left = await deleteWorkload(kube, service);
        const { namespace } = environment;
        log.info({ service: params.service, namespace, actor: sessionOf(request).email }, 'service deleted');
        return left ? { status: 202, body: serviceToView(left, environment) } : { status: 204 };
      },
    }),
  ];
}

/** @throws Problem `in_use` while functions are bound to the service, which names them */
async function refuseBound(
  kube: KubeClient,
  { metadata: { name, namespace } }: Stored<ServiceResource>,
): Promise<void> {
  const { items } = await kube.list<FunctionResource>(kinds.Function, namespace === undefined ? {} : { namespace });
  const bound = items.filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && bindsTo(spec, name));
  if (bound.length === 0) return;
  const functions = namesOf(bound);
  const fed = namesOf(bound.filter(({ spec }) => spec.events?.source === name));
  const listed = (names: string[]) => `the function${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
  const message = `The service "${name}" is used by ${listed(functions)}; unbind first (svc function unbind).`;
  const events = `The events of ${listed(fed)} come from it: give another trigger before that (svc function update).`;
  throw new Problem('in_use', fed.length > 0 ? `${message} ${events}` : message, { details: { functions } });
}

function namesOf(functions: readonly FunctionResource[]): string[] {
  return functions.map(({ metadata }) => metadata.name);
}

function bindsTo({ bindings = [] }: FunctionSpec, service: string): boolean {
  return bindings.some((binding) => binding.service === service);
}
