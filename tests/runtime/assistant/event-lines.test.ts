import t from 'tap';
import { createEventLines } from '../../../runtime/assistant/event-lines.ts';
import { ProviderError } from '../../../runtime/assistant/provider-error.ts';

/** Passes a stream on in parts of `size` bytes. */
function pass(text: string | Buffer, size: number) {
  const lines = createEventLines();
  const bytes = Buffer.from(text);
  let passed = '';
  for (let at = 0; at < bytes.length; at += size) passed += lines.push(bytes.subarray(at, at + size));
  return { passed, isDone: lines.isDone() };
}

t.test('complete lines are passed on up to the end of the answer, however the bytes are divided', (t) => {
  const answer = ': comment\r\nevent: message\ndata: {"text":"ä € 😀"}\n\ndata: [DONE]\n';
  for (const size of [1, 3, 1_000]) {
    t.same(pass(`${answer}\ndata: not JSON, after the end\n\n`, size), { passed: answer, isDone: true });
  }
  t.same(pass('data: {}\n\ndata: {"half', 5), { passed: 'data: {}\n\n', isDone: false });
  t.end();
});

t.test('what exceeds a limit or is no text is refused', (t) => {
  const cases: [string, string | Buffer, string][] = [
    ['a line without end', `data: ${'x'.repeat(300_000)}`, 'a line that is too long'],
    ['a long line', `data: ${'x'.repeat(300_000)}\n`, 'a line that is too long'],
    ['many events', 'data: {}\n\n'.repeat(50_001), 'more than 50000 events'],
    ['many bytes', `${':'.repeat(1_000)}\n`.repeat(4_200), 'more than 4194304 bytes'],
    ['no UTF-8', Buffer.from([0xff, 0xfe, 0x0a]), 'text that is not UTF-8'],
  ];
  for (const [name, stream, what] of cases) {
    t.throws(() => pass(stream, 60_000), new ProviderError('provider_invalid', `the provider sent ${what}`), name);
  }
  t.end();
});
