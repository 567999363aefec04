import t from 'tap';
import { logDrainSettings, type LogDrainView } from '../../../runtime/contracts/api/log-drain.ts';
import {
  droppedHeaders,
  headersIn,
  logDrainBody,
  logDrainDraft,
  logDrainWords,
} from '../../../functions/console/ui/platform/log-drain-draft.ts';

const drain: LogDrainView = {
  url: 'https://loki.example.com/loki/api/v1/push',
  format: 'otlp',
  headers: ['Authorization', 'X-Scope'],
  networks: ['10.20.7.0/24'],
  status: 'on',
  sentLines: 0,
  refusedLines: 0,
  deletedLines: 0,
  pendingLines: 0,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

t.test('the form of a log drain has its settings, and never its headers', (t) => {
  t.same(logDrainDraft(drain), { url: drain.url, format: 'otlp', headers: '', networks: '10.20.7.0/24' });
  t.same(logDrainDraft(null), { url: '', format: 'loki', headers: '', networks: '' });
  t.end();
});

t.test('headers are lines with a name and a value; another line is told by its number, not its text', (t) => {
  t.same(headersIn('Authorization: Bearer a:b\n\n x-scope : shop \nsecret\n: x'), {
    headers: { Authorization: 'Bearer a:b', 'x-scope': 'shop' },
    badLines: [4, 5],
  });
  const draft = { ...logDrainDraft(drain), headers: 'x-scope: shop' };
  t.same(droppedHeaders(drain, draft), ['Authorization'], 'a change replaces all headers');
  t.same(droppedHeaders(null, draft), []);
  t.end();
});

t.test('the request and the command say the same, and the command has no header', (t) => {
  const draft = { ...logDrainDraft(drain), url: ' https://otel.example.com ', headers: 'Authorization: Bearer x' };
  const body = logDrainBody(draft);
  t.same(body, {
    url: 'https://otel.example.com',
    format: 'otlp',
    headers: { Authorization: 'Bearer x' },
    networks: ['10.20.7.0/24'],
  });
  t.ok(logDrainSettings.safeParse(body).success, 'the API accepts its form');
  t.same(logDrainWords(draft), {
    words: [
      ...['platform', 'log-drain', 'set', '--url', 'https://otel.example.com', '--format', 'otlp'],
      ...['--network', '10.20.7.0/24', '--headers-stdin'],
    ],
    input: ' < headers',
  });
  const plain = { ...logDrainDraft(null), url: 'https://logs.example.com' };
  t.same(logDrainBody(plain), { url: plain.url, format: 'loki' });
  t.same(logDrainWords(plain), {
    words: ['platform', 'log-drain', 'set', '--url', plain.url, '--format', 'loki'],
    input: '',
  });
  t.end();
});
