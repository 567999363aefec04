import { text } from '../text/common.ts';
import { reportReachable, reportUnreachable } from './connection.ts';

interface Refusal {
  status: number;
  code: string;
  requestId?: string;
  field?: string | undefined;
}

/** What a refusal says. */
interface ProblemBody {
  code?: string;
  message?: string;
  details?: { field?: string; issues?: { path: string }[] };
}

/** A refusal of the API, or a request that did not reach it. */
export class ApiError extends Error {
  /** 0 when no response arrived. */
  readonly status: number;
  /** The stable code of the API, or `unreachable`. */
  readonly code: string;
  readonly requestId: string | undefined;
  /** The field of the request that the API refused, such as `schedule` or `events.query`. */
  readonly field: string | undefined;

  constructor(message: string, { status, code, requestId, field }: Refusal) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.field = field;
  }
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters without a value are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Whether a failure says that the API does not answer; default yes. A stream alone can fail at a proxy. */
  reports?: boolean;
}

/**
 * Whether no API answered: the request did not arrive, or the ingress had nobody to send it to. A refusal of the API has a
 * code, also when a part of the platform is unavailable.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || (error.code === 'unexpected_response' && [502, 503, 504].includes(error.status));
}

/** The path of an object: every part is one segment. Browsers fold dots, so these are no segment. @throws Error for them */
export function pathOf(...parts: readonly string[]): string {
  if (parts.some((part) => /^\.{0,2}$/.test(part))) throw new Error('a part of a path is empty or dots');
  return parts.map((part) => `/${encodeURIComponent(part)}`).join('');
}

/**
 * Calls the management API of the same origin with the cookie of the session. `Result` is the type of the route's
 * contract; the API checks its replies against it in the tests.
 * @param path below `/api/v1`, from {@link pathOf}
 * @throws ApiError
 */
export async function request<Result>(path: string, options: RequestOptions = {}): Promise<Result> {
  const response = await open(path, options);
  if (response.status === 204) return undefined as Result;
  return (await bodyOf(response)) as Result;
}

/**
 * Reads a report about health, which is not below `/api/v1`. When something is unhealthy, the status is 503 and the body the
 * same report. @throws ApiError
 */
export async function requestHealth<Report>(path: `/health/${string}`, signal: AbortSignal): Promise<Report> {
  const response = await fetch(path, { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : unreachable();
  });
  // Where no API answers, the ingress does, with 503 and a text.
  const report = await bodyOf(response).catch(() => undefined);
  if (report !== undefined && [200, 503].includes(response.status)) return report as Report;
  const { status } = response;
  throw new ApiError(text.errors.noReason(status), { status, code: 'unexpected_response' });
}

/**
 * Calls a route that answers with JSON lines, and yields each as it arrives; undefined for an empty line, which says that
 * the connection works. Ends with the response, and when the signal aborts. @throws ApiError
 */
export async function* requestLines<Item>(
  path: string,
  options: RequestOptions = {},
): AsyncGenerator<Item | undefined, void> {
  const { body } = await open(path, options);
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line === '' ? undefined : (JSON.parse(line) as Item);
    }
  } catch (error) {
    if (options.signal?.aborted) return;
    throw error instanceof TypeError ? unreachable() : error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function unreachable(): ApiError {
  return new ApiError(text.errors.unreachable, { status: 0, code: 'unreachable' });
}

async function open(path: string, { method = 'GET', query = {}, body, signal, reports = true }: RequestOptions) {
  const parameters = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const search = parameters.length > 0 ? `?${new URLSearchParams(parameters).toString()}` : '';
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}${search}`, {
      method,
      credentials: 'same-origin',
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    if (reports) reportUnreachable();
    throw unreachable();
  }
  if (response.ok) {
    reportReachable();
    return response;
  }
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const problem = (await bodyOf(response).catch(() => undefined)) as ProblemBody | undefined;
  const { field, issues } = problem?.details ?? {};
  const refusal = new ApiError(problem?.message ?? text.errors.noReason(response.status), {
    status: response.status,
    code: problem?.code ?? 'unexpected_response',
    ...(requestId !== undefined && { requestId }),
    field: field ?? issues?.[0]?.path,
  });
  if (!isOutage(refusal)) reportReachable();
  else if (reports) reportUnreachable();
  throw refusal;
}

async function bodyOf(response: Response): Promise<unknown> {
  return JSON.parse(await response.text()) as unknown;
}
