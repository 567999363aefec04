import t from 'tap';
import { countWaiting } from '../../../runtime/api/waiting-messages.ts';

t.test('many small messages stop the sender as few large ones do', (t) => {
  for (const length of [0, 1, 100, 64 * 1024]) {
    const calls: string[] = [];
    const count = countWaiting({ pause: () => calls.push('pause'), resume: () => calls.push('resume') });
    const sent: (() => void)[] = [];
    while (!calls.includes('pause') && sent.length < 10_000) sent.push(count(length));
    t.ok(sent.length <= 513, `${sent.length} messages of ${length} bytes wait at most`);
    for (const done of sent.slice(0, Math.ceil(sent.length / 2) + 1)) done();
    t.equal(calls.at(-1), 'resume', 'it goes on when half of them are sent');
  }
  t.end();
});
