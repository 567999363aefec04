import { platformConfigView, type PlatformConfigView } from '../../runtime/contracts/api/platform.ts';
import { describeCertificates, parseCertificates } from '../../runtime/domain/certificates.ts';
import {
  buildTimeoutRange,
  keptImagesRange,
  platformProfiles,
  podsRange,
  warmPodsMax,
} from '../../runtime/domain/platform-profile.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import {
  amount,
  choice,
  duration,
  imageReference,
  negated,
  orDefault,
  text,
  texts,
  type FlagValues,
} from '../flags.ts';
import { readInputFile } from '../input-file.ts';
import { fields, type Output } from '../output.ts';
import { waitFlags, waitFor } from '../wait.ts';
import { componentCommands } from './platform-components.ts';

const path = '/platform/config';

function toOutput(config: PlatformConfigView): Output {
  const { defaultLimits: limits, maxLimits, builds, packageRegistries = {}, caCertificates } = config;
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
    ['Host domains', listed(config.hostDomains.map(domainText))],
    ['Host proofs', config.hostProofs ? 'on' : 'off'],
    ['Default CPU', limits.cpu],
    ['Default memory', limits.memory],
    ['Default storage', limits.storage],
    ['Default pods', limits.pods],
    ['Default memory of a container', limits.containerMemory],
    ['Maximum CPU', maxLimits.cpu],
    ['Maximum memory', maxLimits.memory],
    ['Maximum storage', maxLimits.storage],
    ['Maximum pods', maxLimits.pods],
    ['Maximum default memory of a container', maxLimits.containerMemory],
    ['Projects per user', config.projectsPerUser],
    ['Generic pods', config.warmPods],
    ...Object.entries(config.runtimeImages ?? {}).map(([name, image]) => [`Runtime ${name}`, image] as const),
    ...Object.entries(config.serviceImages ?? {}).map(([name, image]) => [`Service ${name}`, image] as const),
    ['npm registry', packageRegistries.npm ?? 'public'],
    ['PyPI index', packageRegistries.pypi ?? 'public'],
    ['Go proxy', packageRegistries.go ?? 'public'],
    ['CA certificates', caCertificates === undefined ? 'public' : describeCertificates(caCertificates).join('\n')],
    ['Builds at once', builds?.atOnce ?? 'none: svc install --image-builder --build-registry'],
    ['Build time-out', builds && durationText(builds.timeoutSeconds)],
    ['Images kept of each app', builds?.keepImages],
    ['Builder', builds?.image],
    ['Build registry', builds && [builds.registry, builds.pushAddress].filter(Boolean).join(', by ')],
    ['Git networks', builds && listed(builds.gitNetworks)],
    ['Last change', config.status],
    ['Message', config.message],
  ]);
  return { data: config, table, names: [config.cluster] };
}

/** A domain in the form of the flag. */
function domainText({ domain, projects }: PlatformConfigView['hostDomains'][number]): string {
  return projects ? `${domain}=${projects.join(',')}` : domain;
}

const show = command({
  name: 'show',
  description: 'Show the active settings and whether the last change was applied.',
  flags: apiFlags,
  data: platformConfigView,
  watch: true,
  examples: ['svc platform config show', 'svc platform config show -o json'],
  async run({ context, flags }) {
    context.print(toOutput(await context.api(flags).call('GET', path, platformConfigView)), flags.output);
  },
});

const limitFlags = {
  cpu: text('<cores>', 'default CPU of an environment, such as 4 or 500m'),
  memory: text('<size>', 'default memory of an environment, such as 16Gi'),
  storage: text('<size>', 'default storage of an environment, such as 100Gi'),
  pods: orDefault(amount('<n>', 'default number of pods in an environment', podsRange)),
  containerMemory: text('<size>', 'default memory limit of a container, such as 512Mi'),
};

const ceilingFlags = {
  maxCpu: text('<cores>', 'highest CPU that members may set for an environment'),
  maxMemory: text('<size>', 'highest memory that members may set for an environment'),
  maxStorage: text('<size>', 'highest storage that members may set for an environment'),
  maxPods: orDefault(amount('<n>', 'highest number of pods that members may set for an environment', podsRange)),
  maxContainerMemory: text('<size>', 'highest default memory of a container that members may set'),
  projectsPerUser: orDefault(
    amount('<n>', 'number of projects that a user may create; admins may create more', { min: 0, max: 10_000 }),
  ),
};

