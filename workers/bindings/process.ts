import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { createOwnerShares } from '../../runtime/bus/owner-shares.ts';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { bindingStatus, type Binding, type BindingStatus } from '../../runtime/contracts/resources/binding.ts';
import { kinds, workloadResources } from '../../runtime/contracts/resources/kinds.ts';
import { passwordField, usernameField, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { dayMs } from '../../runtime/domain/period.ts';
import type { NameLookup } from '../../runtime/process/name-lookup.ts';
import { NoClientError } from '../../runtime/process/client-pool.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  bindingData,
  bindingSecretName,
  boundCredentials,
  type BoundCredentials,
} from '../../runtime/workloads/bindings.ts';
import { changeOwnedSecret } from '../../runtime/workloads/owned-secret.ts';
import { serviceEndpoint } from '../../runtime/services/address.ts';
import { isLiving, type Configurable } from '../../runtime/workloads/objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import { countFailures, findBinding, deleteBindingRecord, type BindingRecord } from '../../runtime/records/bindings.ts';
import { removeDropped, reportBinding } from './report.ts';
import { BindingError } from './server.ts';
import type { OpenServer } from './open-server.ts';
import { createProvisioner, type Plan } from './provision.ts';

export interface BindingsDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'create' | 'replace' | 'replaceStatus'>;
  clock: Pick<Clock, 'now'>;
  /** How a server is opened; default: in this process. */
  open?: OpenServer;
  /** Resolves the names of external services; default: the system's resolver. */
  names?: NameLookup;
  /** Default: random. */
  makePassword?: () => string;
}

/** Retry delay for a service that is starting, or after a concurrent change. */
const soonMs = 1_000;
/** What a project uses of the queue: half (decision 0082). */
const share = { perOwner: catalogue.bindings.places / 2, waitMs: 3_000, soonMs, spacingMs: 100 };
/** Retry delay after a failure; it doubles with each, up to the maximum. */
const failingMs = 2_000;
const failingMaxMs = 10 * 60_000;
/** Retry delay for a server that cannot send notifications yet, because it was started by an older version. */
const noEventsMs = 10 * 60_000;
/** Interval after which manual changes on a server are reverted. */
const recheckMs = dayMs;

/**
 * Provisions one binding, or removes it, depending on the workload's spec. Every step is idempotent: the password is
 * stored before it is set on the server, so that each attempt sets the same one. A refusal of the service is no failure of
 * the work: it is reported in the workload's status and retried.
 */
export function createBindingProcessor(dependencies: BindingsDependencies): Processor {
  const { pool, kube, clock, makePassword = () => randomBytes(24).toString('base64url') } = dependencies;
  const provisioner = createProvisioner(dependencies);
  const shares = createOwnerShares(clock, catalogue.bindings, share);
  const again = (ms: number): Outcome => ({ again: new Date(clock.now().getTime() + ms) });
  const retryLater = async ({ id, failures }: BindingRecord) => {
    await countFailures(pool, id, failures + 1);
    return again(Math.min(failingMaxMs, failingMs * 2 ** Math.min(failures, 10)));
  };

  const findService = ({ service, namespace }: BindingRecord) =>
    kube.get<ServiceResource>(kinds.ServiceResource, service, namespace);

  /** Stores the credentials of this version of the binding. @returns the password, which stays the same for a version */
  const storeCredentials = async (
    resource: Stored<Configurable>,
    { service, version }: Binding,
    endpoint: Pick<BoundCredentials, 'type' | 'host' | 'port' | 'tls'>,
    plan: Plan,
  ): Promise<string> => {
    let password = '';
    await changeOwnedSecret(kube, resource, bindingSecretName(resource, service), (data) => {
      const previous = boundCredentials(data);
      const isSame = previous?.version === version && previous[usernameField(previous.type)] === plan.username;
      password = (isSame && previous[passwordField(previous.type)]) || makePassword();
      const next = bindingData({ ...plan.credentials(password), ...endpoint }, version);
      return sameData(data, next) ? data : next;
    });
    return password;
  };

  const bind = async (record: BindingRecord, resource: Stored<Configurable>, binding: Binding) => {
    const { service: name, version } = binding;
    const report = (status: Pick<BindingStatus, 'phase' | 'message' | 'database'>) =>
      reportBinding(kube, resource, { service: name, version, ...status });
    const service = await findService(record);
    if (!service || service.metadata.deletionTimestamp !== undefined) {
      await report({ phase: 'failed', message: `The service "${name}" does not exist in this environment.` });
      return retryLater(record);
    }
    if (service.status?.phase !== 'ready') {
      await report({ phase: 'pending', message: service.status?.message ?? 'The service is starting.' });
      return again(soonMs);
    }
    const previous = bindingStatus(resource, binding);
    const plan = await provisioner.plan(record, resource.spec, binding, service);
    const database = plan.database !== undefined && { database: plan.database };
    try {
      if (previous === undefined) await report({ phase: 'pending', message: 'Credentials are being created.' });
      const { type, external } = service.spec;
      const endpoint = { type, ...serviceEndpoint(service), tls: external?.tls ?? false };
      const password = await storeCredentials(resource, binding, endpoint, plan);
      const hasEvents = await provisioner.create(record, service, plan, password);
      await report({ phase: 'ready', ...database });
      if (record.failures > 0) await countFailures(pool, record.id, 0);
      return again(hasEvents ? recheckMs : noEventsMs);
    } catch (error) {
      if (!(error instanceof BindingError || error instanceof Problem)) throw error;
      // A binding that worked stays ready while its service is unavailable.
      if (previous?.phase !== 'ready') await report({ phase: 'failed', message: error.message, ...database });
      return retryLater(record);
    }
  };

  const unbind = async (record: BindingRecord, resource?: Stored<Configurable>, dropped?: Binding) => {
    const service = await findService(record);
    const liveService = service?.metadata.deletionTimestamp === undefined && service;
    try {
      if (liveService) await provisioner.remove(record, liveService, dropped);
    } catch (error) {
      if (!(error instanceof BindingError)) throw error;
      if (resource && dropped) {
        const { service: name, version } = dropped;
        await reportBinding(kube, resource, { service: name, version, phase: 'failed', message: error.message });
      }
      return retryLater(record);
    }
    if (resource && dropped) await removeDropped(kube, resource, dropped.service);
    await deleteBindingRecord(pool, record.id);
    // The binding may have been added again meanwhile.
    return again(soonMs);
  };

  const provision = async (record: BindingRecord, { log }: Attempt): Promise<Outcome> => {
    const current = await kube.get<Configurable>(workloadResources[record.kind], record.name, record.namespace);
    const resource = current && isLiving(current, record.workloadId) ? current : undefined;
    const binding = resource?.spec.bindings?.find(({ service }) => service === record.service);
    const { namespace, kind, name, service } = record;
    log.debug({ namespace, kind, name, service, bound: binding !== undefined }, 'binding');
    try {
      if (resource && binding && binding.dropDatabase !== true) return await bind(record, resource, binding);
      return await unbind(record, resource, binding);
    } catch (error) {
      if (error instanceof NoClientError) return again(soonMs);
      throw error;
    }
  };

  return async (attempt) => {
    const record = await findBinding(pool, attempt.recordId);
    return record ? shares.run(record.project, attempt, () => provision(record, attempt)) : 'done';
  };
}

function sameData(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
