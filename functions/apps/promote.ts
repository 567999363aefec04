import type { Pool } from 'pg';
import { deploymentAccepted, promotionCreate, promotionCreated } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { accept } from '../../runtime/api/accept.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { actorOf, requireScope, route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Database } from '../../runtime/db/pool.ts';
import { currentDeployment, sameImage, type Deployment } from '../../runtime/records/deployments.ts';
import { getWorkload, workloadIdOf } from '../../runtime/workloads/objects.ts';
import type { ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import { createPromoted } from './promote-create.ts';

interface Dependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt | undefined;
  /** The public address of the management API. */
  baseUrl: string;
}

/** `POST /projects/{project}/apps/{app}/promote` */
export function promoteRoute(dependencies: Dependencies): Route {
  const { kube, pool, baseUrl } = dependencies;
  return route({
    method: 'POST',
    path: '/projects/:project/apps/:app/promote',
    access: { project: 'deployer', scope: 'deploy' },
    tag: 'deployments',
    summary:
      'Deploys the image that an app runs in one environment to the same app in another; 201 if that app is created.',
    audit: 'app.promote',
    body: promotionCreate,
    bodyLimit: largeBodyLimit,
    replies: { 201: promotionCreated, 202: deploymentAccepted },
    async handle(request) {
      const { project, app: name } = request.params;
      const { from, to, create, secrets, revision: expected } = request.body;
      const session = sessionOf(request);
      const actor = actorOf(session);
      if (create) requireScope(request, 'write', 'Creating an app');
      if (secrets !== undefined && !create) {
        throw new Problem('invalid_request', 'Secrets are only for a new app. Set "create", too (--create).');
      }
      const { source, target, environment } = await findApps(kube, { project, name, from, to, create });
      if (!target) {
        const { revision, ...current } = await promotable(pool, source, from, expected);
        const { image, ...details } = sameImage(current);
        const promotion = { from: { environment: from, revision }, ...withoutUndefined(details) };
        const asker = { project, platformAdmin: session.role === 'admin' };
        const copy = {
          source,
          target: environment,
          image: image ?? '',
          promotion,
          secrets: secrets ?? {},
          actor,
          asker,
        };
        return {
          status: 201,
          body: await createPromoted(dependencies, copy),
          audit: { environment: to, from, to, created: true },
        };
      }
      if (secrets !== undefined) {
        throw new Problem(
          'already_exists',
          `The app "${name}" exists in "${to}", and keeps its secrets. Set them with \`svc app secret set ${name}\`.`,
        );
      }
      const workloadId = workloadIdOf(target);
      const reply = await accept({
        pool,
        baseUrl,
        project,
        deployment: async (client) => {
          const { revision, ...current } = await promotable(client, source, from, expected);
          const promotedFrom = { environment: from, revision };
          return { workloadId, trigger: 'promotion', ...sameImage(current), actor, promotedFrom };
        },
      });
      return { ...reply, audit: { ...reply.audit, environment: to, from, to } };
    },
  });
}

/**
 * The app in both environments.
 * @throws Problem `not_found` with the command that creates the missing app, `invalid_value` for the same environment
 * twice, `git_source_configured`, `not_ready`
 */
async function findApps(
  kube: KubeClient,
  { project, name, from, to, create }: { project: string; name: string; from: string; to: string; create: boolean },
): Promise<{ source: Stored<App>; target: Stored<App> | undefined; environment: Environment }> {
  if (from === to) {
    throw new Problem(
      'invalid_value',
      `The source and the target are both "${from}". Name two different environments.`,
      { details: { field: 'to' } },
    );
  }
  const [origin, environment] = [
    await resolveEnvironment(kube, project, from),
    await resolveEnvironment(kube, project, to),
  ];
  const source = await getWorkload<App>(kube, 'App', origin, name);
  const target = await kube.get<App>(kinds.App, name, environment.namespace);
  if (!target && !create) throw noTarget(source, { project, from, to });
  if (target?.metadata.deletionTimestamp !== undefined) {
    throw new Problem(
      'not_ready',
      `The app "${name}" of "${to}" is being deleted. Create it again when the deletion has finished.`,
    );
  }
  if (target?.spec.git) throw gitSourceConfigured(name, [`--project ${project}`, `--environment ${to}`]);
  return { source, target, environment };
}

function noTarget(
  { metadata: { name }, spec }: Stored<App>,
  { project, from, to }: { project: string; from: string; to: string },
): Problem {
  const scope = `--project ${project}`;
  const image = spec.release?.image ?? spec.image;
  const health = spec.healthPath === undefined ? '' : ` --health-path ${spec.healthPath}`;
  const copy = `svc app promote ${name} --from ${from} --to ${to} --create ${scope}`;
  const own = `svc app create ${name} --image ${image} --port ${spec.port}${health} ${scope} --environment ${to}`;
  return new Problem(
    'not_found',
    `There is no app "${name}" in "${to}" yet. Create it with the settings of "${from}": ${copy}. Or choose settings: ${own}`,
  );
}

/**
 * The deployment that an app runs.
 * @param expected its revision; default: any
 * @throws Problem `not_ready`, and `conflict` for another revision
 */
async function promotable(
  database: Database,
  source: Stored<App>,
  from: string,
  expected: number | undefined,
): Promise<Deployment & { revision: number }> {
  const current = await currentDeployment(database, workloadIdOf(source));
  if (current && current.revision !== null) {
    const { revision } = current;
    if (expected === undefined || expected === revision) return { ...current, revision };
    const { name } = source.metadata;
    throw new Problem(
      'conflict',
      `"${name}" runs revision ${revision} in "${from}" now, not ${expected}. Look at it before you promote it.`,
      { details: { revision } },
    );
  }
  throw new Problem(
    'not_ready',
    `No deployment of "${source.metadata.name}" has succeeded in "${from}" yet. Promote it after one has.`,
  );
}

function withoutUndefined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