/** Generic pods of functions. */
const warmFlags = {
  warmPods: orDefault(
    amount('<n>', 'generic pods of a pool, from which functions start fast; 0: none', { min: 0, max: warmPodsMax }),
  ),
};

const imageFlags = {
  imagePostgres: imageReference('image of PostgreSQL services'),
  imageMysql: imageReference('image of MySQL services'),
  imageRedis: imageReference('image of Redis services'),
  imageMinio: imageReference('image of MinIO services'),
  imageMongodb: imageReference('image of MongoDB services'),
};

const settingFlags = {
  profile: choice([...platformProfiles, 'default'], 'size of the installation'),
  trustedProxy: texts('<network>', 'proxy whose X-Forwarded-For is trusted; list it in Traefik too'),
  trustedProxies: negated('trust no proxy'),
  allowPrivateNetwork: texts('<network>', 'private network that pods may reach; choose one without pods'),
  privateNetworks: negated('block all private networks for pods'),
  notificationNetwork: texts('<network>', 'private network for notifications; choose one outside the cluster'),
  notificationNetworks: negated('send notifications only to the internet'),
  hostDomain: texts('<domain[=project,…]>', 'domain in which all, or these, projects may choose hosts'),
  hostDomains: negated('allow hosts only in the apps domain, and by proof'),
  hostProofs: choice(['on', 'off'], 'whether a DNS record also allows a host (default on)'),
  npmRegistry: text('<url>', 'npm registry for builds and functions'),
  pypiIndex: text('<url>', 'Python index for builds and functions'),
  goProxy: text('<url>', 'proxy of Go modules for builds'),
  caFile: text('<file>', 'CA certificates to trust besides the public ones'),
  buildsAtOnce: orDefault(amount('<n>', 'concurrent builds', { min: 1, max: 100 })),
  buildTimeout: orDefault(duration('<duration>', 'maximum duration of a build, such as 25m', buildTimeoutRange)),
  keepImages: orDefault(
    amount('<n>', 'built images of each app that the clean-up keeps (default 10)', keptImagesRange),
  ),
  gitNetwork: texts('<network>', 'private network of git servers'),
  gitNetworks: negated('build only from git servers on the internet'),
  ...imageFlags,
  ...limitFlags,
  ...ceilingFlags,
  ...warmFlags,
};

/** The body of the change. A list replaces the current one, and `default` resets a value. */
function changeOf(flags: FlagValues<typeof settingFlags>): Record<string, unknown> {
  const value = (text: string) => (text === 'default' ? null : text);
  const part = (name: string, parts: Record<string, string | undefined>) => {
    const entries = Object.entries(parts).flatMap(([key, text]) => (text === undefined ? [] : [[key, value(text)]]));
    return entries.length > 0 && { [name]: Object.fromEntries(entries) };
  };
  const { imagePostgres: postgres, imageMysql: mysql, imageRedis: redis, imageMinio: minio } = flags;
  const { imageMongodb: mongodb } = flags;
  const builds = {
    ...(flags.buildsAtOnce !== undefined && { atOnce: flags.buildsAtOnce }),
    ...(flags.buildTimeout !== undefined && { timeoutSeconds: flags.buildTimeout }),
    ...(flags.keepImages !== undefined && { keepImages: flags.keepImages }),
    ...list('gitNetworks', flags.gitNetwork, !flags.gitNetworks),
  };
  const limits = (Object.keys(limitFlags) as (keyof typeof limitFlags)[]).flatMap((key) => {
    const setting = flags[key];
    return setting === undefined ? [] : [[key, typeof setting === 'string' ? value(setting) : setting]];
  });
  const ceilings = {
    ...(flags.maxCpu !== undefined && { cpu: value(flags.maxCpu) }),
    ...(flags.maxMemory !== undefined && { memory: value(flags.maxMemory) }),
    ...(flags.maxStorage !== undefined && { storage: value(flags.maxStorage) }),
    ...(flags.maxPods !== undefined && { pods: flags.maxPods }),
    ...(flags.maxContainerMemory !== undefined && { containerMemory: value(flags.maxContainerMemory) }),
  };
  return {
    ...(flags.profile !== undefined && { profile: value(flags.profile) }),
    ...list('trustedProxies', flags.trustedProxy, !flags.trustedProxies),
    ...list('allowPrivateNetworks', flags.allowPrivateNetwork, !flags.privateNetworks),
    ...list('notificationNetworks', flags.notificationNetwork, !flags.notificationNetworks),
    ...domainList(flags),
    ...(flags.hostProofs !== undefined && { hostProofs: flags.hostProofs === 'on' }),
    ...part('serviceImages', { postgres, mysql, redis, minio, mongodb }),
    ...part('packageRegistries', { npm: flags.npmRegistry, pypi: flags.pypiIndex, go: flags.goProxy }),
    ...(flags.caFile !== undefined && { caCertificates: certificatesIn(flags.caFile) }),
    ...(Object.keys(builds).length > 0 && { builds }),
    ...(limits.length > 0 && { defaultLimits: Object.fromEntries(limits) }),
    ...(Object.keys(ceilings).length > 0 && { maxLimits: ceilings }),
    ...(flags.projectsPerUser !== undefined && { projectsPerUser: flags.projectsPerUser }),
    ...(flags.warmPods !== undefined && { warmPods: flags.warmPods }),
  };
}

