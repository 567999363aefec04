import { isIP } from 'node:net';
import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { ServiceType } from '../../runtime/contracts/resources/service.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { text, toggle, type FlagValues } from '../flags.ts';
import { askHidden, readStdin } from '../prompt.ts';

/** What is said of a service that runs elsewhere. */
export const externalFlags = {
  external: text('<host[:port]>', 'register one that runs there, instead of running one'),
  tls: toggle('external: connections are to be encrypted'),
  username: text('<name>', 'external: user; its password is asked for'),
  database: text('<name>', 'external: database'),
  accessKey: text('<key>', 'external object store: access key; its secret key is asked for'),
  region: text('<region>', 'external object store: region'),
  bucket: text('<bucket>', 'external object store: bucket'),
  passwordStdin: toggle('external: read password or secret key from standard input, instead of asking for it'),
};

type Given = FlagValues<typeof externalFlags> & { type: ServiceType };

/** The part of the request that these flags make; empty for a service that the platform is to run. @throws Failure (usage) */
export async function externalOf(
  context: Context,
  flags: Given,
): Promise<{ external?: object; credentials?: ServiceCredentials }> {
  const { external, tls, username, database, accessKey, region, bucket, passwordStdin } = flags;
  const entry = { username, database, accessKey, region, bucket };
  const named = Object.entries(entry).filter(([, value]) => value !== undefined);
  if (external === undefined) {
    if (!tls && !passwordStdin && named.length === 0) return {};
    throw usageFailure(
      'TLS, users and passwords are said of services that run elsewhere.',
      'give --external <host>, or leave them out: the platform makes the credentials of what it runs',
    );
  }
  const password = await passwordOf(context, flags);
  const secret = password !== undefined && (flags.type === 'minio' ? { secretKey: password } : { password });
  const credentials: ServiceCredentials = { ...Object.fromEntries(named), ...secret };
  return {
    external: { ...addressOf(external), tls },
    ...(Object.keys(credentials).length > 0 && { credentials }),
  };
}

async function passwordOf(
  context: Context,
  { username, accessKey, passwordStdin }: Given,
): Promise<string | undefined> {
  const owner = username ?? accessKey;
  if (owner === undefined && !passwordStdin) return undefined;
  const what = accessKey === undefined ? 'Password' : 'Secret key';
  const value = passwordStdin
    ? await readStdin(context)
    : await askHidden(context, `${what} of ${owner}`, 'give --password-stdin, and the password on standard input');
  if (value === '') throw usageFailure('The password is empty.');
  return value;
}

/** `db.example.com:5433`, `10.0.0.7`, `[2001:db8::7]:5433` or `2001:db8::7`. @throws Failure (usage) */
function addressOf(external: string): { host: string; port?: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(external);
  if (!match) {
    if (isIP(external) === 6) return { host: external };
    throw usageFailure(`--external takes <host> or <host>:<port>; not "${external}".`);
  }
  const [, bracketed, plain = '', port] = match;
  if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535)) {
    throw usageFailure(`--external takes a port from 1 to 65535; not "${port}".`);
  }
  return { host: bracketed ?? plain, ...(port !== undefined && { port: Number(port) }) };
}
