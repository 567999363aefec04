import { isDeepStrictEqual } from 'node:util';
import {
  appliedConfigurationView,
  type AppliedConfigurationView,
  type AppliedObjects,
} from '../../runtime/contracts/api/applied-configurations.ts';
import { projectFileKinds } from '../../runtime/contracts/project-file.ts';
import { segment } from '../client.ts';
import { waitUntilRunning, waitUntilServing } from '../commands/app-wait.ts';
import { followDeployment } from '../commands/deployment.ts';
import { waitForUpdate } from '../commands/function-wait.ts';
import { waitUntilReady as waitUntilServiceReady } from '../commands/service.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { waitUntilReady } from '../project-view.ts';
import { askHidden } from '../prompt.ts';
import { waitForRemoval, type WaitFlags } from '../wait.ts';
import { isRecord } from './compare.ts';
import { mapLimited } from './parallel.ts';
import type { EnvironmentPlan, ObjectPlan, Plan } from './plan.ts';
import { sendObject, type Pending, type SecretValues } from './send.ts';

export interface ApplyFlags extends WaitFlags {
  api: string | undefined;
}

/** A change that was sent, and what to wait for. */
interface Sent {
  object: ObjectPlan;
  pending: Pending;
}

/**
 * Carries a plan out: creates the project and environments, sends the changes kind by kind, waits for them, and records
 * what was applied. A second call continues after a failure, since the record names what was begun.
 * @param values of secrets that objects need; others are asked for
 * @throws Failure with all changes that failed
 */
export async function applyPlan(context: Context, flags: ApplyFlags, plan: Plan, values: SecretValues): Promise<void> {
  const secrets = await missingSecrets(context, plan, values);
  await createEnvironments(context, flags, plan);
  for (const environment of plan.environments) {
    // A new environment of an existing project was created with its limits.
    const changesLimits = environment.limits.changes.length > 0 && (plan.isNewProject || !environment.isNew);
    await applyEnvironment(context, flags, { name: plan.file.name, environment, changesLimits, secrets });
  }
}

/** The values for the secrets that objects lack: from the file of values, or a prompt. @throws Failure (usage) */
async function missingSecrets(context: Context, { environments }: Plan, values: SecretValues): Promise<SecretValues> {
  const secrets = new Map<string, string>();
  const names = environments.flatMap(({ objects }) => objects.flatMap((object) => object.missingSecrets));
  for (const name of new Set(names)) {
    const instead = 'pass a file with lines NAME=value: --secrets-file <file>';
    secrets.set(name, values.get(name) ?? (await askHidden(context, `Value of the secret ${name}`, instead)));
  }
  return secrets;
}

function environmentsPath(project: string): string {
  return `/projects/${segment(project)}/environments`;
}

/** Creates what has no environment yet; objects need its namespace. */
async function createEnvironments(context: Context, flags: ApplyFlags, { file, isNewProject, environments }: Plan) {
  const api = context.api(flags);
  const added = environments.filter(({ isNew }) => isNew);
  if (isNewProject) {
    const names = added.map(({ environment }) => environment);
    await api.send('POST', '/projects', { body: { name: file.project, environments: names } });
    context.say(`project ${file.project} is created`);
  }
  for (const { environment, limits } of isNewProject ? [] : added) {
    const body = { name: environment, ...(limits.changes.length > 0 && { limits: limits.body }) };
    await api.send('POST', environmentsPath(file.project), { body });
    context.say(`environment ${environment} is created`);
  }
  if (added.length > 0) await waitUntilReady(context, flags, file.project);
}

async function applyEnvironment(
  context: Context,
  flags: ApplyFlags,
  {
    name,
    environment,
    changesLimits,
    secrets,
  }: { name: string; environment: EnvironmentPlan; changesLimits: boolean; secrets: SecretValues },
): Promise<void> {
  const { scope, limits, objects, desired, applied } = environment;
  const store = async (version: number, next: AppliedObjects): Promise<number> => {
    if (applied?.version === version && isDeepStrictEqual(applied.objects, next)) return version;
    const path = scope.path('applied-configurations', name);
    const body = { version, objects: next };
    return (await scope.api.call('PUT', path, appliedConfigurationView, { query: scope.query, body })).version;
  };
  const obsolete = objects.filter(({ action }) => action === 'forget' || action === 'delete');
  const before = withObjects(desired, applied, obsolete);
  const changes = objects.filter(({ action, missingSecrets: missing }) => action ?? missing.length > 0);
  // Names what is about to change before it changes, so that an apply that was cut off leaves nothing unrecorded.
  const changesNothing = !changesLimits && changes.every(({ action }) => action === 'forget');
  const started = changesNothing ? (applied?.version ?? 0) : await store(applied?.version ?? 0, union(before, applied));
  if (changesLimits) {
    const path = `${environmentsPath(scope.project)}/${segment(environment.environment)}`;
    await scope.api.send('PATCH', path, { body: { limits: limits.body } });
    context.say(`the limits of ${environment.environment} are changed`);
  }
  for (const kind of projectFileKinds) {
    const group = changes.filter((object) => object.kind === kind && isSent(object));
    const sent = await sendAll(context, environment, group, secrets);
    if (flags.wait) await awaitAll(context, flags, environment, sent);
  }
  await deleteRemoved(context, flags, environment);
  await store(
    started,
    withObjects(
      desired,
      applied,
      obsolete.filter(({ action }) => action === 'forget'),
    ),
  );
}

