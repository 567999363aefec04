import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readAdminPassword } from '../../infra/install/secrets.ts';
import { InstallError } from '../../infra/install/install-error.ts';
import { installedImages, type NeededImages } from '../../infra/install/kept-settings.ts';
import { installManifests, installPlatform } from '../../infra/install/install.ts';
import { platformConfigOf } from '../../infra/manifests/platform/installation.ts';
import { systemSecrets } from '../../infra/manifests/platform/secrets.ts';
import { consoleHost, type PlatformImages, type PlatformSettings } from '../../infra/manifests/platform/settings.ts';
import { checkPlatformConfig, faultsText } from '../../runtime/contracts/resources/platform-config-check.ts';
import { ingressAddressPattern, publicUrl } from '../../runtime/contracts/resources/platform-config.ts';
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
import { Failure, usageFailure } from '../failure.ts';
import { fields, type OutputFormat } from '../output.ts';
import type { InstallFlags } from './install-command.ts';

const defaultSeconds = 600;
/** How long the ingress may take to serve a route whose pods are ready. */
const routeSeconds = 30;

/** `svc install`, apart from its flags: it brings the Kubernetes client along, which other commands need not load. */
export async function install(context: Context, flags: InstallFlags): Promise<void> {
  if (flags.dryRun) {
    const settings = settingsOf(flags, context.version);
    if (settings.ingressAddress === undefined) {
      context.say(
        'warning: without --ingress-address these manifests leave gates of apps "applying": no cluster is asked',
      );
    }
    printManifests(context, settings, flags.output);
    return;
  }
  // Whatever is wrong with the flags is said before the cluster is asked.
  const undecided = 'undecided:1';
  settingsOf(flags, context.version, {
    ...{ platform: undecided, functionNode: undecided, postgres: undecided, redis: undecided },
  });
  const kube = createKubeClient(loadKubeConfig(kubeconfigOf(context, flags)));
  try {
    const { clock } = context;
    const installed = flags.registry === undefined ? await installedImages(kube) : {};
    const settings = settingsOf(flags, context.version, installed);
    const timeoutMs = (flags.timeout ?? defaultSeconds) * 1000;
    const report = await installPlatform(settings, { kube, clock, timeoutMs, log: context.say });
    const console = publicUrl(settings, consoleHost(settings));
    await checkRoute(context, console);
    const file = flags.adminPasswordFile;
    if (file !== undefined) writePassword(file, await readAdminPassword(kube));
    const summary = {
      console,
      adminEmail: settings.adminEmail,
      ...(file !== undefined && { adminPasswordFile: file }),
    };
    context.print(
      {
        data: { ...summary, ...report },
        table: fields([
          ['Console', console],
          ['Admin', settings.adminEmail],
          ['Password', file === undefined ? undefined : `in ${file}`],
        ]),
        names: [console],
      },
      flags.output,
    );
    if (flags.trustedProxy.length > 0) context.say(trustHint(settings));
    if (file === undefined) context.say(`the admin's password: ${passwordCommand}`);
    context.say(`sign in: svc login --api ${console} --email ${settings.adminEmail}`);
  } catch (error) {
    throw explained(error);
  } finally {
    await kube.close();
  }
}

const passwordCommand = `kubectl -n ${systemNamespace} get secret ${systemSecrets.admin.name} -o 'go-template={{.data.${systemSecrets.admin.key} | base64decode}}'`;

/** What the checkers get to see is what Traefik passes on, and it drops what comes from an address that it does not trust. */
function trustHint({ others, entryPoints }: PlatformSettings): string {
  const trusted = others.trustedProxies?.join();
  const flags = entryPoints.map((name) => `--entryPoints.${name}.forwardedHeaders.trustedIPs=${trusted}`);
  return `Traefik must trust the proxies, too: ${flags.join(' ')}`;
}

/** The same error with what to do about it, where that is known. */
function explained(error: unknown): unknown {
  if (error instanceof InstallError) return new Failure(error.message, { hint: error.hint, cause: error });
  const refusal = error instanceof ChildError ? error.cause : error;
  if (isKubeError(refusal, 401) || isKubeError(refusal, 403)) {
    const hint = 'the kubeconfig must be one of a cluster administrator';
    return new Failure(refusal.message, { code: `kubernetes_${refusal.status}`, hint, cause: error });
  }
  const fault = connectionFault(error);
  if (fault === undefined) return error;
  return new Failure(`The cluster cannot be reached: ${fault}.`, { hint: 'check --kubeconfig', cause: error });
}

