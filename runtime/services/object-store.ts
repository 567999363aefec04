import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { ClientOptions } from 'minio';
import { z } from 'zod';
import { readBytes } from '../domain/read-bytes.ts';
import { textsOf, unescapeXml } from './xml.ts';

/** The region of stores without regions. */
export const defaultRegion = 'us-east-1';

/** An S3 object store, with the keys to use it. */
export interface ObjectStoreTarget {
  host: string;
  port: number;
  tls: boolean;
  /** The IP address to connect to; default: whatever `host` resolves to. */
  address?: string;
  accessKey: string;
  secretKey: string;
  /** Default {@link defaultRegion}. */
  region?: string;
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

interface StoreRequest {
  /** Default GET. */
  method?: string;
  /** The parts of the path: the bucket first. */
  path: readonly [string, ...string[]];
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
}

export interface ObjectStore {
  /**
   * Sends one signed request. @returns the body of the response
   * @throws ObjectStoreError when the store refuses or sends more than 4 MiB, otherwise a connection error
   */
  send: (request: StoreRequest) => Promise<string>;
  /** Closes the connections. */
  close: () => void;
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

/** The maximum that S3 returns in one page. */
const pageKeysMax = 1_000;
/** How long a store may be silent, while connecting and between two parts of a response. */
const silenceMs = 30_000;
/** How long one response may take altogether: a store that sends a byte now and then is never silent. */
const responseMs = 60_000;
/** A page of 1,000 keys of 1,024 bytes, escaped, takes 3.4 MB; reading as much takes about 20 ms. */
const responseBytesMax = 4 * 1024 ** 2;
/** The successful responses of the requests that are sent here. */
const successes = [200, 202, 204];

/**
 * Prepares the use of an object store; connects with the first request.
 * @param signal ends all requests, with its reason
 */
export async function openObjectStore(target: ObjectStoreTarget, signal?: AbortSignal): Promise<ObjectStore> {
  const { host, port, tls, address, accessKey, secretKey, region = defaultRegion } = target;
  // The package takes 43 MB and 150 ms to load, and most installations use no object store.
  const { Client } = await import('minio');
  const agent = createAgent(tls, address);
  const client = new Client({
    endPoint: host,
    port,
    useSSL: tls,
    accessKey,
    secretKey,
    // With a region, the client does not ask for that of each bucket, which needs a right of its own.
    region,
    transport: createTransport(tls, signal),
    transportAgent: agent,
    retryOptions: { disableRetry: true },
  });
  return {
    async send({ method = 'GET', path: [bucket, ...rest], query = {}, headers = {}, body = '' }) {
      const search = Object.entries(query).map(([name, value]) => `${escape(name)}=${escape(value)}`);
      // A buffer, because the client takes the length of a string for its number of bytes.
      const bytes = Buffer.from(body);
      const options = {
        method,
        // The client sets the length for some methods only.
        headers: { ...headers, 'content-length': bytes.length },
        bucketName: escape(bucket),
        ...(rest.length > 0 && { objectName: rest.join('/') }),
        ...(search.length > 0 && { query: search.join('&') }),
      };
      const response = await client.makeRequestAsync(options, bytes, successes, region);
      return readText(response, signal);
    },
    close: () => agent.destroy(),
  };
}

function createAgent(tls: boolean, address: string | undefined): HttpAgent {
  const family = isIP(address ?? '');
  const lookup: LookupFunction = (_host, options, callback) => {
    if (options.all) callback(null, [{ address: address ?? '', family }]);
    else callback(null, address ?? '', family);
  };
  const options = { keepAlive: true, ...(family !== 0 && { lookup }) };
  return tls ? new HttpsAgent(options) : new HttpAgent(options);
}

/**
 * How the client sends its requests: with time-outs and a signal, without redirects. All but the expected responses reject
 * the request here, because the client reads errors from XML only, hides those of 429 and 5xx, and has no size limit.
 */
function createTransport(tls: boolean, signal: AbortSignal | undefined): NonNullable<ClientOptions['transport']> {
  const request = (options: RequestOptions, onResponse: (response: IncomingMessage) => void) => {
    const send = tls ? httpsRequest : httpRequest;
    let pendingResponse: IncomingMessage | undefined;
    const limit = AbortSignal.any([AbortSignal.timeout(responseMs), ...(signal ? [signal] : [])]);
    const outgoing = send({ ...options, timeout: silenceMs, signal: limit }, (response) => {
      pendingResponse = response;
      const { statusCode = 0 } = response;
      if (successes.includes(statusCode)) return onResponse(response);
      void readText(response, limit)
        .then((text) => refusalOf(statusCode, text))
        .catch((error: unknown) => error)
        .then((error) => outgoing.emit('error', error));
    });
    outgoing.on('timeout', () => {
      const error = Object.assign(new Error(`no answer within ${silenceMs / 1000} s`), { code: 'ETIMEDOUT' });
      (pendingResponse ?? outgoing).destroy(error);
    });
    return outgoing;
  };
  return { request: request as typeof httpRequest };
}

async function readText(response: IncomingMessage, signal: AbortSignal | undefined): Promise<string> {
  const limit = `${responseBytesMax / 1024 ** 2} MiB`;
  const tooLarge = () => new ObjectStoreError('ResponseTooLarge', `the store sent more than ${limit} in one response`);
  try {
    return (await readBytes(response, responseBytesMax, tooLarge)).toString();
  } catch (error) {
    // An aborted response reports only that its connection is closed.
    signal?.throwIfAborted();
    throw error;
  }
}

/** S3 reports errors in XML, MinIO's admin API in JSON. */
function refusalOf(status: number, text: string): ObjectStoreError {
  const json = /^\s*\{/.test(text) ? storeError.safeParse(parseJson(text)).data : undefined;
  const [code = json?.Code ?? `HTTP ${status}`] = textsOf(text, 'Code');
  const [message = json?.Message ?? `the store answered ${status}`] = textsOf(text, 'Message').map(unescapeXml);
  return new ObjectStoreError(code, message);
}

const storeError = z.object({ Code: z.string(), Message: z.string() });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The objects of a bucket in the order of their keys' bytes, a page at a time. Parsed here, because minio 8 reads a key
 * that looks like a number as one: its `listObjectsV2` returns `007` as `7`.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 * @param pageKeys the maximum number of objects in a page, default and at most 1,000
 * @throws ObjectStoreError when the store refuses, otherwise a connection error
 */
export async function* listObjects(
  store: Pick<ObjectStore, 'send'>,
  bucket: string,
  { pageKeys = pageKeysMax }: { pageKeys?: number } = {},
): AsyncGenerator<ListedObject[]> {
  const listing = { 'encoding-type': 'url', 'list-type': '2', 'max-keys': String(pageKeys) };
  let token: string | undefined;
  do {
    const query = { ...listing, ...(token !== undefined && { 'continuation-token': token }) };
    const xml = await store.send({ path: [bucket], query });
    yield textsOf(xml, 'Contents').map(toObject);
    token = textsOf(xml, 'NextContinuationToken').map(unescapeXml)[0];
  } while (token !== undefined);
}

/** Percent-encoding of RFC 3986, which signatures require; `encodeURIComponent` leaves out five characters. */
function escape(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toObject(xml: string): ListedObject {
  const field = (name: string) => textsOf(xml, name)[0] ?? '';
  return {
    // Some stores write a space as `+`.
    key: decodeKey(field('Key').replaceAll('+', '%20')),
    etag: unescapeXml(field('ETag')).replaceAll('"', ''),
    modified: field('LastModified'),
    size: Number(field('Size')),
  };
}

function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ObjectStoreError('BadListing', 'the listing contains a key that cannot be decoded');
  }
}
