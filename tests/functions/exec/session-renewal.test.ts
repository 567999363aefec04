import t from 'tap';
import { renewSession } from '../../../functions/exec/session-renewal.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { sessionAnnotation, sessionMs, sessionsOf } from '../../../runtime/workloads/run-sessions.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';

t.test(
  'an open session renews its run each minute, also after a renewal failed, and no longer once it ends',
  async (t) => {
    const [kube, clock, log] = [fakeKube(), fakeClock(), recordingLog()];
    const app = await kube.create<App>({
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: {
        name: 'api',
        namespace: 'shop-prod',
        annotations: { other: 'x', [sessionAnnotation('b')]: 'no date' },
      },
      spec: { image: 'r/api:1', port: 8080, replicas: 1 },
    });
    const renewals = async () => {
      const current = await kube.get<App>(kinds.App, 'api', 'shop-prod');
      t.equal(current?.metadata.annotations?.['other'], 'x');
      return current ? sessionsOf(current) : [];
    };
    const start = clock.now().getTime();
    const renewal = renewSession({ kube, clock, log: log.log }, app, 'a');
    t.same(await renewals(), [], 'the request was the first renewal');
    await clock.advance(sessionMs.renew);
    t.same(await renewals(), [{ id: 'a', renewedAt: start + sessionMs.renew }]);
    kube.intercept = () => {
      throw new Error('the API server is away');
    };
    await clock.advance(sessionMs.renew);
    kube.intercept = undefined;
    t.match(log.text(), /session not renewed/);
    await clock.advance(sessionMs.renew);
    t.same(await renewals(), [{ id: 'a', renewedAt: start + 3 * sessionMs.renew }]);
    await renewal.stop();
    await clock.advance(10 * sessionMs.renew);
    t.same(await renewals(), [{ id: 'a', renewedAt: start + 3 * sessionMs.renew }]);
    t.equal(clock.sleepers(), 0);
    t.ok(sessionMs.expire > 3 * sessionMs.renew, 'a renewal may fail');
  },
);
