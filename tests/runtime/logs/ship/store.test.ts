import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { logTime } from '../../../../runtime/logs/record.ts';
import { createLogNode, startShipper } from '../../../support/log-shipping.ts';
import { ownFolder } from '../../../support/own-folder.ts';
import { eventually } from '../../../support/platform.ts';
import { appendToken, at, readAll, startServer, startStore, texts } from '../rig.ts';

t.test('what a pod printed is read from the real store after the pod and the shipper are gone', async (t) => {
  const folder = ownFolder(t);
  const node = createLogNode(folder);
  const store = await startStore(t);
  const { url, client } = await startServer(t, store);
  writeFileSync(join(folder, 'token'), appendToken);
  const line = (text: string, second: number) => `${at(second * 1000)} stdout F ${text}\n`;
  const one = node.addPod('shop-prod', 'api');
  const other = node.addPod('other-prod', 'api');
  const count = 5_000;
  const numbers = Array.from({ length: count }, (_, index) => index);
  appendFileSync(join(one, '0.log'), numbers.map((index) => line(`one ${index}`, index)).join(''));
  appendFileSync(join(other, '0.log'), numbers.map((index) => line(`other ${index}`, index)).join(''));
  const first = startShipper(folder, node, { url });
  await eventually(
    () => readAll(client, { direction: 'backward', limit: 1 }),
    ([newest]) => newest?.line === `one ${count - 1}`,
  );
  await first.stop();
  appendFileSync(join(one, '0.log'), line('after a restart', count));
  const second = startShipper(folder, node, { url });
  await eventually(
    () => texts(client, { search: 'after a restart' }),
    ({ length }) => length > 0,
  );
  await second.stop();
  t.same(await texts(client), [...numbers.map((index) => `one ${index}`), 'after a restart']);
  const [oldest] = await readAll(client, { namespace: 'other-prod', limit: 1 });
  t.match(oldest, { pod: 'api', container: 'app', line: 'other 0', time: at(0) });
  t.equal((await texts(client, { namespace: 'other-prod', to: logTime(new Date()) })).length, count);
  t.match(store.status(), { dropped: { invalid: 0 } });
});