/** Anew, since a file that is there keeps its own mode. */
function writePassword(file: string, password: string): void {
  rmSync(file, { force: true });
  writeFileSync(file, `${password}\n`, { mode: 0o600, flag: 'wx' });
}

/** As kubectl finds it. */
function kubeconfigOf({ env }: Context, flags: InstallFlags): string {
  const named = flags.kubeconfig ?? env['KUBECONFIG'];
  const path = named || join(env['HOME'] ?? homedir(), '.kube', 'config');
  if (existsSync(path)) return path;
  throw usageFailure(`There is no kubeconfig at ${path}.`, 'give --kubeconfig or set KUBECONFIG');
}

function settingsOf(flags: InstallFlags, version: string, installed: Partial<NeededImages> = {}): PlatformSettings {
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
      others: {
        ...(flags.profile !== undefined && { profile: flags.profile }),
        ...(flags.trustedProxy.length > 0 && { trustedProxies: networksOf('--trusted-proxy', flags.trustedProxy) }),
        ...buildsOf(flags, version),
        ...registriesOf(flags),
      },
      scrape: flags.scrape,
      images: imagesOf(flags, version, installed),
      adminEmail: flags.adminEmail ?? 'admin@svc.local',
      failpoints: flags.failpoints,
    };
    const checked = checkPlatformConfig(platformConfigOf(settings));
    if ('faults' in checked) throw usageFailure(`The settings are not valid: ${faultsText(checked.faults)}`);
    return settings;
  } catch (error) {
    // The rules of names and images are the API's, which calls what it refuses a problem.
    if (error instanceof Problem) throw usageFailure(error.message);
    throw error;
  }
}

function ingressAddressOf({ ingressAddress }: InstallFlags): string | undefined {
  const address = ingressAddress?.replace(/\/$/, '');
  if (address === undefined || ingressAddressPattern.test(address)) return address;
  throw usageFailure(
    `--ingress-address takes the address of the ingress inside the cluster; not "${ingressAddress}".`,
    'such as http://traefik.kube-system.svc:80',
  );
}

/** Each network once, in its usual spelling. */
function networksOf(flag: string, typed: readonly string[]): string[] {
  const networks = typed.map((text) => {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw usageFailure(`${flag} ${text}: ${parsed.fault}`);
    return parsed.network;
  });
  return [...new Set(networks)];
}

/** Those that are given, those of the registry that is given, or those that the installation has. */
function imagesOf(flags: InstallFlags, version: string, installed: Partial<NeededImages>): PlatformImages {
  const image = (name: string, given: string | undefined, kept: string | undefined): string => {
    if (given === undefined && flags.registry === undefined && kept !== undefined) return kept;
    // Nothing is published under a name of ours, so a default would pull whatever somebody else put there.
    if (given === undefined && flags.registry === undefined) {
      throw usageFailure(
        `No image for ${name} is given.`,
        `give --registry <registry>, where <registry>/svc/${name}:${version} was pushed, or --image-${name} <image>`,
      );
    }
    return checkImage(given ?? `${flags.registry}/svc/${name}:${version}`, `image-${name}`);
  };
  const python = flags.imageFunctionPython ?? (flags.registry && `${flags.registry}/svc/function-python:${version}`);
  const mysql = flags.imageMysql ?? (flags.registry && `${flags.registry}/svc/mariadb:${version}`);
  const minio = flags.imageMinio ?? (flags.registry && `${flags.registry}/svc/minio:${version}`);
  const mongodb = flags.imageMongodb ?? (flags.registry && `${flags.registry}/svc/ferretdb:${version}`);
  return {
    platform: image('platform', flags.imagePlatform, installed.platform),
    functionNode: image('function-node', flags.imageFunctionNode, installed.functionNode),
    ...(python !== undefined && { functionPython: checkImage(python, 'image-function-python') }),
    postgres: image('postgres', flags.imagePostgres, installed.postgres),
    redis: image('redis', flags.imageRedis, installed.redis),
    ...(mysql !== undefined && { mysql: checkImage(mysql, 'image-mysql') }),
    ...(minio !== undefined && { minio: checkImage(minio, 'image-minio') }),
    ...(mongodb !== undefined && { mongodb: checkImage(mongodb, 'image-mongodb') }),
  };
}

