import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { shipperArguments } from '../../../../infra/manifests/monitoring/log-shipper.ts';
import { createLogNode, startRecordingStore, writeLines } from '../../../support/log-shipping.ts';
import { eventually } from '../../../support/platform.ts';
import { startShipperProcess } from '../../../support/shipper-process.ts';

const root = resolve(import.meta.dirname, '../../../..');

t.test('the process ships the logs of the pods that the API server lists, and ends on SIGTERM', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-shipper-'));
  const node = createLogNode(folder);
  const store = await startRecordingStore();
  writeLines(node.addPod('shop-prod', 'api-1'), ['hello']);
  const shipper = await startShipperProcess(folder, node, store);
  await eventually(
    () => Promise.resolve(store.lines()),
    (lines) => lines.length > 0,
  );
  t.strictSame(store.lines(), ['hello']);
  t.equal(shipper.listRequests[0]?.query.get('fieldSelector'), 'spec.nodeName=node-1');
  t.match(shipper.listRequests[0]?.accept, 'PartialObjectMetadataList');
  t.equal(store.requests[0]?.headers.authorization, 'Bearer token');
  t.equal(await shipper.stop(), 0);
  await store.close();
  rmSync(folder, { recursive: true });
});

t.test('it imports no module of Node that loads others, and the image compiles it with its options', async (t) => {
  const folder = join(root, 'runtime/logs/ship');
  for (const file of readdirSync(folder)) {
    const text = readFileSync(join(folder, file), 'utf8');
    t.notMatch(text, /^import (?!type).*from 'node:(?!path';)/m, file);
    t.notMatch(text, /^import (?!type)(?!.*from '(?:node:|\.\/|\.\.\/record\.ts|\.\.\/\.\.\/domain\/)).*from/m, file);
  }
  const dockerfile = readFileSync(join(root, 'infra/images/platform/Dockerfile'), 'utf8').replaceAll(
    /\s*\\\n\s*/g,
    ' ',
  );
  t.ok(dockerfile.includes(`node ${shipperArguments.join(' ')} --compile-only`));
});
