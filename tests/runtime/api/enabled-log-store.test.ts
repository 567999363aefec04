import type { Logger } from 'pino';
import t from 'tap';
import { enabledLogStore } from '../../../runtime/api/enabled-log-store.ts';
import { readStoredLines } from '../../../runtime/api/stored-log-lines.ts';
import type { MonitoringSettings } from '../../../runtime/contracts/resources/monitoring.ts';
import type { LogReader } from '../../../runtime/logs/log-store.ts';
import type { LogQuery } from '../../../runtime/logs/query.ts';
import type { StoredLine } from '../../../runtime/logs/record.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';

const failing: LogReader = { read: () => Promise.reject(new Error('ENOTFOUND')) };

async function stateWith(monitoring?: MonitoringSettings): Promise<string> {
  const kube = fakeKube();
  const spec = { ...settings, ...(monitoring && { monitoring }) };
  kube.seed({ ...platformConfigObject, spec, status: { accepted: { generation: 1, spec } } });
  const source = {
    namespace: 'shop-prod',
    labelSelector: 'app=api',
    container: 'app',
    workload: { kind: 'app' as const, name: 'api', createdAt: new Date(0) },
  };
  const { state } = await readStoredLines(
    enabledLogStore(failing, { kube, log: silentLog }),
    source,
    { from: new Date(0) },
    { limit: 1, direction: 'forward', reader: 'user', signal: new AbortController().signal, now: new Date() },
  );
  return state;
}

t.test('a log store that an admin has disabled is not one that fails', async (t) => {
  t.equal(await stateWith({ mode: 'cluster', components: { 'log-store': { enabled: false } } }), 'disabled');
  t.equal(await stateWith({ mode: 'cluster' }), 'unavailable');
  t.equal(await stateWith(), 'unavailable', 'a store that the settings do not name');
});

t.test('a failure in the middle of an answer is logged, because clients only learn that there was one', async (t) => {
  const warnings: object[] = [];
  const log = { warn: (details: object) => warnings.push(details) } as unknown as Logger;
  async function* batches(): AsyncGenerator<StoredLine[], undefined> {
    yield [];
    throw new Error('the connection was reset');
  }
  const breaking: LogReader = { read: async () => ({ keptSince: '', batches: batches() }) };
  const store = enabledLogStore(breaking, { kube: fakeKube(), log });
  const readAll = async (signal: AbortSignal) => {
    for await (const batch of (await store.read({} as LogQuery, signal)).batches) t.same(batch, []);
  };
  await t.rejects(readAll(AbortSignal.abort()), { message: 'the connection was reset' });
  t.same(warnings, [], 'a reader that has gone caused the failure itself');
  await t.rejects(readAll(new AbortController().signal), { message: 'the connection was reset' });
  t.match(warnings, [{ err: { message: 'the connection was reset' } }]);
});