/** Where dependencies of functions come from; an installation keeps what it has unless it is told. */
function registriesOf({ npmRegistry: npm, pypiIndex: pypi }: InstallFlags) {
  if (npm === undefined && pypi === undefined) return {};
  return { packageRegistries: { ...(npm !== undefined && { npm }), ...(pypi !== undefined && { pypi }) } };
}

/** Without a registry nothing is said of builds: an installation keeps what it has. */
function buildsOf(flags: InstallFlags, version: string): Pick<PlatformSettings['others'], 'builds'> {
  const { registry, buildPush: pushAddress } = flags;
  const ours = (name: string) => registry && `${registry}/svc/${name}:${version}`;
  const image = flags.imageBuilder ?? ours('builder');
  const target = flags.buildRegistry ?? (registry && `${registry}/builds`);
  if (image === undefined || target === undefined) {
    const alone =
      flags.buildsAtOnce ??
      flags.buildTimeout ??
      pushAddress ??
      flags.gitNetwork[0] ??
      flags.imageBuildNode ??
      flags.imageBuildPython;
    if (image === undefined && target === undefined && alone === undefined) return {};
    throw usageFailure(
      'Builds need an image and a registry.',
      'give --image-builder and --build-registry, or --registry; of an installation that builds, svc platform config set changes --builds-at-once, --build-timeout and --git-network',
    );
  }
  const node = flags.imageBuildNode ?? flags.imageFunctionNode ?? ours('function-node');
  const python = flags.imageBuildPython ?? ours('build-python');
  return {
    builds: {
      image: checkImage(image, 'image-builder'),
      registry: target,
      ...(pushAddress !== undefined && { pushAddress }),
      ...(flags.buildsAtOnce !== undefined && { atOnce: flags.buildsAtOnce }),
      ...(flags.buildTimeout !== undefined && { timeoutSeconds: flags.buildTimeout }),
      ...(flags.gitNetwork.length > 0 && { gitNetworks: networksOf('--git-network', flags.gitNetwork) }),
      baseImages: {
        ...(node !== undefined && { node: checkImage(node, 'image-build-node') }),
        ...(python !== undefined && { python: checkImage(python, 'image-build-python') }),
      },
    },
  };
}

function printManifests(context: Context, settings: PlatformSettings, format: OutputFormat = 'yaml'): void {
  const objects = installManifests(settings);
  const generated = Object.values(systemSecrets).map(({ name, purpose }) => `# Secret ${name}: ${purpose}\n`);
  const note = `# ${systemNamespace} also gets Secrets, whose values are generated once, in the cluster:\n${generated.join('')}`;
  const documents = objects.map((object) => stringify(object, { lineWidth: 0 }));
  context.print(
    {
      data: { apiVersion: 'v1', kind: 'List', items: objects },
      table: note + documents.join('---\n').trimEnd(),
      names: objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`),
    },
    // Documents, one an object, are what people read and kubectl applies.
    format === 'yaml' ? 'table' : format,
  );
}

/** Waits for the ingress to serve the console; from outside its network that cannot be seen, so it is no failure. */
async function checkRoute(context: Context, api: string): Promise<void> {
  const { clock, version } = context;
  const connections = createConnections();
  const client = createClient({ api, token: undefined, connections, clock, userAgent: `svc/${version}` });
  const deadline = clock.monotonic() + routeSeconds * 1000;
  try {
    for (;;) {
      const status = await client.probe('/health').then(
        (answer) => answer.status,
        (error: unknown) => (error instanceof Failure ? error.message : Promise.reject(error)),
      );
      if (status === 200) return;
      if (clock.monotonic() >= deadline) {
        const why = typeof status === 'number' ? `${api} answers ${status}` : status;
        context.say(`warning: the platform is up, but not reachable from here: ${why}`);
        return;
      }
      await clock.sleep(500);
    }
  } finally {
    connections.close();
  }
}
