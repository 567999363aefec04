import {
  environmentBody,
  environmentFlags,
  newEnvironment,
  type EnvironmentDraft,
} from '../workloads/environment-draft.ts';
import { filledLines } from '../parts/lines.ts';
import { mountsOf } from '../workloads/mounts.ts';

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
] as const;

export type AppField = (typeof textFields)[number];

/** What the form of a new app has, without the values of secrets. The API checks it. */
export type AppDraft = Readonly<Record<AppField, string>> & EnvironmentDraft & { autoRollback: boolean };

/** A new app: an empty text is the default of the API. */
export const newApp: AppDraft = {
  ...(Object.fromEntries(textFields.map((field) => [field, ''])) as Record<AppField, string>),
  source: 'image',
  credentials: 'none',
  port: '8080',
  replicas: '1',
  autoRollback: true,
  ...newEnvironment,
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

/** The body of the request that creates the app; empty texts are left out. */
export function createBody(draft: AppDraft, { credential, values }: AppSecrets): Record<string, unknown> {
  const { name, source, image, url, credentials, port, replicas, hostname, autoRollback } = draft;
  const git = {
    url: url.trim(),
    ...filled(draft, gitFields),
    ...(credentials === 'token' && { credentials: { token: credential.trim() } }),
    ...(credentials === 'deployKey' && { credentials: { deployKey: credential } }),
  };
  const mounts = mountsOf(draft.volumes);
  return {
    name,
    ...(source === 'git' ? { git } : { image: image.trim() }),
    ...(port !== '' && { port: Number(port) }),
    ...(replicas !== '' && { replicas: Number(replicas) }),
    ...filled(draft, podTexts),
    ...(hostname.trim() !== '' && { hostname: hostname.trim() }),
    ...(!autoRollback && { autoRollback }),
    ...(mounts.length > 0 && { volumes: mounts }),
    ...environmentBody(draft, values),
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

/** The words of the command that creates the same app. It never has a secret. */
export function createWords(draft: AppDraft): string[] {
  const { source, credentials, hostname, autoRollback } = draft;
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
    ...filledLines(draft.volumes).flatMap((line) => ['--volume', line]),
    ...environmentFlags(draft),
  ];
}
