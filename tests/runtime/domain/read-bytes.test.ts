import { Readable } from 'node:stream';
import t from 'tap';
import { readBytes } from '../../../runtime/domain/read-bytes.ts';

const tooLarge = () => new Error('too large');

t.test('all bytes of a stream are collected, up to the limit', async (t) => {
  const bytes = await readBytes(Readable.from([Buffer.from('ab'), Buffer.from('c')]), 3, tooLarge);
  t.equal(bytes.toString(), 'abc');
  t.equal((await readBytes(null, 0, tooLarge)).length, 0);
});

t.test('a stream over the limit is refused at once, and its rest is discarded', async (t) => {
  let chunks = 0;
  const endless = new Readable({
    highWaterMark: 1,
    read() {
      chunks++;
      this.push(Buffer.alloc(2));
    },
  });
  await t.rejects(readBytes(endless, 3, tooLarge), { message: 'too large' });
  t.equal(endless.destroyed, true);
  t.ok(chunks < 10);
});
