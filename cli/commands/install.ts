import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readAdminPassword } from '../../infra/install/secrets.ts';
import { InstallError } from '../../infra/install/install-error.ts';
import { installedImages, type NeededImages } from '../../infra/install/existing-settings.ts';
import { installManifests, installPlatform, neededSecrets } from '../../infra/install/install.ts';
import { platformConfigOf } from '../../infra/manifests/platform/installation.ts';
import { secretNamespace, systemSecrets } from '../../infra/manifests/platform/secrets.ts';
import { consoleHost, type PlatformImages, type PlatformSettings } from '../../infra/manifests/platform/settings.ts';
import { checkPlatformConfig, faultsText } from '../../runtime/contracts/resources/platform-config-check.ts';
import {
  ingressAddressPattern,
  publicUrl,
  type BuildSettings,
} from '../../runtime/contracts/resources/platform-config.ts';
import type { MonitoringSettings } from '../../runtime/contracts/resources/monitoring.ts';
import { parseCertificates } from '../../runtime/domain/certificates.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { parseNetwork } from '../../runtime/domain/network.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { ChildError } from '../../runtime/kube/children.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { isKubeError } from '../../runtime/kube/kube-client.ts';
import { createClient } from '../client.ts';
import { connectionFault, createConnections } from '../connection.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { readInputFile } from '../input-file.ts';
import { fields, type OutputFormat } from '../output.ts';
import type { InstallFlags } from './install-flags.ts';

const defaultSeconds = 600;
/** How long the ingress may take to serve a new route. */
const routeSeconds = 30;

/** Runs `svc install`. Its module loads the Kubernetes client, which other commands do not need. */
export async function install(context: Context, flags: InstallFlags): Promise<void> {
  if (flags.dryRun) {
    printManifests(context, settingsBody(flags, context.version), flags.output);
    return;
  }
  // Invalid flags are reported before the cluster is read; its images stand in for the unknown ones.
  const undecided = 'undecided:1';
  settingsBody(flags, context.version, {
    platform: undecided,
    functionNode: undecided,
    postgres: undecided,
    redis: undecided,
  });
  const kube = createKubeClient(loadKubeConfig(kubeconfigOf(context, flags)));
  try {
    const { clock } = context;
    const installed = flags.registry === undefined ? await installedImages(kube) : {};
    const settings = settingsBody(flags, context.version, installed);
    const timeoutMs = (flags.timeout ?? defaultSeconds) * 1000;
    const report = await installPlatform(settings, { kube, clock, timeoutMs, log: context.say });
    await checkRoute(context, consoleUrl(settings));
    const file = flags.adminPasswordFile;
    if (file !== undefined) writePassword(file, await readAdminPassword(kube));
    printInstallation(context, flags, settings, report);
  } catch (error) {
    throw withHint(error);
  } finally {
    await kube.close();
  }
}

function consoleUrl(settings: PlatformSettings): string {
  return publicUrl(settings, consoleHost(settings));
}

/** Prints where the console is and how to sign in. */
function printInstallation(context: Context, flags: InstallFlags, settings: PlatformSettings, report: object): void {
  const console = consoleUrl(settings);
  const { adminEmail } = settings;
  const { adminPasswordFile } = flags;
  context.print(
    {
      data: { console, adminEmail, ...(adminPasswordFile !== undefined && { adminPasswordFile }), ...report },
      table: fields([
        ['Console', console],
        ['Admin', adminEmail],
        ['Password', adminPasswordFile === undefined ? undefined : `in ${adminPasswordFile}`],
      ]),
      names: [console],
    },
    flags.output,
  );
  if (flags.trustedProxy.length > 0) context.say(trustHint(settings));
  if (adminPasswordFile === undefined) context.say(`the admin's password: ${passwordCommand}`);
  context.say(`sign in: svc login --api ${console} --email ${adminEmail}`);
}

const passwordCommand = `kubectl -n ${systemNamespace} get secret ${systemSecrets.admin.name} -o 'go-template={{.data.${systemSecrets.admin.key} | base64decode}}'`;

/** Traefik drops X-Forwarded-For from addresses that it does not trust, so the checkers would not see it. */
function trustHint({ optional, entryPoints }: PlatformSettings): string {
  const trusted = optional.trustedProxies?.join();
  const flags = entryPoints.map((name) => `--entryPoints.${name}.forwardedHeaders.trustedIPs=${trusted}`);
  return `configure Traefik to trust the proxies too: ${flags.join(' ')}`;
}

