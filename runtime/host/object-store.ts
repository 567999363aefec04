import { createHash, createHmac } from 'node:crypto';
import { request, type Dispatcher } from 'undici';
import { z } from 'zod';

/** Which stores that have no regions go by, too. */
export const defaultRegion = 'us-east-1';

/** An object store that speaks S3, and the way in. */
export interface ObjectStore {
  host: string;
  port: number;
  tls: boolean;
  accessKey: string;
  secretKey: string;
  /** Default {@link defaultRegion}. */
  region?: string;
  /** The connections that requests go by; default all of the process. */
  via?: Dispatcher;
}

/** One of its buckets. */
export interface Bucket extends ObjectStore {
  bucket: string;
}

/** An object as a listing shows it. */
export interface ListedObject {
  key: string;
  /** Changes with the content. */
  etag: string;
  /** RFC 3339; changes with every upload. */
  modified: string;
  /** Bytes. */
  size: number;
}

/** The store's refusal, with its own code such as `NoSuchBucket`. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Objects that a store lists at a time, at most. */
const pageKeysMax = 1_000;
const answerMs = 30_000;

export interface StoreRequest {
  /** Default GET. */
  method?: string;
  query?: Readonly<Record<string, string>>;
  /** Beside those that sign the request. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  signal?: AbortSignal | undefined;
}

/** One request about a bucket or an object in it. @throws ObjectStoreError, and what the connection throws */
export function askStore(bucket: Bucket, { key, ...request }: StoreRequest & { key?: string }): Promise<string> {
  return sendSigned(bucket, [bucket.bucket, ...(key?.split('/') ?? [])], request);
}

/** One request with the store's keys. @param place the parts of its path @throws ObjectStoreError, and what the connection throws */
export async function sendSigned(
  store: ObjectStore,
  place: readonly string[],
  { method = 'GET', query = {}, headers: more = {}, body, signal }: StoreRequest,
): Promise<string> {
  const { host, port, tls, via } = store;
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const path = ['', ...place].map(encode).join('/');
  const search = Object.entries(query)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const headers = signedHeaders(store, { method, authority, path, search, body: body ?? '', at: new Date() });
  const answer = await request(`${tls ? 'https' : 'http'}://${authority}${path}${search && `?${search}`}`, {
    ...{ method: method as 'GET', headers: { ...more, ...headers }, headersTimeout: answerMs, bodyTimeout: answerMs },
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
    ...(via && { dispatcher: via }),
  });
  const text = await answer.body.text();
  if (answer.statusCode < 300) return text;
  throw refusalOf(answer.statusCode, text);
}

/** Of S3 in XML; of what a store has beside it, in JSON. */
function refusalOf(status: number, text: string): ObjectStoreError {
  const shaped = /^\s*\{/.test(text) ? storeError.safeParse(parsed(text)) : undefined;
  const [code = shaped?.data?.Code ?? `HTTP ${status}`] = textsOf(text, 'Code');
  const [message = shaped?.data?.Message ?? `the store answered ${status}`] = textsOf(text, 'Message').map(unescapeXml);
  return new ObjectStoreError(code, message);
}

const storeError = z.object({ Code: z.string(), Message: z.string() });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The objects of a bucket in the order of their keys' bytes, a page at a time.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 * @param pageKeys how many of them a page has, default and at most 1,000
 * @throws ObjectStoreError, and what the connection throws
 */
export async function* listObjects(
  bucket: Bucket,
  { signal, pageKeys = pageKeysMax }: { signal?: AbortSignal; pageKeys?: number } = {},
): AsyncGenerator<ListedObject[]> {
  const listing = { 'encoding-type': 'url', 'list-type': '2', 'max-keys': String(pageKeys) };
  let token: string | undefined;
  do {
    const query = { ...listing, ...(token !== undefined && { 'continuation-token': token }) };
    const xml = await askStore(bucket, { query, signal });
    yield textsOf(xml, 'Contents').map(objectOf);
    token = textsOf(xml, 'NextContinuationToken').map(unescapeXml)[0];
  } while (token !== undefined);
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
function signedHeaders(
  { accessKey, secretKey, region = defaultRegion }: Pick<ObjectStore, 'accessKey' | 'secretKey' | 'region'>,
  asked: { method: string; authority: string; path: string; search: string; body: string | Buffer; at: Date },
): Record<string, string> {
  const { method, authority, path, search, body, at } = asked;
  const time = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const signed = { host: authority, 'x-amz-content-sha256': sha256(body), 'x-amz-date': time };
  const names = Object.keys(signed).join(';');
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [method, path, search, lines.join(''), names, sha256(body)].join('\n');
  const scope = [time.slice(0, 8), region, 's3', 'aws4_request'];
  const key = scope.reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretKey}`);
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const credential = [accessKey, ...scope].join('/');
  const signature = hmac(key, text).toString('hex');
  return {
    ...signed,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** RFC 3986, where `encodeURIComponent` leaves out five. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** What stands between the tags of a name; the answers that are read here nest no name in itself. */
function textsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, text = '']) => text);
}

function objectOf(xml: string): ListedObject {
  const field = (name: string) => textsOf(xml, name)[0] ?? '';
  return {
    // Some stores write a space as `+`, as forms do.
    key: decodeURIComponent(field('Key').replaceAll('+', '%20')),
    etag: unescapeXml(field('ETag')).replaceAll('"', ''),
    modified: field('LastModified'),
    size: Number(field('Size')),
  };
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(#x?)?(\w+);/g, (all, number: string | undefined, name: string) => {
    if (number === undefined) return entities[name] ?? all;
    return String.fromCodePoint(Number.parseInt(name, number === '#' ? 10 : 16));
  });
}
