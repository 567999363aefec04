import { deploymentView, type DeploymentAccepted, type DeploymentView } from '../../runtime/contracts/api/apps.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, toggle } from '../flags.ts';
import { ago, fields, span, table, type OutputFormat, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { appKind } from './app-kind.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

/** The duration of an ended deployment: `3 minutes`. */
export function deploymentDuration({
  startedAt,
  endedAt,
}: Pick<DeploymentView, 'startedAt' | 'endedAt'>): string | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return span(Math.max(1, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)));
}

/** One deployment. */
export function deploymentOutput(deployment: DeploymentView): Output {
  const { promotedFrom } = deployment;
  return {
    data: deployment,
    table: fields([
      ['Deployment', deployment.id],
      ['App', deployment.app],
      ['Environment', deployment.environment],
      ['Revision', deployment.revision],
      ['Image', deployment.image && `${deployment.image}${deployment.imageDeleted ? ' (deleted)' : ''}`],
      ['Commit', deployment.commit],
      ['Message', deployment.commitMessage?.split('\n', 1)[0]],
      ['Author', deployment.commitAuthor],
      ['Branch', deployment.branch],
      ['Trigger', deployment.trigger],
      ['Promoted from', promotedFrom && `${promotedFrom.environment}, revision ${promotedFrom.revision}`],
      ['Actor', deployment.actor],
      ['Status', deployment.status],
      ['Digest', deployment.digest],
      ['Rollback of', deployment.rollbackOf],
      ['Rolled back to', deployment.rolledBackTo],
      ['Accepted', deployment.acceptedAt],
      ['Took', deploymentDuration(deployment)],
      ['Reason', deployment.reason],
    ]),
    names: [deployment.id],
  };
}

/** Returns a successful deployment. @throws Failure with the reason and the revision that runs now */
export async function checkSucceeded(scope: Scope, deployment: DeploymentView): Promise<DeploymentView> {
  if (deployment.status === 'succeeded') return deployment;
  const reason = deployment.reason === undefined ? '' : `: ${deployment.reason}`;
  throw new Failure(`Revision ${deployment.revision} of ${deployment.app} ${ended(deployment)}${reason}`, {
    code: `deployment_${deployment.status}`,
    hint: deployment.status === 'failed' ? await failureHint(scope, deployment) : undefined,
  });
}

async function failureHint(scope: Scope, { id, app, environment, rolledBackTo }: DeploymentView): Promise<string> {
  const appScope = { ...scope, query: { environment } };
  const log = `full logs: svc deployment logs ${id} --project ${scope.project}`;
  const rollback = rolledBackTo === undefined ? undefined : `rolling back to revision ${rolledBackTo}`;
  try {
    // With a volume for one node, the old pod is stopped before the new one starts.
    const serves = (await appKind.read(appScope, app)).readyReplicas > 0;
    const effect = serves ? 'the previous revision keeps serving' : `${app} has no running pods`;
    if (rollback !== undefined) return `${effect}: ${rollback}`;
    const history = await newestDeployments(appScope, app, 500);
    return history.some(({ current }) => current) ? `${effect}; ${log}` : `${app} has never run; ${log}`;
  } catch {
    return rollback ?? log;
  }
}

function ended({ status }: DeploymentView): string {
  return status === 'failed' ? 'failed' : `was ${status}`;
}

/** Waits until a deployment ends. @throws Failure with the reason when it does not succeed */
export async function followDeployment(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  { app, id }: { app: string; id: string },
): Promise<DeploymentView> {
  const deployment = await waitFor(
    context,
    flags,
    async () => {
      const current = await scope.api.call('GET', scope.path('deployments', id), deploymentView);
      if (hasEnded(current.status)) return { done: current };
      return { progress: await progressOf(scope, app, current) };
    },
    `svc app history ${app} ${scope.flags}`,
  );
  return checkSucceeded(scope, deployment);
}

async function progressOf(scope: Scope, app: string, { revision, status, reason }: DeploymentView): Promise<string> {
  const text = `${app} revision ${revision}: ${status.replace('_', ' ')}`;
  if (status === 'accepted' && reason !== undefined) return `${text}. ${reason.split('\n', 1)[0]}`;
  return status === 'rolling_out' ? `${text}${await podsOf(scope, app)}` : text;
}

/** How many of the new pods are ready; empty when that is unknown. */
async function podsOf(scope: Scope, app: string): Promise<string> {
  try {
    const { rollout, replicas } = await appKind.read(scope, app);
    return rollout ? `, ${rollout.readyReplicas} of ${replicas} new pods ready` : '';
  } catch {
    return '';
  }
}

/** Waits for an accepted deployment and prints it; with `--no-wait` prints that it is accepted. @throws Failure */
export async function printDeployment(
  context: Context,
  flags: WaitFlags & { output: OutputFormat | undefined },
  scope: Scope,
  { app, accepted }: { app: string; accepted: DeploymentAccepted },
): Promise<void> {
  if (flags.wait) {
    const deployment = await followDeployment(context, flags, scope, { app, id: accepted.id });
    context.print(deploymentOutput(deployment), flags.output);
    return;
  }
  const table = `revision ${accepted.revision} of ${app} is accepted`;
  context.print({ data: accepted, table, names: [accepted.id] }, flags.output);
}

/** The newest deployments of an app. */
export async function newestDeployments(scope: Scope, app: string, limit: number): Promise<DeploymentView[]> {
  const query = { ...scope.query, limit };
  return (await scope.api.call('GET', scope.path('apps', app, 'history'), page(deploymentView), { query })).items;
}

export const historyCommand = command({
  name: 'history',
  args: ['app'],
  description: 'List the deployments of an app, newest first. * marks the current one.',
  flags: {
    limit: amount('<n>', 'maximum number of results (default 20)', { min: 1, max: 500 }),
    wait: toggle('wait until no deployment is in progress'),
    timeout: waitFlags.timeout,
    ...scopeFlags,
  },
  data: deploymentView,
  watch: true,
  examples: ['svc app history api', 'svc app history api -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const read = () => newestDeployments(scope, args.app, flags.limit ?? 20);
    const items = flags.wait
      ? await waitFor(
          context,
          flags,
          async () => {
            const deployments = await read();
            const active = deployments.find(({ status }) => !hasEnded(status));
            if (!active) return { done: deployments };
            return { progress: `${active.app} revision ${active.revision}: ${active.status.replace('_', ' ')}` };
          },
          `svc app history ${args.app} ${scope.flags}`,
        )
      : await read();
    const environment = scope.query.environment ?? items[0]?.environment;
    if (flags.environment === undefined && environment !== undefined) context.say(`environment: ${environment}`);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'REVISION', value: ({ revision, current }) => revision && `${revision}${current ? ' *' : ''}` },
          {
            title: 'IMAGE',
            value: ({ image, imageDeleted }) => image && `${image}${imageDeleted ? ' (deleted)' : ''}`,
          },
          { title: 'COMMIT', value: ({ commit }) => commit?.slice(0, 12) },
          { title: 'TRIGGER', value: ({ trigger }) => trigger },
          { title: 'WHEN', value: ({ acceptedAt }) => ago(acceptedAt, now) },
          { title: 'STATUS', value: ({ status }) => status.replace('_', ' ') },
          { title: 'REASON', value: ({ reason }) => reason?.split('\n', 1)[0] },
        ]),
        // Skipped deployments have no revision.
        names: items.flatMap(({ revision }) => (revision === undefined ? [] : [String(revision)])),
      },
      flags.output,
    );
  },
});