function isSent({ action, note }: ObjectPlan): boolean {
  return note === undefined && action !== 'forget' && action !== 'delete';
}

/** Sends the changes of one kind. @throws Failure that lists all that failed */
async function sendAll(
  context: Context,
  { scope }: EnvironmentPlan,
  objects: readonly ObjectPlan[],
  secrets: SecretValues,
): Promise<Sent[]> {
  const failures: string[] = [];
  const sent = await mapLimited(objects, async (object) => {
    const subject = `${object.kind.slice(0, -1)} ${object.name}`;
    try {
      const own = new Map([...secrets].filter(([name]) => object.missingSecrets.includes(name)));
      const pending = await sendObject(scope, object, own);
      context.say(`${subject} is ${object.action === 'create' ? 'created' : 'changed'}`);
      return { object, pending };
    } catch (error) {
      // A value that the API refuses fails one object; others may have changed, so the command ends with 1.
      if (!(error instanceof Failure) || error.exitCode === exitCodes.notSignedIn) throw error;
      failures.push(`${subject}: ${error.message}${error.code === undefined ? '' : ` (${error.code})`}`);
      return undefined;
    }
  });
  if (failures.length > 0) {
    throw new Failure(failures.join('\n'), {
      code: 'failed',
      hint: 'fix the file or the objects, then apply it again',
    });
  }
  return sent.filter((one) => one !== undefined);
}

/** Waits for changes one after the other; they proceed on the platform together. */
async function awaitAll(
  context: Context,
  flags: ApplyFlags,
  { scope }: EnvironmentPlan,
  sent: readonly Sent[],
): Promise<void> {
  for (const { object, pending } of sent) {
    const { kind, name } = object;
    if (pending === undefined) continue;
    if (typeof pending === 'object')
      await followDeployment(context, flags, scope, { app: name, id: pending.deployment });
    else if (kind === 'services') await waitUntilServiceReady(context, flags, scope, name);
    else if (kind === 'functions') await waitForUpdate(context, flags, scope, name);
    else if (pending === 'running') await waitUntilRunning(context, flags, scope, name);
    else await waitUntilServing(context, flags, scope, name);
  }
}

async function deleteRemoved(context: Context, flags: ApplyFlags, { scope, objects }: EnvironmentPlan): Promise<void> {
  for (const { kind, name, action, live } of objects) {
    if (action !== 'delete' || !live) continue;
    const subject = `${kind.slice(0, -1)} ${name}`;
    const path = scope.path(kind, kind === 'plans' ? live.id : name);
    await scope.api.send('DELETE', path, { query: scope.query });
    if (flags.wait && kind !== 'plans') {
      const read = () => scope.api.send('GET', path, { query: scope.query });
      const check = `svc ${kind.slice(0, -1)} show ${name} ${scope.flags}`;
      await waitForRemoval(context, flags, { subject, read, check });
    }
    context.say(`${subject} is deleted`);
  }
}

/** The record with objects that have left the file and still exist, so that a later prune finds them. */
function withObjects(
  desired: AppliedObjects,
  applied: AppliedConfigurationView | undefined,
  kept: readonly ObjectPlan[],
): AppliedObjects {
  const result = new Map(Object.entries(desired));
  for (const { kind, name } of kept) {
    result.set(kind, { ...result.get(kind), [name]: applied?.objects[kind]?.[name] ?? {} });
  }
  return Object.fromEntries(result);
}

/** The record with the settings that objects had before, too, so that those which are to be reset stay known. */
function union(desired: AppliedObjects, applied: AppliedConfigurationView | undefined): AppliedObjects {
  return merged(applied?.objects ?? {}, desired) as AppliedObjects;
}

/** Both objects' fields, and those of the objects in them; the second one's values count. */
function merged(first: unknown, second: unknown): unknown {
  if (!isRecord(first) || !isRecord(second)) return second;
  const result = new Map(Object.entries(first));
  for (const [key, value] of Object.entries(second)) result.set(key, merged(result.get(key), value));
  return Object.fromEntries(result);
}
