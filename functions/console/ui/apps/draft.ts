import { readLines } from '../workloads/env-text.ts';
import { linesOf, mountsOf } from '../workloads/mounts.ts';

const textFields = [
  'name',
  'source',
  'image',
  'url',
  'branch',
  'path',
  'dockerfile',
  'credentials',
  'port',
  'replicas',
  'healthPath',
  'memory',
  'cpu',
  'hostname',
  'volumes',
  'variables',
] as const;

export type AppField = (typeof textFields)[number];

/** What the form of a new app has, without the values of secrets. The API checks it. */
export type AppDraft = Readonly<Record<AppField, string>> & {
  autoRollback: boolean;
  /** Services to bind the app to. */
  bindings: readonly string[];
  /** A name for each row of the form; rows without one are left out. */
  secrets: readonly { id: number; name: string }[];
};

/** A new app: an empty text is the default of the API. */
export const newApp: AppDraft = {
  ...(Object.fromEntries(textFields.map((field) => [field, ''])) as Record<AppField, string>),
  source: 'image',
  credentials: 'none',
  port: '8080',
  replicas: '1',
  autoRollback: true,
  bindings: [],
  secrets: [],
};

/** What the form has and the page does not keep. */
export interface AppSecrets {
  /** The token or private key of the repository. */
  credential: string;
  /** Values of secrets by the id of their row. */
  values: ReadonlyMap<number, string>;
}

const gitFields = ['branch', 'path', 'dockerfile'] as const;
const podTexts = ['healthPath', 'memory', 'cpu'] as const;

const filled = (draft: AppDraft, fields: readonly AppField[]) =>
  Object.fromEntries(fields.filter((field) => draft[field] !== '').map((field) => [field, draft[field].trim()]));

/** The secrets that have a name. */
const namedSecrets = ({ secrets }: AppDraft) => secrets.filter(({ name }) => name.trim() !== '');

/** The body of the request that creates the app; empty texts are left out. */
export function createBody(draft: AppDraft, { credential, values }: AppSecrets): Record<string, unknown> {
  const { name, source, image, url, credentials, port, replicas, hostname, autoRollback, bindings } = draft;
  const git = {
    url: url.trim(),
    ...filled(draft, gitFields),
    ...(credentials === 'token' && { credentials: { token: credential.trim() } }),
    ...(credentials === 'deployKey' && { credentials: { deployKey: credential } }),
  };
  const mounts = mountsOf(draft.volumes);
  const { variables } = readLines(draft.variables);
  const secrets = namedSecrets(draft).map((row) => [row.name.trim(), values.get(row.id) ?? ''] as const);
  return {
    name,
    ...(source === 'git' ? { git } : { image: image.trim() }),
    ...(port !== '' && { port: Number(port) }),
    ...(replicas !== '' && { replicas: Number(replicas) }),
    ...filled(draft, podTexts),
    ...(hostname.trim() !== '' && { hostname: hostname.trim() }),
    ...(!autoRollback && { autoRollback }),
    ...(mounts.length > 0 && { volumes: mounts }),
    ...(Object.keys(variables).length > 0 && { env: variables }),
    ...(secrets.length > 0 && { secrets: Object.fromEntries(secrets) }),
    ...(bindings.length > 0 && { bindings: bindings.map((service) => ({ service })) }),
  };
}

/** Without what stands before the host of a URL, because that can be a password. */
export function withoutPassword(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed || (parsed.username === '' && parsed.password === '')) return url;
  parsed.password = '';
  if (parsed.protocol !== 'ssh:') parsed.username = '';
  return parsed.href;
}

const flag = (name: string, value: string) => (value.trim() === '' ? [] : [`--${name}`, value.trim()]);

/**
 * The words of the command that creates the same app. It never has a secret: it names secrets, whose values `svc` asks for,
 * and reads variables from a file, because they may be pasted with secrets among them.
 */
export function createWords(draft: AppDraft): string[] {
  const { source, credentials, hostname, autoRollback, bindings } = draft;
  const git = [
    ...['--git', withoutPassword(draft.url.trim() || 'https://git.example.com/shop/api.git')],
    ...gitFields.flatMap((field) => flag(field, draft[field])),
    ...(credentials === 'token' ? ['--ask-token'] : []),
    ...(credentials === 'deployKey' ? ['--deploy-key-file', 'key'] : []),
  ];
  return [
    ...['app', 'create', draft.name.trim() || 'api'],
    ...(source === 'git' ? git : ['--image', draft.image.trim() || 'registry.example.com/shop/api:1.0']),
    ...(draft.port === newApp.port ? [] : flag('port', draft.port)),
    ...(draft.replicas === newApp.replicas ? [] : flag('replicas', draft.replicas)),
    ...flag('health-path', draft.healthPath),
    ...flag('memory', draft.memory),
    ...flag('cpu', draft.cpu),
    ...flag('hostname', hostname),
    ...(autoRollback ? [] : ['--auto-rollback', 'off']),
    ...linesOf(draft.volumes).flatMap((line) => ['--volume', line]),
    ...(linesOf(draft.variables).length > 0 ? ['--env-file', '.env'] : []),
    // A value that was written behind the name is a secret too.
    ...namedSecrets(draft).flatMap(({ name }) => ['--secret', name.trim().replace(/=.*/s, '')]),
    ...bindings.flatMap((service) => ['--bind', service]),
  ];
}
