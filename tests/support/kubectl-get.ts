import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import type { Ended } from '../../infra/demo/program.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { createCredentials, type Credentials } from '../../runtime/kube/credentials.ts';
import { KubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/**
 * Answers `kubectl get` in this process, since tests that wait ask again and again, and each kubectl takes a tenth of a
 * second of a processor. @returns undefined for what it does not understand, which is kubectl's to answer
 */
export function createKubectlGet(kubeconfig: string): (args: readonly string[]) => Promise<Ended | undefined> {
  const kube = createKubeClient(credentialsIn(kubeconfig));
  return async (args) => {
    const selection = selectionOf(args);
    if (!selection) return undefined;
    for (;;) {
      try {
        return await answer(kube, selection);
      } catch (error) {
        // A call that hangs is repeated, since it only reads.
        if ((error as Error).name !== 'TimeoutError') return failure(error);
      }
    }
  };
}

const shortNames: Partial<Record<keyof typeof kinds, string>> = {
  Project: 'sproj',
  App: 'sapp',
  Function: 'sfn',
  Job: 'sjob',
  Volume: 'svol',
  Build: 'sbuild',
  ServiceResource: 'ssvc',
  Namespace: 'ns',
  Service: 'svc',
  ConfigMap: 'cm',
  PersistentVolumeClaim: 'pvc',
  Deployment: 'deploy',
  StatefulSet: 'sts',
  ReplicaSet: 'rs',
  NetworkPolicy: 'netpol',
  PodDisruptionBudget: 'pdb',
};

const groupOf = ({ apiVersion }: Pick<ResourceKind, 'apiVersion'>) => apiVersion.split('/').at(-2) ?? '';

/** The kind with a name such as `pods`, `deploy` or `jobs.batch`; undefined for any that could mean another kind, too. */
function kindOf(name: string): ResourceKind | undefined {
  const [plain = '', ...group] = name.split('.');
  const matches = Object.entries(kinds).filter(
    ([key, { kind, plural }]) =>
      [plural, kind.toLowerCase()].includes(plain) || shortNames[key as keyof typeof kinds] === plain,
  );
  const all: ResourceKind[] = matches.map(([, kind]) => kind);
  if (group.length > 0) return all.find((kind) => groupOf(kind) === group.join('.'));
  return all.find((kind) => groupOf(kind) === '') ?? (all.length === 1 ? all[0] : undefined);
}

interface Selection {
  kinds: readonly ResourceKind[];
  names: readonly string[];
  namespace: string | undefined;
  labelSelector: string | undefined;
  print: (objects: readonly Stored<KubeObject>[], isList: boolean) => string;
  ignoreMissing: boolean;
}

function selectionOf(args: readonly string[]): Selection | undefined {
  const call = readGet(args);
  const [verb, kindNames = '', ...names] = call?.positionals ?? [];
  if (!call || verb !== 'get') return undefined;
  const { namespace = 'default', output = '', selector, 'all-namespaces': everywhere, ...rest } = call.values;
  const print = printerOf(output);
  const kindsToList = kindNames.split(',').map(kindOf);
  if (!print || !kindsToList.every((kind) => kind !== undefined) || (kindsToList.length > 1 && names.length > 0))
    return undefined;
  return {
    kinds: kindsToList,
    names,
    namespace: everywhere ? undefined : namespace,
    labelSelector: selector,
    print,
    ignoreMissing: rest['ignore-not-found'],
  };
}

function readGet(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        namespace: { type: 'string', short: 'n' },
        'all-namespaces': { type: 'boolean', short: 'A', default: false },
        selector: { type: 'string', short: 'l' },
        output: { type: 'string', short: 'o' },
        'ignore-not-found': { type: 'boolean', default: false },
      },
    });
  } catch {
    return undefined;
  }
}

function printerOf(output: string): Selection['print'] | undefined {
  if (output === 'name') return (objects) => objects.map((object) => `${nameOf(object)}\n`).join('');
  const asJson = (objects: readonly Stored<KubeObject>[], isList: boolean) =>
    isList ? { apiVersion: 'v1', items: objects, kind: 'List', metadata: { resourceVersion: '' } } : (objects[0] ?? {});
  if (output === 'json') return (objects, isList) => `${JSON.stringify(asJson(objects, isList), null, 4)}\n`;
  // Paths of fields, with an index or all items: what tests use of https://kubernetes.io/docs/reference/kubectl/jsonpath
  const [, path] = /^jsonpath=\{((?:\.\w+|\[(?:\d+|\*)\])+)\}$/.exec(output) ?? [];
  const steps = path?.match(/\w+|\*/g) ?? undefined;
  return steps && ((objects, isList) => valuesAt(asJson(objects, isList), steps).join(' '));
}

function nameOf({ apiVersion, kind, metadata }: Stored<KubeObject>): string {
  const group = groupOf({ apiVersion });
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`;
}

function valuesAt(value: unknown, [step, ...rest]: readonly string[]): string[] {
  if (value === undefined) return [];
  if (step === undefined) return [typeof value === 'string' ? value : JSON.stringify(value)];
  const fields = value as Record<string, unknown>;
  return (step === '*' ? Object.values(fields) : [fields[step]]).flatMap((each) => valuesAt(each, rest));
}

async function answer(kube: KubeClient, selection: Selection): Promise<Ended> {
  const { names, namespace, labelSelector, print, ignoreMissing } = selection;
  const objects: Stored<KubeObject>[] = [];
  let stderr = '';
  for (const kind of selection.kinds) {
    const place = kind.namespaced ? namespace : undefined;
    if (names.length === 0) {
      const placeSelection = {
        ...(place !== undefined && { namespace: place }),
        ...(labelSelector !== undefined && { labelSelector }),
      };
      objects.push(...(await kube.list(kind, placeSelection)).items);
    }
    for (const name of names) {
      const object = await kube.get(kind, name, place);
      if (object) objects.push(object);
      else if (!ignoreMissing) stderr += missing(kind, name);
    }
  }
  const isFound = stderr === '';
  const isList = names.length !== 1;
  const stdout = objects.length > 0 || (isList && isFound) ? print(objects, isList) : '';
  return { code: isFound ? 0 : 1, stdout, stderr };
}

function missing(kind: ResourceKind, name: string): string {
  const resource = [kind.plural, groupOf(kind)].filter((part) => part !== '').join('.');
  return `Error from server (NotFound): ${resource} "${name}" not found\n`;
}

function failure(error: unknown): Ended {
  const { message } = error as Error;
  const from = error instanceof KubeError ? `Error from server (${error.reason})` : 'Unable to connect to the server';
  return { code: 1, stdout: '', stderr: `${from}: ${message}\n` };
}

interface KubeconfigFile {
  clusters: [{ cluster: { server: string; 'certificate-authority-data'?: string } }];
  users: [{ user: { token?: string; 'client-certificate-data'?: string; 'client-key-data'?: string } }];
}

/** Of a kubeconfig with one cluster and user. `loadKubeConfig` imports what takes a third of a second. */
function credentialsIn(kubeconfig: string): Credentials {
  return createCredentials(() => {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as KubeconfigFile;
    const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
    const { token, 'client-certificate-data': cert, 'client-key-data': key } = users[0].user;
    const pems = { ca, cert, key };
    const tls = Object.fromEntries(
      Object.entries(pems).flatMap(([name, data]) =>
        data === undefined ? [] : [[name, Buffer.from(data, 'base64').toString()]],
      ),
    );
    return Promise.resolve({ server, headers: token === undefined ? {} : { Authorization: `Bearer ${token}` }, tls });
  });
}
