import type { Pool } from 'pg';
import type { RevisionView } from '../../runtime/contracts/api/revisions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { otherSettingsOf, settingsOf } from '../../runtime/contracts/resources/app-settings.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Variable } from '../../runtime/domain/variables.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { currentDeployment } from '../../runtime/records/deployments.ts';
import { findRevision, revisionBefore, variablesOfRevision, type Revision } from '../../runtime/records/revisions.ts';
import { currentCredentials } from '../../runtime/workloads/bound-environment.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { isOwned, type Secret } from '../../runtime/workloads/owned-secret.ts';
import { compareConfigurations, type Configuration } from './difference.ts';

interface Dependencies {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
}

interface RevisionRequest {
  app: Stored<App>;
  revision: number;
  compareWith: 'previous' | 'now' | number;
  /** Whether the caller may see the values that variables had, and not only those that they have now. */
  seesOldValues: boolean;
}

/**
 * A revision with its configuration, and what differs from another one. Values of secrets are compared and never returned.
 * @throws Problem `not_found` for a revision that the app does not have
 */
export async function readRevision(
  { kube, pool }: Dependencies,
  { app, revision, compareWith, seesOldValues }: RevisionRequest,
): Promise<RevisionView> {
  const workloadId = workloadIdOf(app);
  const find = async (number: number) => {
    const record = await findRevision(pool, workloadId, number);
    if (record) return record;
    throw new Problem('not_found', `The app has no revision ${number}; its revisions are in its history.`);
  };
  const record = await find(revision);
  const after = await configurationOf({ kube, pool }, app, record);
  const current = new Map(app.spec.env?.map(({ name, value }) => [name, value]));
  const maySee = ({ name, value }: Variable) => seesOldValues || current.get(name) === value;
  const other = compareWith === 'previous' ? await revisionBefore(pool, workloadId, revision) : compareWith;
  const before =
    other === 'now'
      ? await configurationNow({ kube, pool }, app, workloadId)
      : other !== undefined && (await configurationOf({ kube, pool }, app, await find(other)));
  const bound = new Set((await currentCredentials(kube, app)).values.map(({ name }) => name));
  const { settings, otherSettings, variables, secrets } = after;
  return {
    deployment: deploymentToView(record),
    ...(settings && { settings: { ...settings, volumes: settings.volumes ?? [], ...otherSettings } }),
    ...(variables && {
      variables: variables.map(({ name, value }) => ({ name, ...(maySee({ name, value }) && { value }) })),
    }),
    ...(secrets && { secrets: [...secrets.keys()] }),
    ...(before && {
      comparison: {
        ...(typeof other === 'number' && { revision: other }),
        ...compareConfigurations(before, after, { maySee, bound }),
      },
    }),
  };
}

async function configurationOf(
  { kube, pool }: Dependencies,
  app: Stored<App>,
  record: Revision,
): Promise<Configuration> {
  const { settings: stored, otherSettings, envSecret, workloadId, revision } = record;
  const deployment = deploymentToView(record);
  if (!stored) {
    return { deployment, settings: undefined, otherSettings: undefined, variables: undefined, secrets: undefined };
  }
  const { env: _, ...settings } = stored;
  const variables = await variablesOfRevision(pool, workloadId, revision);
  const secrets = await readSecretValues(kube, app, envSecret, variables);
  return { deployment, settings, otherSettings: otherSettings ?? undefined, variables, secrets };
}

/** The current state of the app: its settings and variables, of which pods may use older ones, and the secrets of its pods. */
async function configurationNow(
  { kube, pool }: Dependencies,
  app: Stored<App>,
  workloadId: Id,
): Promise<Configuration> {
  const { release } = app.spec;
  const { env = [], ...settings } = settingsOf(app.spec);
  const running = release && (await variablesOfRevision(pool, workloadId, release.generation));
  const current = await currentDeployment(pool, workloadId);
  return {
    deployment: current && deploymentToView(current),
    settings,
    otherSettings: otherSettingsOf(app.spec),
    variables: env,
    secrets: release && (await readSecretValues(kube, app, release.envSecret ?? null, running ?? env)),
  };
}

/**
 * The values in the environment of pods that are not those of variables, by name. Undefined when the environment was
 * deleted: those of the last ten revisions that succeeded are kept (decision 0014).
 */
async function readSecretValues(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  envSecret: string | null,
  variables: readonly Variable[] | undefined,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (envSecret === null) return new Map();
  const secret = await kube.get<Secret>(kinds.Secret, envSecret, app.metadata.namespace);
  if (!secret || !isOwned(secret, app)) return undefined;
  const own = new Set(variables?.map(({ name }) => name));
  const entries = Object.entries(secret.data ?? {}).filter(([name]) => !own.has(name));
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
