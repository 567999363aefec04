import t from 'tap';
import type { ImageView } from '../../../runtime/contracts/api/images.ts';
import { mayBeDeleted, revisionTexts } from '../../../functions/console/ui/images/revisions.ts';

const image: ImageView = {
  id: '8a3d1d9e-6d58-4c62-9b54-2f1f4ac1a0de',
  name: 'shop:3',
  image: 'registry/shop:3',
  digest: 'sha256:1',
  app: 'shop',
  project: 'web',
  environment: 'prod',
  inUse: false,
  status: 'stored',
  revisions: [],
  builtAt: '2026-01-01T00:00:00.000Z',
};
const revision = (number: number, app = 'shop', environment = 'prod') => ({ environment, app, revision: number });

t.test('revisions of another app or environment are named in full, and only the newest are listed', (t) => {
  t.same(revisionTexts(image), { texts: [], more: 0 });
  const revisions = [revision(4), revision(9, 'shop', 'staging'), revision(2, 'old')];
  t.same(revisionTexts({ ...image, revisions }), { texts: ['4', 'staging/shop:9', 'prod/old:2'], more: 0 });
  const many = Array.from({ length: 20 }, (_, index) => revision(20 - index));
  t.same(revisionTexts({ ...image, revisions: many }), { texts: ['20', '19', '18', '17', '16'], more: 15 });
  t.end();
});

t.test('an image is deleted only if nothing uses it, and once', (t) => {
  t.ok(mayBeDeleted(image));
  t.notOk(mayBeDeleted({ ...image, inUse: true }));
  t.notOk(mayBeDeleted({ ...image, status: 'deleting' }));
  t.end();
});
