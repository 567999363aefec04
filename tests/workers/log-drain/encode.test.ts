import t from 'tap';
import type { FedLine } from '../../../runtime/logs/feed.ts';
import { encodeLines } from '../../../workers/log-drain/encode.ts';

const line = (id: number, text: string, fields: Partial<FedLine> = {}): FedLine => ({
  id,
  namespace: 'shop-prod',
  pod: 'app-api-1',
  container: 'app',
  workload: { kind: 'app', name: 'api' },
  time: `2026-01-02T03:04:05.${String(id).padStart(9, '0')}Z`,
  stream: 'stdout',
  line: text,
  ...fields,
});
const lines = [
  line(2, '{"level":"error","msg":"no"}'),
  line(1, 'plain "text"'),
  line(3, 'other', { workload: { kind: 'function', name: 'mail' }, pod: 'fn-mail-1', container: 'function' }),
  line(4, 'failed', { stream: 'stderr' }),
];
const decoded = (format: 'loki' | 'otlp') => {
  const { contentType, body } = encodeLines(format, lines);
  t.equal(contentType, 'application/json');
  return JSON.parse(body) as unknown;
};

t.test('Loki: one stream for each container and output, its lines by time in nanoseconds', (t) => {
  const api = { namespace: 'shop-prod', kind: 'app', workload: 'api', pod: 'app-api-1', container: 'app' };
  t.same(decoded('loki'), {
    streams: [
      {
        stream: { ...api, stream: 'stdout' },
        values: [
          ['1767323045000000001', 'plain "text"'],
          ['1767323045000000002', '{"level":"error","msg":"no"}'],
        ],
      },
      {
        stream: {
          namespace: 'shop-prod',
          kind: 'function',
          workload: 'mail',
          pod: 'fn-mail-1',
          container: 'function',
          stream: 'stdout',
        },
        values: [['1767323045000000003', 'other']],
      },
      { stream: { ...api, stream: 'stderr' }, values: [['1767323045000000004', 'failed']] },
    ],
  });
  t.end();
});

t.test('OTLP: one resource for each container, with the severity of lines that have one', (t) => {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const resource = (name: string, kind: string, pod: string, container: string) => ({
    attributes: [
      text('service.name', name),
      text('service.namespace', 'shop-prod'),
      text('k8s.namespace.name', 'shop-prod'),
      text('k8s.pod.name', pod),
      text('k8s.container.name', container),
      text('svc.workload.kind', kind),
    ],
  });
  const logRecord = (id: number, body: string, stream: string, more: object = {}) => ({
    timeUnixNano: `176732304500000000${id}`,
    observedTimeUnixNano: `176732304500000000${id}`,
    ...more,
    body: { stringValue: body },
    attributes: [text('log.iostream', stream)],
  });
  t.same(decoded('otlp'), {
    resourceLogs: [
      {
        resource: resource('api', 'app', 'app-api-1', 'app'),
        scopeLogs: [
          {
            scope: { name: 'svc' },
            logRecords: [
              logRecord(1, 'plain "text"', 'stdout'),
              logRecord(2, '{"level":"error","msg":"no"}', 'stdout', { severityNumber: 17, severityText: 'error' }),
              logRecord(4, 'failed', 'stderr'),
            ],
          },
        ],
      },
      {
        resource: resource('mail', 'function', 'fn-mail-1', 'function'),
        scopeLogs: [{ scope: { name: 'svc' }, logRecords: [logRecord(3, 'other', 'stdout')] }],
      },
    ],
  });
  t.end();
});

t.test('JSON lines, in the order of the store', (t) => {
  const { contentType, body } = encodeLines('json', lines);
  t.equal(contentType, 'application/x-ndjson');
  const [first, , third, ...rest] = body
    .split('\n')
    .map((text) => (text === '' ? undefined : (JSON.parse(text) as unknown)));
  t.same(first, {
    time: '2026-01-02T03:04:05.000000002Z',
    namespace: 'shop-prod',
    kind: 'app',
    workload: 'api',
    pod: 'app-api-1',
    container: 'app',
    stream: 'stdout',
    line: '{"level":"error","msg":"no"}',
  });
  t.match(third, { kind: 'function', workload: 'mail' });
  t.equal(rest.length, 2);
  t.equal(rest.at(-1), undefined, 'the last line ends');
  t.end();
});
