import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { trustBundle } from '../../runtime/domain/certificates.ts';
import { basicCredentials } from '../../runtime/domain/registry-credentials.ts';

/** A manifest of the registry that builds push to. */
export interface Manifest {
  /** Scheme, host and port of the registry. */
  address: string;
  /** The repository without the host: `builds/shop-prod/web`. */
  path: string;
  digest: string;
}

export interface RegistryAccess {
  /** The text of a Docker configuration file; undefined without credentials. */
  credentials: string | undefined;
  /** CAs to trust besides the public ones, in PEM. */
  caCertificates?: string | undefined;
  signal: AbortSignal;
  /** Time-out of each request with its answer, in ms; default 8 s. */
  timeoutMs?: number;
}

/**
 * The result of a deletion. `refused`: the registry keeps the image, and will the next time. `unknown`: nobody knows, and
 * another attempt may tell.
 */
export type DeletionResult =
  | { result: 'deleted' }
  | { result: 'refused'; problem: 'image_deletion_disabled' | 'registry_denied' | 'registry_refused'; message: string }
  | { result: 'unknown'; problem: 'registry_unavailable'; message: string };

const defaultTimeoutMs = 8_000;
/** What is read of an answer; a registry's errors and tokens are shorter. */
const answerMaxBytes = 64 * 1024;
const tokenMax = 32 * 1024;
const digestPattern = /^sha256:[a-f0-9]{64}$/;
const pathPattern = /^[a-z0-9]+(?:[._/-][a-z0-9]+)*$/;

interface Answer {
  status: number;
  challenge: string;
  body: string;
}

class RegistryFault extends Error {}

/**
 * Deletes a manifest, with all its tags in this repository; one that does not exist counts as deleted. It follows no
 * redirect, reads little of an answer, and gives up after a time, so that no registry can hold a worker. Never rejects.
 * https://github.com/opencontainers/distribution-spec (Content Management, Deleting Manifests)
 */
export async function deleteManifest(manifest: Manifest, access: RegistryAccess): Promise<DeletionResult> {
  const { address, path, digest } = manifest;
  const host = new URL(address).host;
  if (!digestPattern.test(digest) || !pathPattern.test(path)) {
    return { result: 'refused', problem: 'registry_refused', message: 'The image has an invalid name.' };
  }
  const url = `${address}/v2/${path}/manifests/${digest}`;
  const basic = access.credentials === undefined ? undefined : basicCredentials(access.credentials, host);
  try {
    let answer = await send('DELETE', url, basic && `Basic ${basic}`, access);
    if (answer.status === 401) {
      const token = await fetchToken(answer.challenge, { address, path, basic }, access);
      if (token !== undefined) answer = await send('DELETE', url, `Bearer ${token}`, access);
    }
    return resultOf(answer, host);
  } catch (error) {
    const reason = error instanceof RegistryFault ? error.message : 'the connection failed';
    const message = `The registry ${host} did not delete the image: ${reason}.`;
    return { result: 'unknown', problem: 'registry_unavailable', message };
  }
}

function resultOf({ status, body }: Answer, host: string): DeletionResult {
  if ([200, 202, 204, 404].includes(status)) return { result: 'deleted' };
  if (status === 405 || status === 501 || (status === 400 && body.includes('UNSUPPORTED'))) {
    return {
      result: 'refused',
      problem: 'image_deletion_disabled',
      message: `The registry ${host} does not allow deletions. An administrator enables them there, such as with REGISTRY_STORAGE_DELETE_ENABLED=true.`,
    };
  }
  if (status === 401 || status === 403) {
    return {
      result: 'refused',
      problem: 'registry_denied',
      message: `The registry ${host} denied the deletion (${status}). An administrator stores credentials that may delete in the Secret svc-registry-delete in svc-builds.`,
    };
  }
  if (status === 429 || status >= 500) {
    const message = `The registry ${host} answered ${status}.`;
    return { result: 'unknown', problem: 'registry_unavailable', message };
  }
  const message = `The registry ${host} refused the deletion (${status}).`;
  return { result: 'refused', problem: 'registry_refused', message };
}

const tokenAnswer = z.union([
  z.object({ token: z.string().min(1).max(tokenMax) }).transform(({ token }) => token),
  z.object({ access_token: z.string().min(1).max(tokenMax) }).transform((answer) => answer.access_token),
]);

/**
 * Exchanges credentials for a token, as registries with a token server require. The credentials go to a server over TLS or
 * to the registry itself, never to another one in plain text.
 * https://distribution.github.io/distribution/spec/auth/token/
 */
async function fetchToken(
  challenge: string,
  { address, path, basic }: { address: string; path: string; basic: string | undefined },
  access: RegistryAccess,
): Promise<string | undefined> {
  if (!/^bearer /i.test(challenge)) return undefined;
  const fields = Object.fromEntries(
    [...challenge.matchAll(/\b(realm|service)="([^"]*)"/g)].map(([, name = '', value]) => [name, value]),
  );
  const realm = URL.parse(fields['realm'] ?? '');
  if (!realm || (realm.protocol !== 'https:' && realm.origin !== new URL(address).origin)) return undefined;
  if (fields['service'] !== undefined) realm.searchParams.set('service', fields['service']);
  realm.searchParams.set('scope', `repository:${path}:delete`);
  const { status, body } = await send('GET', realm.href, basic && `Basic ${basic}`, access);
  if (status !== 200) return undefined;
  try {
    const token = tokenAnswer.safeParse(JSON.parse(body)).data;
    // It becomes a header.
    return token !== undefined && /^[\x21-\x7e]+$/.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}

async function send(
  method: 'DELETE' | 'GET',
  url: string,
  authorization: string | undefined,
  { caCertificates, signal, timeoutMs = defaultTimeoutMs }: RegistryAccess,
): Promise<Answer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const secure = url.startsWith('https:');
  const options = {
    method,
    agent: false,
    signal: limit,
    headers: { accept: 'application/json', ...(authorization !== undefined && { authorization }) },
    ...(secure && caCertificates !== undefined && { ca: trustBundle(caCertificates) }),
  };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      (secure ? httpsRequest : httpRequest)(url, options, resolve).on('error', reject).end();
    });
    const body = await readStart(response);
    return { status: response.statusCode ?? 0, challenge: response.headers['www-authenticate'] ?? '', body };
  } catch (error) {
    throw new RegistryFault(faultOf(error, limit, timeoutMs), { cause: error });
  }
}

/** The first bytes of an answer; the rest is not read. */
async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, answerMaxBytes - size));
      size += chunk.length;
      if (size >= answerMaxBytes) break;
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}

function faultOf(error: unknown, limit: AbortSignal, timeoutMs: number): string {
  if (limit.aborted) return `it did not answer within ${timeoutMs / 1000} seconds`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its host name was not found';
  if (code?.includes('CERT') || code?.startsWith('ERR_TLS')) return `its certificate is not trusted (${code})`;
  if (code?.startsWith('HPE_')) return 'its answer is not HTTP';
  return 'the connection was closed';
}
