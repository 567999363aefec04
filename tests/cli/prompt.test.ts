import { PassThrough, Writable } from 'node:stream';
import t from 'tap';
import type { Context } from '../../cli/context.ts';
import { ask, askHidden } from '../../cli/prompt.ts';

t.test('what is typed before a question is its answer', async (t) => {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  let shown = '';
  const stderr = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  const context = { stdin: keyboard, stderr } as unknown as Context;
  const question = (text: string) => ask(context, text, 'use a terminal');
  const first = question('Project');
  keyboard.write('shop\nprod\nsecret\nha');
  t.equal(await first, 'shop');
  t.equal(await question('Environment'), 'prod');
  t.equal(await askHidden(context, 'Password', 'use a terminal'), 'secret');
  const last = question('App');
  keyboard.write('llo\n');
  t.equal(await last, 'hallo');
  t.match(shown, /Environment: prod\nPassword: \n/, 'a secret is not shown');
});