/** The content of a file; null for `default`. @throws Failure (usage) when it cannot be read or holds no CA certificates */
function certificatesIn(file: string): string | null {
  if (file === 'default') return null;
  const parsed = parseCertificates(readInputFile(file).toString('utf8'));
  if ('fault' in parsed) throw usageFailure(`--ca-file ${file}: ${parsed.fault}.`);
  return parsed.certificates;
}

/** Each domain with the projects after its equals sign. */
function domainList({ hostDomain, hostDomains }: FlagValues<typeof settingFlags>): Record<string, readonly unknown[]> {
  const { hostDomains: texts } = list('hostDomains', hostDomain, !hostDomains);
  if (!texts) return {};
  const read = (text: string) => {
    const [domain, projects, ...more] = text.split('=');
    if (more.length > 0 || projects === '')
      throw usageFailure(`--host-domain takes <domain>=<project>,…, not "${text}".`);
    return { domain, ...(projects !== undefined && { projects: projects.split(',') }) };
  };
  return { hostDomains: texts.map(read) };
}

function list(name: string, values: readonly string[], clear: boolean): Record<string, readonly string[]> {
  if (values.length > 0 && clear) throw usageFailure('You cannot set and clear the same list.');
  return values.length > 0 || clear ? { [name]: values } : {};
}

const set = command({
  name: 'set',
  description: 'Change settings of the installation. "default" resets a setting.',
  flags: { ...settingFlags, ...waitFlags, ...apiFlags },
  examples: [
    'svc platform config set --profile medium --memory 64Gi --container-memory 1Gi',
    'svc platform config set --trusted-proxy 192.0.2.10 --trusted-proxy 198.51.100.0/24',
    'svc platform config set --allow-private-network 10.20.0.0/16',
    'svc platform config set --notification-network 10.20.7.0/24',
    'svc platform config set --host-domain shop.example.com=shop --host-domain example.org',
    'svc platform config set --ca-file /etc/ssl/company-ca.pem',
    'svc platform config set --builds-at-once 4 --build-timeout 1h --git-network 10.20.8.0/24 --pypi-index default',
  ],
  async run({ context, flags }) {
    const body = changeOf(flags);
    if (Object.keys(body).length === 0)
      throw usageFailure('Nothing to change.', 'set a setting; see svc platform config set --help');
    const api = context.api(flags);
    const changed = await api.call('PATCH', path, platformConfigView, { body });
    const check = async () => {
      const config = await api.call('GET', path, platformConfigView);
      if (config.status === 'refused') throw new Failure(config.message ?? 'The settings were rejected.');
      return config.status === 'accepted' ? { done: config } : { progress: 'waiting for the settings to be applied' };
    };
    const config = flags.wait ? await waitFor(context, flags, check, 'svc platform config show') : changed;
    context.print(toOutput(config), flags.output);
  },
});

export const platformCommands: Commands = {
  commands: componentCommands,
  groups: [
    { name: 'config', description: 'Manage the settings of the installation.', commands: [show, set] },
    {
      name: 'log-drain',
      description: 'Also send every log line to a log system of your own.',
      load: async () => (await import('./platform-log-drain.ts')).logDrainCommands,
    },
    {
      name: 'assistant',
      description: 'Manage the AI provider of the assistant.',
      load: async () => (await import('./platform-assistant.ts')).assistantCommands,
    },
    {
      name: 'alerts',
      description: 'List and silence the alerts of the platform.',
      load: async () => (await import('./alerts.ts')).alertCommands,
    },
    {
      name: 'notification',
      description: 'Send signed webhooks when alerts fire or end.',
      load: async () => (await import('./platform-notification.ts')).platformNotificationCommands,
    },
  ],
};
