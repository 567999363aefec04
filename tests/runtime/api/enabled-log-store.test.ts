import t from 'tap';
import { enabledLogStore } from '../../../runtime/api/enabled-log-store.ts';
import { readStoredLines } from '../../../runtime/api/stored-log-lines.ts';
import type { MonitoringSettings } from '../../../runtime/contracts/resources/monitoring.ts';
import type { LogReader } from '../../../runtime/logs/log-store.ts';
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
