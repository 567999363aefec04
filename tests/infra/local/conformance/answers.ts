import { isDeepStrictEqual } from 'node:util';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Credentials } from '../../../../runtime/kube/credentials.ts';

/** One call. `{ns}` in a path is the test's namespace. */
export interface Call {
  /** Its topic, and the key of its recorded answer. */
  name: string;
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** May be derived from earlier answers, by their names. */
  body?: object | ((answers: ReadonlyMap<string, Answer>) => object);
  contentType?: string;
  accept?: string;
  /**
   * How much of the answer is compared. `reason` where the message depends on the real server's implementation (its
   * language, its store), or only one of the two supports it: then the status and the reason.
   */
  compared?: 'all' | 'reason';
  /** Fields of the body that are not compared, because another component or nothing uses them. */
  ignored?: readonly string[];
  /** Waits for effects outside the calls, until the answer is of this kind. */
  until?: (answer: Answer) => boolean;
}

export interface Answer {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- the server decides the shape
  body: any;
}

const pauseMs = 100;
const patienceMs = 30_000;

/** Runs the calls on one server, one after the other. */
export async function drive(
  credentials: Credentials,
  namespace: string,
  calls: readonly Call[],
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const ask = async ({ method = 'GET', path, body, contentType, accept }: Call): Promise<Answer> => {
    const { server, headers, agent } = await credentials.access();
    const requestBody = typeof body === 'function' ? body(answers) : body;
    const content = requestBody ? Buffer.from(JSON.stringify(requestBody).replaceAll('{ns}', namespace)) : undefined;
    const options: RequestOptions = {
      method,
      agent,
      headers: {
        ...headers,
        accept: accept ?? 'application/json',
        ...(requestBody && {
          'content-type': contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'),
          'content-length': content?.length,
        }),
      },
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(server + path.replaceAll('{ns}', namespace), options, resolve)
        .on('error', reject)
        .end(content);
    });
    return { status: response.statusCode ?? 0, body: parsed(await text(response)) };
  };
  try {
    for (const call of calls) {
      const end = Date.now() + patienceMs;
      let answer = await ask(call);
      while (call.until && !call.until(answer) && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        answer = await ask(call);
      }
      answers.set(call.name, answer);
    }
  } finally {
    // The last calls delete it themselves; this removes the namespace after an interrupted run.
    await ask({ name: '', method: 'DELETE', path: '/api/v1/namespaces/{ns}' }).catch(() => undefined);
    credentials.close();
  }
  return answers;
}

function parsed(text: string): unknown {
  const lines = text.split('\n').filter(Boolean);
  try {
    return lines.length > 1 ? lines.map((line) => JSON.parse(line) as unknown) : JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fields that differ between servers, or that nothing reads. */
const dropped = new Set(['managedFields', 'selfLink', 'description', 'storageVersionHash']);
const versions = new Set(['resourceVersion', 'continue']);

/** A row of a table without ages. */
function ageless(cells: unknown): unknown {
  const age = /^(\d+[smhdy]){1,2}$/;
  return Array.isArray(cells)
    ? cells.map((cell: unknown) => (typeof cell === 'string' && age.test(cell) ? '{age}' : cell))
    : cells;
}

interface Table {
  columnDefinitions: { priority: number }[];
  rows: { cells: unknown[] }[];
}

/** A table without the columns of `-o wide`, which only the real server has for its own kinds. */
function narrow(table: Table): Table {
  const visible = table.columnDefinitions.map(({ priority }) => priority === 0);
  const columnDefinitions = table.columnDefinitions.filter((_, index) => visible[index]);
  const rows = table.rows.map((row) => ({ ...row, cells: row.cells.filter((_, index) => visible[index]) }));
  return { ...table, columnDefinitions, rows };
}

/** The real server reports several errors in any order; their messages are in the causes. */
function inOrder(value: Record<string, unknown>): Record<string, unknown> {
  const causes = (value['details'] as { causes?: object[] } | undefined)?.causes;
  if (!causes) return value;
  const sorted = causes.map((cause) => JSON.stringify(cause, Object.keys(cause).sort())).sort();
  const message = String(value['message']).replace(/ is invalid: \[.*/s, ' is invalid');
  return {
    ...value,
    message,
    details: { ...(value['details'] as object), causes: sorted.map((cause) => JSON.parse(cause) as unknown) },
  };
}

/** Without the values that differ each time: versions, uids, times, the namespace's name. */
function comparable(value: unknown, namespace: string): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => comparable(item, namespace));
    // The real server reports some errors twice.
    return items.filter((item, index) => !items.slice(0, index).some((other) => isDeepStrictEqual(item, other)));
  }
  if (typeof value === 'string') {
    return value
      .replaceAll(namespace, '{ns}')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '{uid}')
      .replaceAll(/\bweb-[a-z0-9]{8,10}\b/g, 'web-{hash}')
      .replaceAll(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n/g, '{certificate}')
      .replaceAll(/resource version: 1 \(\d+\)/g, 'resource version: 1 ({resourceVersion})')
      .replaceAll(/(precondition|record) \(\d+\)/g, '$1 ({resourceVersion})')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '{time}');
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(inOrder(value as Record<string, unknown>))
      .filter(([key]) => !dropped.has(key))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, child]) => [key, key === 'cells' ? ageless(child) : child] as const)
      .map(([key, child]) => [key, versions.has(key) && child ? `{${key}}` : comparable(child, namespace)]),
  );
}

function without(value: unknown, [step = '', ...rest]: readonly string[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (rest.length > 0) without((value as Record<string, unknown>)[step], rest);
  else delete (value as Record<string, unknown>)[step];
}

/** The normalized answers, by the names of the calls. */
export function comparableAnswers(
  answers: ReadonlyMap<string, Answer>,
  calls: readonly Call[],
  namespace: string,
): Record<string, unknown> {
  return Object.fromEntries(
    calls.map(({ name, compared = 'all', ignored = [] }) => {
      const answer = answers.get(name);
      if (answer?.body?.kind === 'Table') answer.body = narrow(answer.body);
      for (const path of ignored) without(answer?.body, path.split('/'));
      if (compared === 'all') return [name, comparable(answer, namespace)];
      return [name, { status: answer?.status, reason: answer?.body?.reason }];
    }),
  );
}
