import { readdirSync, readFileSync } from 'node:fs';
import { storedLogs } from './log-store-text.ts';
import type { Platform } from './platform.ts';

/** Where a secret could be read by someone who must not have it: what the place is, and its whole text. */
export type Places = Map<string, string>;

const systemNamespaces = ['svc-system', 'svc-builds', 'traefik'];
/** Fewer characters are a name or a setting. */
const secretLength = 16;

/** The values of all Secrets of a namespace, by `<Secret>/<entry>`. */
export async function secretsOf(platform: Platform, namespace: string): Promise<Map<string, string>> {
  const listed = await platform.kubectl('-n', namespace, 'get', 'secrets', '-o', 'json');
  const { items } = JSON.parse(listed.stdout) as {
    items: { metadata: { name: string }; data?: Record<string, string> }[];
  };
  return new Map(
    items.flatMap(({ metadata, data = {} }) =>
      Object.entries(data).map(([entry, value]) => {
        return [`${metadata.name}/${entry}`, Buffer.from(value, 'base64').toString().trim()] as const;
      }),
    ),
  );
}

/** The installation's own secrets: the values of its Secrets, and each key of a key ring. */
export async function installationSecrets(platform: Platform): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  for (const [name, text] of await secretsOf(platform, 'svc-system')) {
    // A ring is JSON: its keys are the values that must not appear.
    const values = text.startsWith('{') ? (text.match(/[A-Za-z0-9+/]{40,}=*/g) ?? []) : [text];
    for (const value of values) if (value.length >= secretLength) places.set(name, value);
  }
  return places;
}

/** Secrets that the platform generates for users have a form of their own: runtime/domain/api-key.ts and access-token.ts. */
const generated = {
  'an API key': /\bsvc_[a-z0-9]{8}_[a-z0-9]{46}\b/,
  'an access token': /\bsvct_[a-z0-9]{8}_[a-z0-9]{46}\b/,
  "a session's token": /\bsvcs_[a-z0-9]{40}\b/,
  "a webhook's token": /\bsvcwh_[a-z0-9]{40}\b/,
  'a signing secret': /\bwhsec_[A-Za-z0-9+/_-]{32,}/,
};

/**
 * Where the places have one of these secrets, or what looks like a secret that the platform generates for users. The
 * descriptions show where it is without showing it.
 */
export function secretsIn(places: Places, secrets: ReadonlyMap<string, string>): string[] {
  return [...places].flatMap(([place, text]) => [
    ...[...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => `${name} in ${place}`),
    ...Object.entries(generated).flatMap(([name, form]) => {
      const { index } = form.exec(text) ?? {};
      if (index === undefined) return [];
      return `${name} in ${place}, after ${JSON.stringify(text.slice(Math.max(0, index - 120), index))}`;
    }),
  ]);
}

/**
 * Everything that the platform and these namespaces have written by now: logs of pods (also those of a container before
 * its restart), the log store's files with the lines of pods that are gone, Events, specifications and descriptions of
 * objects, arguments of processes, Redis and PostgreSQL.
 */
export async function placesOf(platform: Platform, namespaces: readonly string[] = []): Promise<Places> {
  const places: Places = new Map();
  for (const namespace of [...systemNamespaces, ...namespaces]) {
    const read = async (...args: string[]) => (await platform.kubectl('-n', namespace, ...args)).stdout;
    const pods = (await read('get', 'pods', '-o', 'name')).split('\n').filter(Boolean);
    for (const pod of pods) {
      const log = (...flags: string[]) => read('logs', pod, '--all-containers', '--tail=-1', ...flags);
      places.set(`the log of ${namespace} ${pod}`, (await log()) + (await log('--previous')));
    }
    places.set(`the Events of ${namespace}`, await read('get', 'events', '-o', 'json'));
    places.set(`the descriptions of ${namespace}`, await read('describe', 'pods,services,configmaps'));
  }
  const kinds = 'pods,deployments,statefulsets,cronjobs,jobs.batch,configmaps';
  places.set('specifications', (await platform.kubectl('get', kinds, '-A', '-o', 'json')).stdout);
  places.set('arguments of processes', allArguments());
  const stored = await storedLogs(platform);
  if (stored !== undefined) places.set('the files of the log store', stored);
  places.set('Redis', await inStore(platform, 'svc-redis-0', readRedis));
  places.set('PostgreSQL', await inStore(platform, 'svc-postgres-0', readPostgres));
  return places;
}

const readRedis =
  'export REDISCLI_AUTH="$(cat "$REDIS_PASSWORD_FILE")"; ask() { redis-cli -p "${PORT:-6379}" "$@"; }; for key in $(ask --scan); do echo "$key"; ask dump "$key"; ask hgetall "$key"; done';
const readPostgres =
  'PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"; export PGPASSWORD="$(cat "$POSTGRES_PASSWORD_FILE")"; exec pg_dump -h 127.0.0.1 -p "${PORT:-5432}" -U svc svc';

async function inStore(platform: Platform, pod: string, script: string): Promise<string> {
  const { code, stdout, stderr } = await platform.kubectl('-n', 'svc-system', 'exec', pod, '--', 'sh', '-c', script);
  if (code !== 0 || stdout === '') throw new Error(`${pod} cannot be read: ${stderr}`);
  return stdout;
}

/** The command line of every process of the machine, including the pods'. */
function allArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        // It has ended since.
        return '';
      }
    })
    .join('\n');
}
