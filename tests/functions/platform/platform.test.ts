import t from 'tap';
import { createPlatformRoutes } from '../../../functions/platform/handler.ts';
import { readPlatformConfig } from '../../../runtime/host/platform-config.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { platformConfigObject } from '../../support/objects.ts';

t.test('200: version, settings, and which components work; 503 before the install has written settings', async (t) => {
  const kube = fakeKube();
  const api = await testApi(t, {
    routes: createPlatformRoutes({
      version: '1.2.3',
      platformConfig: () => readPlatformConfig(kube),
      components: {
        database: () => Promise.resolve(true),
        controllers: () => Promise.resolve(false),
        other: () => Promise.reject(new Error('down')),
      },
    }),
  });
  const status = () => api.call('GET', '/api/v1/platform/status');
  t.match(await status(), { status: 503, body: { code: 'unavailable' } });
  kube.seed(platformConfigObject);
  t.same((await status()).body, {
    version: '1.2.3',
    cluster: 'c1',
    appsDomain: 'apps.test',
    components: [
      { name: 'database', status: 'on' },
      { name: 'controllers', status: 'unhealthy' },
      { name: 'other', status: 'unhealthy' },
    ],
  });
  t.equal((await api.call('GET', '/api/v1/platform/status', { headers: { authorization: '' } })).status, 401);
});
