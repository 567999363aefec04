import { isIP } from 'node:net';
import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { ServiceType } from '../../runtime/contracts/resources/service.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { text, toggle, type FlagValues } from '../flags.ts';
import { askHidden, readStdin } from '../prompt.ts';

/** For `create`: an external service. */
export const externalFlags = {
  external: text('<host[:port]>', 'register an external service at this address'),
  tls: toggle('external: use TLS'),
  username: text('<name>', 'external: user; prompts for the password'),
  database: text('<name>', 'external: database'),
  accessKey: text('<key>', 'external object store: access key; prompts for the secret key'),
  region: text('<region>', 'external object store: region'),
  bucket: text('<bucket>', 'external object store: bucket'),
  passwordStdin: toggle('external: read the password or secret key from standard input'),
};

type ExternalFlags = FlagValues<typeof externalFlags> & { type: ServiceType };

/** The fields of the request body; empty for a managed service. @throws Failure (usage) */
export async function externalBody(
  context: Context,
  flags: ExternalFlags,
): Promise<{ external?: object; credentials?: ServiceCredentials }> {
  const { external, tls, username, database, accessKey, region, bucket, passwordStdin } = flags;
  const entry = { username, database, accessKey, region, bucket };
  const values = Object.entries(entry).filter(([, value]) => value !== undefined);
  if (external === undefined) {
    if (!tls && !passwordStdin && values.length === 0) return {};
    throw usageFailure(
      'TLS, users and passwords are for external services only.',
      'use --external <host>, or omit them: the platform creates the credentials of managed services',
    );
  }
  const password = await passwordOf(context, flags);
  const secret = password !== undefined && (flags.type === 'minio' ? { secretKey: password } : { password });
  const credentials: ServiceCredentials = { ...Object.fromEntries(values), ...secret };
  return { external: { ...addressOf(external), tls }, ...(Object.keys(credentials).length > 0 && { credentials }) };
}

async function passwordOf(
  context: Context,
  { username, accessKey, passwordStdin }: ExternalFlags,
): Promise<string | undefined> {
  const owner = username ?? accessKey;
  if (owner === undefined && !passwordStdin) return undefined;
  const label = accessKey === undefined ? 'Password' : 'Secret key';
  const value = passwordStdin
    ? await readStdin(context)
    : await askHidden(context, `${label} of ${owner}`, 'use --password-stdin and pass the password on standard input');
  if (value === '') throw usageFailure('The password is empty.');
  return value;
}

/** `db.example.com:5433`, `10.0.0.7`, `[2001:db8::7]:5433` or `2001:db8::7`. @throws Failure (usage) */
function addressOf(external: string): { host: string; port?: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(external);
  if (!match) {
    if (isIP(external) === 6) return { host: external };
    throw usageFailure(`--external takes <host> or <host>:<port>, not "${external}".`);
  }
  const [, bracketed, plain = '', port] = match;
  if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535)) {
    throw usageFailure(`--external takes a port from 1 to 65535, not "${port}".`);
  }
  return { host: bracketed ?? plain, ...(port !== undefined && { port: Number(port) }) };
}
