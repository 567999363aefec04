import t from 'tap';
import { createChatReader } from '../../../runtime/assistant/chat-reader.ts';
import { ProviderError } from '../../../runtime/assistant/provider-error.ts';

const event = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const delta = (value: object, finish: string | null = null) =>
  event({ choices: [{ delta: value, finish_reason: finish }] });

/** Reads a stream in parts of `size` bytes. */
function read(text: string | Buffer, size = 7) {
  const reader = createChatReader();
  const bytes = Buffer.from(text);
  let content = '';
  for (let at = 0; at < bytes.length; at += size) content += reader.push(bytes.subarray(at, at + size));
  return { content, ...reader.end() };
}

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'none';
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
}

t.test('text, calls and usage are read, however the bytes are divided', (t) => {
  const call = (index: number, part: object) => delta({ tool_calls: [{ index, ...part }] });
  const stream =
    ': comment\r\n' +
    'event: message\n' +
    delta({ role: 'assistant', content: '' }) +
    delta({ content: 'ä €' }) +
    delta({ content: '😀' }).replaceAll('\n', '\r\n') +
    delta({ content: null, reasoning_content: 'hidden' }) +
    call(0, { id: 'a', function: { name: 'show_logs', arguments: '{"app"' } }) +
    call(1, { id: 'b', function: { name: 'whoami' } }) +
    call(0, { function: { arguments: ':"x"}' } }) +
    delta({}, 'tool_calls') +
    event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }) +
    event('[DONE]') +
    event('not JSON, after the end');
  for (const size of [1, 3, 1_000]) {
    t.same(read(stream, size), {
      content: 'ä €😀',
      calls: [
        { id: 'a', name: 'show_logs', arguments: '{"app":"x"}' },
        { id: 'b', name: 'whoami', arguments: '' },
      ],
      usage: { inputTokens: 3, outputTokens: 4 },
      isCut: false,
    });
  }
  t.end();
});

t.test('servers that leave something out', (t) => {
  const call = (part: object) => delta({ tool_calls: [part] });
  t.match(read(delta({ content: 'a' }, 'length')), { content: 'a', isCut: true, usage: undefined }, 'no [DONE]');
  t.match(read(event('[DONE]')), { content: '', calls: [] });
  t.match(
    read(
      call({ id: 'a', function: { name: 'one', arguments: '{}' } }) +
        call({ id: 'b', function: { name: 'two', arguments: '{' } }) +
        call({ function: { arguments: '}' } }) +
        event('[DONE]'),
    ).calls,
    [
      { id: 'a', name: 'one', arguments: '{}' },
      { id: 'b', name: 'two', arguments: '{}' },
    ],
    'no index',
  );
  t.match(read(call({ index: 0, function: { name: 'one' } }) + event('[DONE]')).calls, [{ id: 'call_0' }], 'no id');
  t.end();
});

t.test('what is no answer has a code', (t) => {
  const cases: [string, string, string][] = [
    ['nothing', '', 'provider_cut_off'],
    ['no end', delta({ content: 'a' }), 'provider_cut_off'],
    ['no JSON', event('{"choices"'), 'provider_invalid'],
    ['no chunk', event('[]'), 'provider_invalid'],
    ['a number as text', delta({ content: 1 }), 'provider_invalid'],
    ['an error', event({ error: { message: 'overloaded' } }), 'provider_failed'],
    ['negative tokens', event({ usage: { prompt_tokens: -1 } }), 'provider_invalid'],
    ['endless tokens', event('{"usage":{"prompt_tokens":1e308}}'), 'provider_invalid'],
    ['a line without end', `data: ${'x'.repeat(300_000)}`, 'provider_invalid'],
    ['a long line', event('x'.repeat(300_000)), 'provider_invalid'],
    ['many events', event({}).repeat(50_001), 'provider_invalid'],
    ['many bytes', `${':'.repeat(1_000)}\n`.repeat(4_200), 'provider_invalid'],
    [
      'many calls',
      delta({ tool_calls: Array.from({ length: 9 }, (_, index) => ({ index, id: 'a' })) }),
      'provider_invalid',
    ],
    [
      'long arguments',
      delta({ tool_calls: [{ index: 0, function: { arguments: 'x'.repeat(16 * 1024 + 1) } }] }),
      'provider_invalid',
    ],
  ];
  for (const [name, stream, code] of cases)
    t.equal(
      codeOf(() => read(stream, 60_000)),
      code,
      name,
    );
  t.equal(
    codeOf(() => read(Buffer.from([0xff, 0xfe, 0x0a]))),
    'provider_invalid',
    'no UTF-8',
  );
  t.end();
});
