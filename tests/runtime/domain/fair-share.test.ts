import t from 'tap';
import { fairShare } from '../../../runtime/domain/fair-share.ts';

t.test('groups that fit get what they need', async (t) => {
  t.equal(fairShare([], 5), Infinity);
  t.equal(fairShare([1, 2, 3], 6), Infinity, 'no place is left');
  t.equal(fairShare([3, 3], 6), Infinity, 'each has exactly its share');
});

t.test('small groups leave their places to the large ones, which get the same', async (t) => {
  t.equal(fairShare([100, 1, 100], 21), 10);
  t.equal(fairShare([100, 1, 2, 100], 21), 9);
  t.equal(fairShare([1, 2, 3], 5), 2, 'one place is missing');
  t.equal(fairShare([4, 4], 7), 3, 'places are whole');
  t.equal(fairShare([5, 5], 1), 0);
});
