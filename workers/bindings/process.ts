import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  bindingStatus,
  type FunctionBinding,
  type FunctionBindingStatus,
  type FunctionResource,
} from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { passwordField, usernameField, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  bindingData,
  bindingSecretName,
  boundCredentials,
  type BoundCredentials,
} from '../../runtime/host/function-bindings.ts';
import { changeOwnedSecret } from '../../runtime/host/owned-secret.ts';
import { serviceEndpoint } from '../../runtime/host/service-address.ts';
import { isLiving } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  countFailures,
  findBinding,
  forgetBinding,
  type BindingRecord,
} from '../../runtime/records/function-bindings.ts';
import { removeDropped, reportBinding } from './report.ts';
import { BindingError } from './server.ts';
import { createWayIn, type Plan } from './way-in.ts';

export interface BindingsDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'create' | 'replace' | 'replaceStatus'>;
  clock: Pick<Clock, 'now'>;
  /** For tests. */
  makePassword?: () => string;
}

/** A service that is starting, or something that changed meanwhile: again soon. */
const soonMs = 1_000;
/** After a refusal, doubled with each more, at most this. */
const failingMs = 2_000;
const failingMaxMs = 10 * 60_000;
/** A server of an older version tells of no bucket; one that is started anew does. */
const untoldMs = 10 * 60_000;
/** What somebody undid by hand on a server is mended then. */
const recheckMs = 24 * 3_600_000;

/**
 * Brings one binding about, or takes back what was made for it; the function's spec says which. Everything may be done
 * twice: the password is kept before the server hears of it, so that every attempt gives it the same one. What a service
 * refuses is no failure of the work: it is told in the function's status, and tried again.
 */
export function createBindingProcessor(dependencies: BindingsDependencies): Processor {
  const { pool, kube, clock, makePassword = () => randomBytes(24).toString('base64url') } = dependencies;
  const wayIn = createWayIn(dependencies);
  const again = (ms: number): Outcome => ({ again: new Date(clock.now().getTime() + ms) });
  const refused = async ({ id, failures }: BindingRecord) => {
    await countFailures(pool, id, failures + 1);
    return again(Math.min(failingMaxMs, failingMs * 2 ** Math.min(failures, 10)));
  };

  const findService = ({ service, namespace }: BindingRecord) =>
    kube.get<ServiceResource>(kinds.ServiceResource, service, namespace);

  /** Keeps the credentials of this version of the binding with the function. @returns the password, made once */
  const keep = async (
    resource: Stored<FunctionResource>,
    { service, version }: FunctionBinding,
    place: Pick<BoundCredentials, 'type' | 'host' | 'port' | 'tls'>,
    plan: Plan,
  ): Promise<string> => {
    let password = '';
    await changeOwnedSecret(kube, resource, bindingSecretName(resource.metadata.name, service), (data) => {
      const before = boundCredentials(data);
      const same = before?.version === version && before[usernameField(before.type)] === plan.username;
      password = (same && before[passwordField(before.type)]) || makePassword();
      const next = bindingData({ ...plan.credentials(password), ...place }, version);
      return sameData(data, next) ? data : next;
    });
    return password;
  };

  const bind = async (record: BindingRecord, resource: Stored<FunctionResource>, binding: FunctionBinding) => {
    const { service: name, version } = binding;
    const report = (status: Pick<FunctionBindingStatus, 'phase' | 'message' | 'database'>) =>
      reportBinding(kube, resource, { service: name, version, ...status });
    const service = await findService(record);
    if (!service || service.metadata.deletionTimestamp !== undefined) {
      await report({ phase: 'failed', message: `There is no service "${name}" in this environment.` });
      return refused(record);
    }
    if (service.status?.phase !== 'ready') {
      await report({ phase: 'pending', message: service.status?.message ?? 'The service is starting.' });
      return again(soonMs);
    }
    const before = bindingStatus(resource, binding);
    const plan = await wayIn.plan(record, resource.spec, binding, service);
    const shown = plan.database !== undefined && { database: plan.database };
    try {
      if (before === undefined) await report({ phase: 'pending', message: 'The way into the service is being made.' });
      const { type, external } = service.spec;
      const place = { type, ...serviceEndpoint(service), tls: external?.tls ?? false };
      const password = await keep(resource, binding, place, plan);
      const told = await wayIn.make(record, service, plan, password);
      await report({ phase: 'ready', ...shown });
      if (record.failures > 0) await countFailures(pool, record.id, 0);
      return again(told ? recheckMs : untoldMs);
    } catch (error) {
      if (!(error instanceof BindingError || error instanceof Problem)) throw error;
      // One that was made stays so while its service is away.
      if (before?.phase !== 'ready') await report({ phase: 'failed', message: error.message, ...shown });
      return refused(record);
    }
  };

  const unbind = async (record: BindingRecord, resource?: Stored<FunctionResource>, dropped?: FunctionBinding) => {
    const service = await findService(record);
    const there = service?.metadata.deletionTimestamp === undefined && service;
    try {
      if (there) await wayIn.remove(record, there, dropped);
    } catch (error) {
      if (!(error instanceof BindingError)) throw error;
      if (resource && dropped) {
        const { service: name, version } = dropped;
        await reportBinding(kube, resource, { service: name, version, phase: 'failed', message: error.message });
      }
      return refused(record);
    }
    if (resource && dropped) await removeDropped(kube, resource, dropped.service);
    await forgetBinding(pool, record.id);
    // Somebody may have asked for it again meanwhile.
    return again(soonMs);
  };

  return async ({ recordId, log }) => {
    const record = await findBinding(pool, recordId);
    if (!record) return 'done';
    const found = await kube.get<FunctionResource>(kinds.Function, record.name, record.namespace);
    const resource = found && isLiving(found, record.workloadId) ? found : undefined;
    const binding = resource?.spec.bindings?.find(({ service }) => service === record.service);
    const { namespace, name, service } = record;
    log.debug({ namespace, function: name, service, bound: binding !== undefined }, 'binding');
    if (resource && binding && binding.dropDatabase !== true) return bind(record, resource, binding);
    return unbind(record, resource, binding);
  };
}

function sameData(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
