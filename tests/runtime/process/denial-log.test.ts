import t, { type Test } from 'tap';
import { Registry } from 'prom-client';
import { generateApiKey, parseApiKey } from '../../../runtime/domain/api-key.ts';
import {
  clientOf,
  createDenialLog,
  createLostDenials,
  keyPrefixOf,
  senderOf,
} from '../../../runtime/process/denial-log.ts';
import type { Denial } from '../../../runtime/process/denial.ts';
import { fakeClock } from '../../support/clock.ts';

interface Entry {
  time: string;
  level: string;
  msg: string;
  reason?: string;
  count?: number;
  client_ip?: string;
  key_prefix?: string;
}

function rig(t: Test) {
  const clock = fakeClock();
  const entries: Entry[] = [];
  const output = { full: false };
  let lost = 0;
  const log = createDenialLog({
    name: 'svc-authz',
    output: {
      write(line) {
        if (output.full) return false;
        entries.push(JSON.parse(line) as Entry);
        return true;
      },
    },
    clock,
    onLost: () => lost++,
  });
  t.teardown(() => log.close());
  const denial = (fields: Partial<Denial> = {}): Denial => ({
    at: clock.now(),
    reason: 'deny_key',
    fault: 'unknown',
    clientIp: '203.0.113.7',
    sender: '203.0.113.7',
    keyPrefix: 'abcd1234',
    app: 'shop-prod/api',
    forwardedFor: undefined,
    ...fields,
  });
  return {
    clock,
    log,
    output,
    denial,
    lost: () => lost,
    /** Returns the entries since the last call. */
    written: () => entries.splice(0),
    many: (count: number, fields: (index: number) => Partial<Denial> = () => ({})) => {
      for (let index = 0; index < count; index++) log.record(denial(fields(index)));
    },
  };
}

const shown = (entries: Entry[]) => entries.reduce((sum, { count = 1 }) => sum + count, 0);
const network = (index: number) => {
  const clientIp = `198.51.${index >> 8}.${index & 255}`;
  return { clientIp, sender: clientIp };
};

t.test('every denial has an entry of its own with client and key, a thousand per second', async (t) => {
  const { clock, written, many, lost } = rig(t);
  const start = clock.now().getTime();
  many(15_000, network);
  const first = written();
  t.equal(first.length, 1_000);
  const all = [...first];
  for (let second = 1; second <= 14; second++) {
    await clock.advance(1_000);
    const more = written();
    t.equal(more.length, 1_000, `second ${second}`);
    all.push(...more);
  }
  t.same(
    all.map(({ client_ip: ip }) => ip),
    Array.from({ length: 15_000 }, (_, index) => network(index).clientIp),
    'in order',
  );
  t.ok(all.every((entry) => entry.msg === 'authorize deny' && entry.key_prefix === 'abcd1234' && !entry.count));
  t.ok(
    all.every(({ time }) => Date.parse(time) === start),
    'with the time of the denial',
  );
  t.equal(lost(), 0);
  t.equal(clock.sleepers(), 0);
});

t.test('a flood from one client leaves room for others, and is summed with its client and key', async (t) => {
  const { clock, written, many, lost } = rig(t);
  many(1_000);
  written();
  many(30_000);
  many(5, network);
  await clock.advance(10_000);
  const entries = written();
  t.equal(entries.filter(({ client_ip: ip }) => ip?.startsWith('198.51.')).length, 5);
  t.equal(shown(entries), 30_005);
  t.match(
    entries.filter(({ count }) => count !== undefined),
    [{ level: 'warn', msg: 'authorize deny', client_ip: '203.0.113.7', key_prefix: 'abcd1234', count: 27_500 }],
  );
  t.equal(lost(), 0);
});

t.test('a client that sends another address each time leaves room for others', async (t) => {
  const { clock, written, many } = rig(t);
  const ofRequest = (forwardedFor: string): Partial<Denial> => {
    const request = { headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress: '10.0.0.1' } };
    return { ...clientOf(request), sender: senderOf(request, (address) => address === '10.0.0.2') };
  };
  many(30_000, (index) => ofRequest(`${network(index).clientIp}, 203.0.113.7, 10.0.0.2`));
  many(5, () => ofRequest('192.0.2.1, 10.0.0.2'));
  await clock.advance(10_000);
  t.equal(written().filter(({ client_ip: ip, count }) => ip === '192.0.2.1' && count === undefined).length, 5);
});

