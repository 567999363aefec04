import t from 'tap';
import { isOfRelease, releaseAnnotation } from '../../../runtime/domain/labels.ts';

t.test('an object belongs to the release that its annotation names', (t) => {
  const pod = { annotations: { [releaseAnnotation]: '12' } };
  t.ok(isOfRelease(pod, 12));
  t.notOk(isOfRelease(pod, 1));
  t.notOk(isOfRelease({}, 12));
  t.notOk(isOfRelease(undefined, 12));
  t.end();
});
