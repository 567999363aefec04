import { deploymentView, type DeploymentAccepted, type DeploymentView } from '../../runtime/contracts/api/apps.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, toggle } from '../flags.ts';
import { ago, fields, span, table, type OutputFormat, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { readApp } from '../read-app.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

/** From its start to its end, in words. */
export function tookOf({ startedAt, endedAt }: Pick<DeploymentView, 'startedAt' | 'endedAt'>): string | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return span(Math.max(1, Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)));
}

/** How one deployment is shown. */
export function shownDeployment(deployment: DeploymentView): Shown {
  const { promotedFrom } = deployment;
  return {
    data: deployment,
    table: fields([
      ['Deployment', deployment.id],
      ['App', deployment.app],
      ['Environment', deployment.environment],
      ['Revision', deployment.revision],
      ['Image', deployment.image],
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
      ['Went back to', deployment.rolledBackTo],
      ['Accepted', deployment.acceptedAt],
      ['Took', tookOf(deployment)],
      ['Reason', deployment.reason],
    ]),
    names: [deployment.id],
  };
}

/** Ends well, or with the reason and what runs now. @throws Failure */
export async function checkSucceeded(place: Place, deployment: DeploymentView): Promise<DeploymentView> {
  if (deployment.status === 'succeeded') return deployment;
  const reason = deployment.reason === undefined ? '' : `: ${deployment.reason}`;
  throw new Failure(`Revision ${deployment.revision} of ${deployment.app} ${ended(deployment)}${reason}`, {
    code: `deployment_${deployment.status}`,
    hint: deployment.status === 'failed' ? await whatRuns(place, deployment) : undefined,
  });
}

async function whatRuns(place: Place, { id, app, environment, rolledBackTo }: DeploymentView): Promise<string> {
  const its = { ...place, query: { environment } };
  const log = `all that it printed: svc deployment logs ${id} --project ${place.project}`;
  const back = rolledBackTo === undefined ? undefined : `the app goes back to revision ${rolledBackTo}`;
  try {
    // Over a volume that one node may write, the pod of before has gone.
    const serves = (await readApp(its, app)).readyReplicas > 0;
    const now = serves ? 'what ran before keeps serving' : `nothing of ${app} serves now`;
    if (back !== undefined) return `${now}: ${back}`;
    const history = await newestDeployments(its, app, 500);
    return history.some(({ current }) => current) ? `${now}; ${log}` : `nothing of ${app} has run yet; ${log}`;
  } catch {
    return back ?? log;
  }
}

function ended({ status }: DeploymentView): string {
  return status === 'failed' ? 'failed' : `was ${status}`;
}

/** Waits for the end of a deployment. @throws Failure with the reason when it did not succeed */
export async function followDeployment(
  context: Context,
  flags: WaitFlags,
  place: Place,
  app: string,
  id: string,
): Promise<DeploymentView> {
  const deployment = await waitFor(
    context,
    flags,
    async () => {
      const found = await place.api.call('GET', place.path('deployments', id), deploymentView, { query: place.query });
      if (hasEnded(found.status)) return { done: found };
      return { progress: await progressOf(place, app, found) };
    },
    `it goes on: svc app history ${app} ${place.flags}`,
  );
  return checkSucceeded(place, deployment);
}

async function progressOf(place: Place, app: string, { revision, status, reason }: DeploymentView): Promise<string> {
  const said = `${app} revision ${revision}: ${status.replace('_', ' ')}`;
  if (status === 'accepted' && reason !== undefined) return `${said}. ${reason.split('\n', 1)[0]}`;
  return status === 'rolling_out' ? `${said}${await podsOf(place, app)}` : said;
}

/** How many of the new pods are ready, as far as that can be told. */
async function podsOf(place: Place, app: string): Promise<string> {
  try {
    const { rollout, replicas } = await readApp(place, app);
    return rollout ? `, ${rollout.readyReplicas} of ${replicas} new pods ready` : '';
  } catch {
    return '';
  }
}

/** Follows what was accepted to its end and prints it, or prints that it was accepted. @throws Failure */
export async function printDeployment(
  context: Context,
  flags: WaitFlags & { output: OutputFormat | undefined },
  place: Place,
  app: string,
  accepted: DeploymentAccepted,
): Promise<void> {
  if (flags.wait) {
    context.print(shownDeployment(await followDeployment(context, flags, place, app, accepted.id)), flags.output);
    return;
  }
  const said = `revision ${accepted.revision} of ${app} is accepted`;
  context.print({ data: accepted, table: said, names: [accepted.id] }, flags.output);
}

/** The newest deployments of an app. */
export async function newestDeployments(place: Place, app: string, limit: number): Promise<DeploymentView[]> {
  const query = { ...place.query, limit };
  return (await place.api.call('GET', place.path('apps', app, 'history'), page(deploymentView), { query })).items;
}

export const historyCommand = command({
  name: 'history',
  args: ['app'],
  description: 'List the deployments of an app, newest first; * marks the current one.',
  flags: {
    limit: amount('<n>', 'at most so many (default 20)', { min: 1, max: 500 }),
    wait: toggle('wait until none is under way'),
    timeout: waitFlags.timeout,
    ...scopeFlags,
  },
  examples: ['svc app history api', 'svc app history api -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const look = () => newestDeployments(place, args.app, flags.limit ?? 20);
    const items = flags.wait
      ? await waitFor(
          context,
          flags,
          async () => {
            const found = await look();
            const active = found.find(({ status }) => !hasEnded(status));
            if (!active) return { done: found };
            return { progress: `${active.app} revision ${active.revision}: ${active.status.replace('_', ' ')}` };
          },
          'it goes on; look again later',
        )
      : await look();
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'REVISION', value: ({ revision, current }) => revision && `${revision}${current ? ' *' : ''}` },
          { title: 'IMAGE', value: ({ image }) => image },
          { title: 'COMMIT', value: ({ commit }) => commit?.slice(0, 12) },
          { title: 'TRIGGER', value: ({ trigger }) => trigger },
          { title: 'WHEN', value: ({ acceptedAt }) => ago(acceptedAt, now) },
          { title: 'STATUS', value: ({ status }) => status.replace('_', ' ') },
          { title: 'REASON', value: ({ reason }) => reason?.split('\n', 1)[0] },
        ]),
        // What was skipped has none.
        names: items.flatMap(({ revision }) => (revision === undefined ? [] : [String(revision)])),
      },
      flags.output,
    );
  },
});
