import { platformConfigView, type PlatformConfigView } from '../../runtime/contracts/api/platform.ts';
import { buildTimeoutRange, platformProfiles } from '../../runtime/contracts/resources/platform-config.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { choice, duration, orDefault, text, texts, unless, type FlagValues } from '../flags.ts';
import { fields, type Shown } from '../output.ts';
import { waitFlags, waitFor } from '../wait.ts';
import { statusCommand } from './status.ts';

const path = '/platform/config';

function shown(config: PlatformConfigView): Shown {
  const { defaultLimits: limits, builds, packageRegistries = {} } = config;
  const listed = (networks: readonly string[]) => (networks.length === 0 ? 'none' : networks.join(', '));
  const table = fields([
    ['Apps domain', config.appsDomain],
    ['Cluster', config.cluster],
    ['Profile', config.profile],
    ['Scheme', config.publicPort === undefined ? config.scheme : `${config.scheme}, port ${config.publicPort}`],
    ['Entry points', config.entryPoints.join(', ')],
    ['Ingress address', config.ingressAddress ?? 'unknown'],
    ['Trusted proxies', listed(config.trustedProxies)],
    ['Private networks', listed(config.allowPrivateNetworks)],
    ['Notification networks', listed(config.notificationNetworks)],
    ['Default CPU', limits.cpu],
    ['Default memory', limits.memory],
    ['Default storage', limits.storage],
    ['Default pods', limits.pods],
    ['Default memory of a container', limits.containerMemory],
    ...Object.entries(config.runtimeImages ?? {}).map(([name, image]) => [`Runtime ${name}`, image] as const),
    ...Object.entries(config.serviceImages ?? {}).map(([name, image]) => [`Service ${name}`, image] as const),
    ['npm registry', packageRegistries.npm ?? 'public'],
    ['PyPI index', packageRegistries.pypi ?? 'public'],
    ['Builds at once', builds?.atOnce ?? 'none: svc install --image-builder --build-registry'],
    ['Build time-out', builds && durationText(builds.timeoutSeconds)],
    ['Builder', builds?.image],
    ['Build registry', builds && [builds.registry, builds.pushAddress].filter(Boolean).join(', by ')],
    ['Git networks', builds && listed(builds.gitNetworks)],
    ['Last change', config.status],
    ['Message', config.message],
  ]);
  return { data: config, table, names: [config.cluster] };
}

const show = command({
  name: 'show',
  description: "Show the installation's settings that are in force, and whether the last change is.",
  flags: apiFlags,
  examples: ['svc platform config show', 'svc platform config show -o json'],
  async run({ context, flags }) {
    context.print(shown(await context.api(flags).call('GET', path, platformConfigView)), flags.output);
  },
});

const limitFlags = {
  cpu: text('<cores>', 'CPU of an environment that sets no limit itself, such as 4 or 500m'),
  memory: text('<size>', 'memory of one, such as 16Gi'),
  storage: text('<size>', 'storage of one, such as 100Gi'),
  pods: text('<n>', 'pods of one'),
  containerMemory: text('<size>', 'memory of a container that sets no limit itself, such as 512Mi'),
};

const imageFlags = {
  imagePostgres: text('<image>', 'image of services of the type postgres'),
  imageMysql: text('<image>', 'image of those of the type mysql'),
  imageRedis: text('<image>', 'image of those of the type redis'),
  imageMinio: text('<image>', 'image of those of the type minio'),
  imageMongodb: text('<image>', "image of those of the type mongodb, such as MongoDB's own"),
};

const settingFlags = {
  profile: choice([...platformProfiles, 'default'], 'how large the installation is'),
  trustedProxy: texts(
    '<network>',
    "proxy before the ingress whose X-Forwarded-For counts; trustedIPs of Traefik's entry point must name it, too",
  ),
  trustedProxies: unless('trust no proxy'),
  allowPrivateNetwork: texts(
    '<network>',
    'private network that pods of environments may reach; best one in which no pods are',
  ),
  privateNetworks: unless('let pods reach no private network'),
  notificationNetwork: texts(
    '<network>',
    'private network to which notifications may be sent; best one in which nothing of the cluster is',
  ),
  notificationNetworks: unless('send notifications to the internet only'),
  npmRegistry: text('<url>', 'npm registry of builds and of the dependencies of functions'),
  pypiIndex: text('<url>', 'Python index of builds and of the dependencies of functions'),
  buildsAtOnce: text('<n>', 'builds that go on at once'),
  buildTimeout: orDefault(duration('<duration>', 'how long a build may take, such as 25m', buildTimeoutRange)),
  gitNetwork: texts('<network>', 'private network that git servers may be in'),
  gitNetworks: unless('build from git servers in the internet only'),
  ...imageFlags,
  ...limitFlags,
};

