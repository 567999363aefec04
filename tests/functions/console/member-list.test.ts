import t from 'tap';
import { hasMember } from '../../../functions/console/ui/projects/member-list.ts';

t.test('a member is found in every spelling of the address', (t) => {
  const members = [{ email: 'dana@example.com' }];
  for (const email of ['dana@example.com', ' Dana@Example.com']) t.ok(hasMember(members, email), email);
  for (const email of ['', 'dana', 'dana@example.co']) t.notOk(hasMember(members, email), email);
  t.end();
});
