import { z } from 'zod';
import { apiKeySearch } from '../../domain/api-key.ts';

/** Largest body of a request to a function, in bytes. */
const bodyMaxBytes = 256 * 1024;
/** Beyond it, the body of an answer is cut off, in bytes. */
export const answerMaxBytes = 1024 * 1024;
const headersMax = 50;
const pathMax = 8_192;

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/**
 * Headers that only the platform sets: the destination, the framing, hop-by-hop headers (RFC 9110 §7.6.1), and what a
 * function believes of the ingress and the gate. Names have no other separator than `-`, so no other spelling passes.
 */
const reserved =
  /^(?:host|content-length|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|forwarded|x-real-ip|x-request-id|ratelimit|ratelimit-policy|(?:proxy|x-forwarded|x-svc)-.*)$/i;

const platformKey = new RegExp(apiKeySearch);

const invocationHeader = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,100}$/, 'must consist of letters, digits and hyphens')
      .refine((name) => !reserved.test(name), 'is a header that only the platform sets'),
    value: z
      .string()
      .max(8_192)
      .regex(/^[\t\x20-\x7e]*$/, 'must consist of ASCII characters in one line'),
  })
  // As on the function's public route: no function gets a key that may open another workload.
  .refine(({ name, value }) => name.toLowerCase() !== 'x-api-key' || !platformKey.test(value), {
    path: ['value'],
    message: 'must not be an API key of the platform, which an invocation does not need',
  });

/** `POST /api/v1/projects/{p}/functions/{f}/invoke`: one HTTP request to the function. */
export const functionInvocation = z
  .strictObject({
    /** Default GET. */
    method: z.enum(methods).optional(),
    /** Path and query; default `/`. Other than visible ASCII characters are percent-encoded. */
    path: z
      .string()
      .max(pathMax)
      .regex(/^\/[\x21-\x22\x24-\x7e]*$/, 'must begin with "/" and consist of visible ASCII characters without "#"')
      .optional(),
    /** Not those that only the platform sets, such as `Host`, `X-Forwarded-For` and all that begin with `X-Svc-`. */
    headers: z.array(invocationHeader).max(headersMax).optional(),
    /** At most 256 KiB. */
    body: z.string().optional(),
    /** `base64` for a body that is not text. */
    bodyEncoding: z.enum(['text', 'base64']).optional(),
  })
  .refine(({ body = '', bodyEncoding }) => bodyEncoding !== 'base64' || isBase64(body), {
    path: ['body'],
    message: 'must be base64',
  })
  .refine(({ body = '', bodyEncoding }) => Buffer.byteLength(body, encodingOf(bodyEncoding)) <= bodyMaxBytes, {
    path: ['body'],
    message: `must have at most ${bodyMaxBytes} bytes`,
  });

export type FunctionInvocation = z.output<typeof functionInvocation>;

/** Largest JSON of {@link functionInvocation}, in bytes: base64 and escapes make a body longer. */
export const invocationMaxBytes = 512 * 1024;

/** The bytes of an invocation's body. */
export function bodyOf({ body = '', bodyEncoding }: Pick<FunctionInvocation, 'body' | 'bodyEncoding'>): Buffer {
  return Buffer.from(body, encodingOf(bodyEncoding));
}

function encodingOf(bodyEncoding: 'text' | 'base64' | undefined): 'base64' | 'utf8' {
  return bodyEncoding === 'base64' ? 'base64' : 'utf8';
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** The answer of a function, or of the platform when the function sends none. */
export const invocationAnswer = z.object({
  status: z.int(),
  /** In the order in which they arrived; a name can occur several times. */
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  body: z.string(),
  /** `base64` if the body is not text in UTF-8. */
  bodyEncoding: z.enum(['text', 'base64']),
  /**
   * `complete`: the body is whole. Otherwise it is cut off: after 1 MiB (`size`), 30 seconds after its beginning (`time`),
   * or because the connection broke (`broken`).
   */
  bodyEnd: z.enum(['complete', 'size', 'time', 'broken']),
  /** Whether the request waited for a pod to start. */
  coldStart: z.boolean(),
  /** From sending the request to the end of the answer. */
  durationMs: z.int(),
});

export type InvocationAnswer = z.infer<typeof invocationAnswer>;