/** The body of the change: what was typed; a list replaces what was there, and `default` takes a value back. */
function changeOf(flags: FlagValues<typeof settingFlags>): Record<string, unknown> {
  const value = (given: string) => (given === 'default' ? null : given);
  const number = (flag: string, given: string) => (given === 'default' ? null : numberOf(flag, given));
  const part = (name: string, parts: Record<string, string | undefined>) => {
    const given = Object.entries(parts).flatMap(([key, typed]) => (typed === undefined ? [] : [[key, value(typed)]]));
    return given.length > 0 && { [name]: Object.fromEntries(given) };
  };
  const { imagePostgres: postgres, imageMysql: mysql, imageRedis: redis, imageMinio: minio } = flags;
  const { imageMongodb: mongodb } = flags;
  const builds = {
    ...(flags.buildsAtOnce !== undefined && { atOnce: number('--builds-at-once', flags.buildsAtOnce) }),
    ...(flags.buildTimeout !== undefined && { timeoutSeconds: flags.buildTimeout }),
    ...list('gitNetworks', flags.gitNetwork, !flags.gitNetworks),
  };
  const limits = (Object.keys(limitFlags) as (keyof typeof limitFlags)[]).flatMap((key) => {
    const given = flags[key];
    if (given === undefined) return [];
    return [[key, key === 'pods' ? number('--pods', given) : value(given)]];
  });
  return {
    ...(flags.profile !== undefined && { profile: value(flags.profile) }),
    ...list('trustedProxies', flags.trustedProxy, !flags.trustedProxies),
    ...list('allowPrivateNetworks', flags.allowPrivateNetwork, !flags.privateNetworks),
    ...list('notificationNetworks', flags.notificationNetwork, !flags.notificationNetworks),
    ...part('serviceImages', { postgres, mysql, redis, minio, mongodb }),
    ...part('packageRegistries', { npm: flags.npmRegistry, pypi: flags.pypiIndex }),
    ...(Object.keys(builds).length > 0 && { builds }),
    ...(limits.length > 0 && { defaultLimits: Object.fromEntries(limits) }),
  };
}

function list(name: string, given: readonly string[], none: boolean): Record<string, readonly string[]> {
  if (given.length > 0 && none) throw usageFailure('A list is given and taken away at once.');
  return given.length > 0 || none ? { [name]: given } : {};
}

function numberOf(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usageFailure(`${flag} takes a whole number or "default"; not "${text}".`);
}

const set = command({
  name: 'set',
  description: 'Change settings of the installation, all that are named or none; "default" takes one back.',
  flags: { ...settingFlags, ...waitFlags, ...apiFlags },
  examples: [
    'svc platform config set --profile medium --memory 64Gi --container-memory 1Gi',
    'svc platform config set --trusted-proxy 192.0.2.10 --trusted-proxy 198.51.100.0/24',
    'svc platform config set --allow-private-network 10.20.0.0/16',
    'svc platform config set --notification-network 10.20.7.0/24',
    'svc platform config set --builds-at-once 4 --build-timeout 1h --git-network 10.20.8.0/24 --pypi-index default',
  ],
  async run({ context, flags }) {
    const body = changeOf(flags);
    if (Object.keys(body).length === 0) throw usageFailure('There is nothing to change.', 'give a setting');
    const api = context.api(flags);
    const changed = await api.call('PATCH', path, platformConfigView, { body });
    const look = async () => {
      const config = await api.call('GET', path, platformConfigView);
      if (config.status === 'refused') throw new Failure(config.message ?? 'The settings were refused.');
      return config.status === 'accepted' ? { done: config } : { progress: 'waiting until the settings are in force' };
    };
    const config = flags.wait ? await waitFor(context, flags, look, 'it goes on: svc platform config show') : changed;
    context.print(shown(config), flags.output);
  },
});

export const platformCommands: Commands = {
  commands: [statusCommand],
  groups: [{ name: 'config', description: "The installation's settings.", commands: [show, set] }],
};
