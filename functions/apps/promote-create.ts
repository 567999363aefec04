import type { Pool } from 'pg';
import type { PromotionCreated } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import { boundServices } from '../../runtime/contracts/resources/binding.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { promotionAnnotations, type FirstPromotion } from '../../runtime/contracts/resources/promotion.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createdByAnnotation } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { referencesOf } from '../../runtime/domain/variables.ts';
import { newEnvironment } from '../../runtime/api/new-environment.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { createObject, newObjectMetadata, type HostAsker } from '../../runtime/workloads/create.ts';
import type { ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { readSecrets } from '../../runtime/workloads/secrets.ts';
import { newRouting } from './routing.ts';
import { checkSettings } from './settings.ts';
import { appToView } from './view.ts';

interface Dependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt | undefined;
}

/** An app to create in another environment. */
interface Copy {
  source: Stored<App>;
  target: Environment;
  image: string;
  promotion: FirstPromotion;
  /** Secrets of the new app. */
  secrets: Readonly<Record<string, string>>;
  actor: string;
  asker: HostAsker;
}

type NotCopied = PromotionCreated['notCopied'];

/**
 * Creates an app with the settings of another environment's app, which the controller then deploys as a promotion. Hosts,
 * git sources and secrets belong to one environment, and are not copied. A gate stays on.
 * @throws Problem `not_found` for a service that the app is bound to, `invalid_value` for a variable that refers to a
 * secret without a value, and as the creation of an app
 */
export async function createPromoted(
  { kube, pool, clock, resolveTxt }: Dependencies,
  { source, target, image, promotion, secrets, actor, asker }: Copy,
): Promise<PromotionCreated> {
  const { name } = source.metadata;
  const {
    hostname,
    extraHosts = [],
    git,
    release: _,
    bindings: __,
    runRequests: ___,
    runStops: ____,
    env = [],
    volumes = [],
    ...settings
  } = source.spec;
  const secretNames = (await readSecrets(kube, source)).secrets.map((secret) => secret.name);
  const missingSecrets = secretNames.filter((secret) => !Object.hasOwn(secrets, secret));
  checkReferences(name, env, missingSecrets);
  await checkServices(kube, source, target);
  const mounted = await existingVolumes(kube, volumes, target);
  await checkSettings(kube, target, { ...settings, volumes: mounted });
  const config = await readPlatformConfig(kube);
  const { hosts, spec: routing } = await newRouting({ kube, config, resolveTxt }, target, { name });
  const requested = {
    name,
    env: Object.fromEntries(env.map((variable) => [variable.name, variable.value])),
    secrets,
    bindings: boundServices(source.spec).map(({ service, prefix, database }) => ({ service, prefix, database })),
  };
  const resolved = await newEnvironment<App>({ kube, pool, clock }, 'App', target, requested);
  const { apiVersion, kind } = kinds.App;
  const annotations = { [createdByAnnotation]: actor, ...promotionAnnotations(promotion), ...resolved.annotations };
  const created = await createObject<App>(
    kube,
    {
      apiVersion: apiVersion as App['apiVersion'],
      kind: kind as App['kind'],
      metadata: { ...newObjectMetadata('App', name, target), annotations },
      spec: { ...routing, ...settings, image, ...resolved.spec, ...(mounted.length > 0 && { volumes: mounted }) },
    },
    { hosts, environment: target, asker },
  );
  const stored = await resolved.storeSecrets(created);
  const notCopied: NotCopied = {
    secrets: missingSecrets,
    hosts: [...(hostname === undefined ? [] : [hostname]), ...extraHosts],
    volumes: volumes.filter((volume) => !mounted.includes(volume)),
    ...(git && { git: git.url }),
  };
  return { app: appToView(stored, target, { url: publicUrl(config, hosts[0]) }), notCopied };
}

/** @throws Problem `invalid_value` for a variable that could not be resolved without these secrets */
function checkReferences(app: string, env: NonNullable<AppSpec['env']>, missing: readonly string[]): void {
  const references = new Set(env.flatMap(({ value }) => referencesOf(value)));
  const needed = missing.filter((secret) => references.has(secret));
  if (needed.length === 0) return;
  const flags = needed.map((secret) => `--secret ${secret}`).join(' ');
  throw new Problem(
    'invalid_value',
    `Variables of "${app}" refer to secrets, whose values are not copied: ${needed.join(', ')}. Give the new app values of its own: ${flags}.`,
    { details: { field: 'secrets', secrets: needed } },
  );
}

/** @throws Problem `not_found` with the command that creates the missing service */
async function checkServices(
  kube: KubeClient,
  { spec, metadata: { namespace: sourceNamespace = '' } }: Stored<App>,
  { project, environment, namespace }: Environment,
): Promise<void> {
  for (const { service } of boundServices(spec)) {
    if (await kube.get(kinds.ServiceResource, service, namespace)) continue;
    const own = await kube.get<ServiceResource>(kinds.ServiceResource, service, sourceNamespace);
    const flags = [
      // The app may be bound to a service that was deleted.
      `--type ${own?.spec.type ?? '<type>'}`,
      // Each environment has an address of its own.
      ...(own?.spec.external ? ['--external <host[:port]>'] : []),
      `--project ${project} --environment ${environment}`,
    ];
    throw new Problem(
      'not_found',
      `The app is bound to the service "${service}", which "${environment}" does not have. Create it first: svc service create ${service} ${flags.join(' ')}`,
      { details: { service } },
    );
  }
}

async function existingVolumes(
  kube: KubeClient,
  volumes: NonNullable<AppSpec['volumes']>,
  { namespace }: Environment,
): Promise<NonNullable<AppSpec['volumes']>> {
  const existing = await Promise.all(
    volumes.map(async (volume) => ({ volume, object: await kube.get(kinds.Volume, volume.name, namespace) })),
  );
  return existing.flatMap(({ volume, object }) =>
    object && object.metadata.deletionTimestamp === undefined ? [volume] : [],
  );
}