const installExitCodes = { timeout: exitCodes.timeout, settings: exitCodes.usage } as const;

/** The error with a hint, if there is one. */
function withHint(error: unknown): unknown {
  if (error instanceof InstallError) {
    const exitCode = error.reason === undefined ? exitCodes.failed : installExitCodes[error.reason];
    return new Failure(error.message, { hint: error.hint, exitCode, cause: error });
  }
  const apiFailure = error instanceof ChildError ? error.cause : error;
  if (isKubeError(apiFailure, 401) || isKubeError(apiFailure, 403)) {
    const hint = 'use the kubeconfig of a cluster administrator';
    return new Failure(apiFailure.message, { code: `kubernetes_${apiFailure.status}`, hint, cause: error });
  }
  const fault = connectionFault(error);
  if (fault === undefined) return error;
  return new Failure(`The cluster is unreachable: ${fault}.`, { hint: 'check --kubeconfig', cause: error });
}

/** Creates the file again, since an existing file keeps its mode. */
function writePassword(file: string, password: string): void {
  rmSync(file, { force: true });
  writeFileSync(file, `${password}\n`, { mode: 0o600, flag: 'wx' });
}

/** The path of the kubeconfig, by the rules of kubectl. */
function kubeconfigOf({ env }: Context, flags: InstallFlags): string {
  const setting = flags.kubeconfig ?? env['KUBECONFIG'];
  const path = setting || join(env['HOME'] ?? homedir(), '.kube', 'config');
  if (existsSync(path)) return path;
  throw usageFailure(`No kubeconfig exists at ${path}.`, 'use --kubeconfig or set KUBECONFIG');
}

function settingsBody(flags: InstallFlags, version: string, installed: Partial<NeededImages> = {}): PlatformSettings {
  const { publicPort } = flags;
  const ingressAddress = ingressAddressOf(flags);
  try {
    const settings: PlatformSettings = {
      appsDomain: checkHost(flags.appsDomain, 'apps-domain'),
      cluster: flags.cluster,
      scheme: flags.scheme ?? 'https',
      ...(publicPort !== undefined && { publicPort }),
      entryPoints:
        flags.entryPoint.length > 0 ? [...flags.entryPoint] : [flags.scheme === 'http' ? 'web' : 'websecure'],
      ...(ingressAddress !== undefined && { ingressAddress }),
      optional: {
        ...(flags.profile !== undefined && { profile: flags.profile }),
        ...(flags.trustedProxy.length > 0 && { trustedProxies: networksOf('--trusted-proxy', flags.trustedProxy) }),
        ...buildsOf(flags, version),
        ...registriesOf(flags),
        monitoring: monitoringOf(flags, imagesOf(flags, version, installed).platform),
        ...(flags.caFile !== undefined && { caCertificates: certificatesIn(flags.caFile) }),
      },
      scrape: flags.scrape,
      ...metricsStoreOf(flags),
      images: imagesOf(flags, version, installed),
      adminEmail: flags.adminEmail ?? 'admin@svc.local',
      ...(flags.logStoreUrl !== undefined && { logStoreUrl: flags.logStoreUrl }),
      oneChecker: flags.oneChecker,
      failpoints: flags.failpoints,
    };
    const checked = checkPlatformConfig(platformConfigOf(settings));
    if ('faults' in checked) throw usageFailure(`Invalid settings: ${faultsText(checked.faults)}`);
    return settings;
  } catch (error) {
    // Names and images are checked by functions of the API, which throw a Problem.
    if (error instanceof Problem) throw usageFailure(error.message);
    throw error;
  }
}

function ingressAddressOf({ ingressAddress }: InstallFlags): string | undefined {
  const address = ingressAddress?.replace(/\/$/, '');
  if (address === undefined || ingressAddressPattern.test(address)) return address;
  throw usageFailure(
    `--ingress-address takes the address of the ingress in the cluster, not "${ingressAddress}".`,
    'such as http://traefik.kube-system.svc:80',
  );
}