t.test('a sender is the network of the address that checks use', (t) => {
  const of = (forwardedFor: string | undefined) =>
    senderOf(
      { headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress: '10.0.0.1' } },
      (address) => address === '10.0.0.2',
    );
  t.equal(of('198.51.100.1, 203.0.113.7, 10.0.0.2'), '203.0.113.7');
  t.equal(of('2001:db8:1:2::3'), '2001:db8:1:2');
  t.equal(of('x'), '10.0.0.1');
  t.equal(of(undefined), '10.0.0.1');
  t.end();
});

t.test('what a flood from many clients exceeds is counted exactly, in the log and in a metric', async (t) => {
  const { clock, written, many, lost } = rig(t);
  many(40_000, network);
  t.equal(lost(), 40_000 - 1_000 - 20_000 - 100);
  await clock.advance(25_000);
  const entries = written();
  const [loss] = entries.filter(({ msg }) => msg === 'denials not logged');
  t.match(loss, { level: 'warn', count: 18_900 });
  t.equal(shown(entries), 40_000);
  t.equal(entries.filter(({ msg, count }) => msg === 'authorize deny' && count === 1).length, 100);

  const registry = new Registry();
  createLostDenials(registry).inc();
  t.match(await registry.metrics(), 'authz_denials_not_logged_total 1');
});

t.test('entries that the output drops are written, with their client, once it accepts them', async (t) => {
  const { clock, written, many, output } = rig(t);
  output.full = true;
  many(10);
  await clock.advance(3_000);
  t.same(written(), []);
  many(5, () => ({ keyPrefix: 'other123' }));
  output.full = false;
  await clock.advance(1_000);
  t.match(written(), [
    { level: 'warn', key_prefix: 'abcd1234', count: 10 },
    { level: 'warn', key_prefix: 'other123', count: 5 },
  ]);
  t.equal(clock.sleepers(), 0);
});

t.test('closing writes what waits', (t) => {
  const { log, written, many } = rig(t);
  many(5_000, () => ({ clientIp: undefined, sender: undefined }));
  log.close();
  t.equal(shown(written()), 5_000);
  t.end();
});

t.test('addresses that a client makes up are cut', (t) => {
  const fields = (forwardedFor: string | string[]) => {
    const socket = { remoteAddress: '10.0.0.1' };
    const { clientIp, forwardedFor: chain } = clientOf({ headers: { 'x-forwarded-for': forwardedFor }, socket });
    return [clientIp, chain];
  };
  t.same(fields(' 198.51.100.1 , 10.0.0.1'), ['198.51.100.1', ' 198.51.100.1 , 10.0.0.1'], 'the leftmost hop');
  t.same(fields(', 10.0.0.1'), ['', ', 10.0.0.1'], 'an empty one');
  t.same(fields(['198.51.100.1', '10.0.0.1']), ['198.51.100.1', '198.51.100.1, 10.0.0.1'], 'repeated');
  t.same(fields('x'.repeat(300)), ['x'.repeat(64), 'x'.repeat(256)]);
  // 301 characters of 601 bytes.
  t.same(fields(`x${'é'.repeat(300)}`), [`x${'é'.repeat(63)}`, `x${'é'.repeat(127)}`], 'between two characters');
  t.same(fields(`xx${'é'.repeat(300)}`), [`xx${'é'.repeat(62)}`, `xx${'é'.repeat(127)}`]);
  t.same(fields('😀'.repeat(64)), ['😀'.repeat(32), '😀'.repeat(64)]);
  t.same(clientOf({ headers: {}, socket: { remoteAddress: '10.0.0.1' } }), {
    clientIp: '10.0.0.1',
    forwardedFor: undefined,
  });
  t.end();
});

t.test('the handle of a well-formed key is shown, and nothing else of what was sent', (t) => {
  const { key } = generateApiKey();
  const of = (sent: string | undefined) => keyPrefixOf({ headers: { 'x-api-key': sent }, socket: {} });
  t.equal(of(key), parseApiKey(key)?.handle);
  t.equal(of(`${key}x`), undefined);
  t.equal(of(undefined), undefined);
  t.end();
});