function metricsStoreOf({ metricsStoreUrl }: InstallFlags): Pick<PlatformSettings, 'metricsStoreUrl'> {
  if (metricsStoreUrl === undefined) return {};
  if (/^(?:ring\+)?https?:\/\/[^\s/?#@]+(?:\/[^\s?#@]*)?$/.test(metricsStoreUrl)) return { metricsStoreUrl };
  throw usageFailure(
    `--metrics-store-url takes the address of a server, not "${metricsStoreUrl}".`,
    'such as http://victoria-metrics.monitoring.svc:8428',
  );
}

/** The networks in their canonical form, without duplicates. */
function networksOf(flag: string, typed: readonly string[]): string[] {
  const networks = typed.map((text) => {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw usageFailure(`${flag} ${text}: ${parsed.fault}`);
    return parsed.network;
  });
  return [...new Set(networks)];
}

/** An image of this version in the registry of `--registry`; undefined without the flag. */
function registryImage({ registry }: InstallFlags, name: string, version: string): string | undefined {
  return registry === undefined ? undefined : `${registry}/svc/${name}:${version}`;
}

/** The images from the flags, from `--registry`, or of the existing installation. */
function imagesOf(flags: InstallFlags, version: string, installed: Partial<NeededImages>): PlatformImages {
  const required = (name: string, requested: string | undefined, current: string | undefined): string => {
    const image = requested ?? registryImage(flags, name, version);
    if (image !== undefined) return checkImage(image, `image-${name}`);
    if (current !== undefined) return current;
    // No default, because the project publishes no images: a default name could belong to someone else.
    throw usageFailure(
      `No image is set for ${name}.`,
      `use --registry <registry> with <registry>/svc/${name}:${version}, or --image-${name} <image>`,
    );
  };
  const optional = (flag: string, requested: string | undefined, name = flag): string | undefined => {
    const image = requested ?? registryImage(flags, name, version);
    return image === undefined ? undefined : checkImage(image, `image-${flag}`);
  };
  const functionPython = optional('function-python', flags.imageFunctionPython);
  const mysql = optional('mysql', flags.imageMysql, 'mariadb');
  const minio = optional('minio', flags.imageMinio);
  const mongodb = optional('mongodb', flags.imageMongodb, 'ferretdb');
  return {
    platform: required('platform', flags.imagePlatform, installed.platform),
    functionNode: required('function-node', flags.imageFunctionNode, installed.functionNode),
    ...(functionPython !== undefined && { functionPython }),
    postgres: required('postgres', flags.imagePostgres, installed.postgres),
    redis: required('redis', flags.imageRedis, installed.redis),
    ...(mysql !== undefined && { mysql }),
    ...(minio !== undefined && { minio }),
    ...(mongodb !== undefined && { mongodb }),
  };
}

/** Where dependencies come from; without flags an installation keeps its own settings. */
function registriesOf({ npmRegistry: npm, pypiIndex: pypi, goProxy: go }: InstallFlags) {
  const chosen = {
    ...(npm !== undefined && { npm }),
    ...(pypi !== undefined && { pypi }),
    ...(go !== undefined && { go }),
  };
  return Object.keys(chosen).length > 0 && { packageRegistries: chosen };
}

/**
 * The components of monitoring. The log store and the shipper run the platform's image, and the others upstream ones,
 * which the platform knows.
 */
function monitoringOf(flags: InstallFlags, platform: string): MonitoringSettings {
  const { without, ingressMetrics, monitoring: mode = 'cluster' } = flags;
  if (mode === 'embedded') return { mode };
  const images = {
    'metrics-store': flags.imageMetricsStore,
    'node-exporter': flags.imageNodeExporter,
    alertmanager: flags.imageAlertmanager,
    dashboards: flags.imageDashboards,
  };
  const own = Object.entries(images).flatMap(([name, image]) =>
    image === undefined ? [] : [[name, checkImage(image, `image-${name}`)] as const],
  );
  return {
    mode,
    ...(without.length > 0 && { components: Object.fromEntries(without.map((name) => [name, { enabled: false }])) }),
    images: { ...Object.fromEntries(own), 'log-store': platform, 'log-shipper': platform },
    ...(ingressMetrics !== undefined && { ingressMetrics }),
  };
}

/** The build settings; without a registry an installation keeps its own. */
function buildsOf(flags: InstallFlags, version: string): Pick<PlatformSettings['optional'], 'builds'> {
  const image = flags.imageBuilder ?? registryImage(flags, 'builder', version);
  const registry = flags.buildRegistry ?? (flags.registry && `${flags.registry}/builds`);
  if (image === undefined && registry === undefined && !hasBuildFlag(flags)) return {};
  if (image === undefined || registry === undefined) {
    throw usageFailure(
      'Builds require an image and a registry.',
      'use --image-builder and --build-registry, or --registry; to change existing settings, use svc platform config set',
    );
  }
  const { buildMaker, buildPush, buildsAtOnce, buildTimeout, gitNetwork } = flags;
  return {
    builds: {
      image: checkImage(image, 'image-builder'),
      registry,
      ...(buildMaker !== undefined && { maker: buildMaker }),
      ...(buildPush !== undefined && { pushAddress: buildPush }),
      ...(buildsAtOnce !== undefined && { atOnce: buildsAtOnce }),
      ...(buildTimeout !== undefined && { timeoutSeconds: buildTimeout }),
      ...(gitNetwork.length > 0 && { gitNetworks: networksOf('--git-network', gitNetwork) }),
      baseImages: baseImagesOf(flags, version),
    },
  };
}

/** Whether a flag is set that only has an effect on builds. */
function hasBuildFlag(flags: InstallFlags): boolean {
  const { buildsAtOnce, buildTimeout, buildPush, gitNetwork } = flags;
  const images = [flags.imageBuildNode, flags.imageBuildPython, flags.imageBuildGo];
  const settings = [buildsAtOnce, buildTimeout, buildPush, gitNetwork[0], ...images];
  return settings.some((setting) => setting !== undefined);
}

/** The images from which apps of each language are built. */
function baseImagesOf(flags: InstallFlags, version: string): BuildSettings['baseImages'] {
  const node = flags.imageBuildNode ?? flags.imageFunctionNode ?? registryImage(flags, 'function-node', version);
  const python = flags.imageBuildPython ?? registryImage(flags, 'build-python', version);
  const go = flags.imageBuildGo ?? registryImage(flags, 'build-go', version);
  return {
    ...(node !== undefined && { node: checkImage(node, 'image-build-node') }),
    ...(python !== undefined && { python: checkImage(python, 'image-build-python') }),
    ...(go !== undefined && { go: checkImage(go, 'image-build-go') }),
  };
}

/** Prints what `svc install` would apply, without reading the cluster. */
function printManifests(context: Context, settings: PlatformSettings, format: OutputFormat = 'yaml'): void {
  if (settings.ingressAddress === undefined) {
    context.say(
      'warning: without --ingress-address, gates of apps stay "applying": a dry run does not read the cluster',
    );
  }
  const objects = installManifests(settings);
  const generated = neededSecrets(settings).map((secret) => {
    const { name, purpose } = systemSecrets[secret];
    return `# Secret ${secretNamespace(secret)}/${name}: ${purpose}\n`;
  });
  const note = `# Also in the cluster: Secrets, whose values are generated once:\n${generated.join('')}`;
  const documents = objects.map((object) => stringify(object, { lineWidth: 0 }));
  context.print(
    {
      data: { apiVersion: 'v1', kind: 'List', items: objects },
      table: note + documents.join('---\n').trimEnd(),
      names: objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`),
    },
    // kubectl applies YAML documents, which the table format has.
    format === 'yaml' ? 'table' : format,
  );
}

/** Waits until the ingress serves the console. A time-out is no failure, since this machine may be in another network. */
async function checkRoute(context: Context, api: string): Promise<void> {
  const { clock, version } = context;
  const connections = createConnections();
  const client = createClient({ api, token: undefined, connections, clock, userAgent: `svc/${version}` });
  const deadline = clock.monotonic() + routeSeconds * 1000;
  try {
    for (;;) {
      const status = await client.probe('/health').then(
        (response) => response.status,
        (error: unknown) => (error instanceof Failure ? error.message : Promise.reject(error)),
      );
      if (status === 200) return;
      if (clock.monotonic() >= deadline) {
        const reason = typeof status === 'number' ? `${api} answers ${status}` : status;
        context.say(`warning: the platform is ready, but not reachable from this machine: ${reason}`);
        return;
      }
      await clock.sleep(500);
    }
  } finally {
    connections.close();
  }
}

/** The certificates of a file, as the platform stores them. */
function certificatesIn(file: string): string {
  const parsed = parseCertificates(readInputFile(file).toString('utf8'));
  if ('fault' in parsed) throw usageFailure(`--ca-file ${file}: ${parsed.fault}.`);
  return parsed.certificates;
}
