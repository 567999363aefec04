import t, { type Test } from 'tap';
import { chat, type ChatEnd, type ChatMessage } from '../../../runtime/assistant/provider.ts';
import { ProviderError } from '../../../runtime/assistant/provider-error.ts';
import { beginStream, startScriptedProvider } from '../../support/scripted-provider.ts';

const event = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const delta = (value: object, finish: string | null = null) =>
  event({ choices: [{ delta: value, finish_reason: finish }] });
const call = (part: object) => delta({ tool_calls: [{ function: {}, ...part }] });

/** Reads answers of a provider, each of which is a text. */
async function rig(t: Test) {
  const provider = await startScriptedProvider(t);
  const read = async (
    stream: string,
    { messages = [{ role: 'user', content: '?' }] }: { messages?: ChatMessage[] } = {},
  ): Promise<{ content: string; code: string | undefined } & Partial<ChatEnd>> => {
    provider.script = [
      (response) => {
        beginStream(response);
        response.end(stream);
      },
    ];
    const settings = { url: provider.url, model: 'm', key: 'provider-key', networks: ['127.0.0.0/8'] };
    const tool = { name: 'show_logs', description: 'Shows logs.', inputSchema: { type: 'object' }, readOnly: true };
    const { signal } = new AbortController();
    const parts = chat(settings, { messages, tools: [tool], mayCall: true, signal, timeoutMs: 10_000 });
    let content = '';
    try {
      for (;;) {
        const { value, done } = await parts.next();
        if (done) return { content, code: undefined, ...value };
        content += value;
      }
    } catch (error) {
      if (error instanceof ProviderError) return { content, code: error.code };
      throw error;
    }
  };
  return { provider, read };
}

t.test('text, calls and usage are read', async (t) => {
  const { read } = await rig(t);
  const stream =
    ': comment\r\n' +
    'event: message\n' +
    delta({ role: 'assistant', content: '' }) +
    delta({ content: 'ä €' }) +
    delta({ content: '😀' }).replaceAll('\n', '\r\n') +
    delta({ content: null, reasoning_content: 'hidden' }) +
    call({ index: 0, id: 'a', function: { name: 'show_logs', arguments: '{"app"' } }) +
    call({ index: 1, id: 'b', function: { name: 'whoami' } }) +
    call({ index: 0, function: { arguments: ':"x"}' } }) +
    delta({}, 'tool_calls') +
    event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }) +
    event('[DONE]') +
    event('not JSON, after the end');
  t.same(await read(stream), {
    content: 'ä €😀',
    code: undefined,
    calls: [
      { id: 'a', name: 'show_logs', arguments: '{"app":"x"}' },
      { id: 'b', name: 'whoami', arguments: '' },
    ],
    usage: { inputTokens: 3, outputTokens: 4 },
    isCut: false,
  });
});

t.test('the request is a chat completion, and says nothing about the library', async (t) => {
  const { read, provider } = await rig(t);
  const calls = [
    { id: 'a', name: 'show_logs', arguments: '{"app":"x"}' },
    { id: 'b', name: 'whoami', arguments: '' },
  ];
  const messages: ChatMessage[] = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: '?' },
    { role: 'assistant', content: 'I look.', calls },
    ...calls.map((each) => ({ role: 'tool' as const, call: each, content: `result of ${each.id}` })),
  ];
  await read(delta({ content: 'a' }, 'stop'), { messages });
  const [request] = provider.requests;
  t.same(request?.body, {
    model: 'm',
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: '?' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'show_logs', arguments: '{"app":"x"}' } },
          { id: 'b', type: 'function', function: { name: 'whoami', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'result of a' },
      { role: 'tool', tool_call_id: 'b', content: 'result of b' },
    ],
    tools: [
      { type: 'function', function: { name: 'show_logs', description: 'Shows logs.', parameters: { type: 'object' } } },
    ],
    tool_choice: 'auto',
    stream: true,
    stream_options: { include_usage: true },
  });
  t.equal(request?.headers['user-agent'], 'svc-assistant/1');
  t.equal(request?.headers.authorization, 'Bearer provider-key');
  t.notMatch(JSON.stringify(request?.headers), /ai-sdk|node\.js/i);
});

t.test('servers that leave something out', async (t) => {
  const { read } = await rig(t);
  t.match(await read(delta({ content: 'a' }, 'length')), { content: 'a', isCut: true, usage: undefined }, 'no [DONE]');
  t.match(await read(delta({ content: 'a' }) + event('[DONE]')), { content: 'a', calls: [] }, 'no reason for the end');
  t.match(
    await read(
      call({ id: 'a', function: { name: 'one', arguments: '{}' } }) +
        call({ id: 'b', function: { name: 'two', arguments: '{' } }) +
        call({ function: { arguments: '}' } }) +
        event('[DONE]'),
    ),
    {
      calls: [
        { id: 'a', name: 'one', arguments: '{}' },
        { id: 'b', name: 'two', arguments: '{}' },
      ],
    },
    'no index',
  );
  t.match(
    await read(call({ index: 0, function: { name: 'one' } }) + event('[DONE]')),
    { calls: [{ id: /./, name: 'one' }] },
    'no id',
  );
});

t.test('what is no answer has a code', async (t) => {
  const { read } = await rig(t);
  const usage = (value: object) => event({ choices: [], usage: value }) + delta({}, 'stop');
  const cases: [string, string, string][] = [
    ['nothing', '', 'provider_cut_off'],
    ['no end', delta({ content: 'a' }), 'provider_cut_off'],
    ['no JSON', event('{"choices"'), 'provider_invalid'],
    ['no chunk', event('[]'), 'provider_invalid'],
    ['a number as text', delta({ content: 1 }), 'provider_invalid'],
    ['an error', event({ error: { message: 'overloaded' } }), 'provider_failed'],
    ['negative tokens', usage({ prompt_tokens: -1, completion_tokens: 0 }), 'provider_invalid'],
    ['endless tokens', usage({ prompt_tokens: 1e308, completion_tokens: 0 }), 'provider_invalid'],
    ['a line without end', `data: ${'x'.repeat(300_000)}`, 'provider_invalid'],
    ['a call without a name', call({ index: 0, id: 'a' }) + event('[DONE]'), 'provider_invalid'],
    ['a dangerous field', event('{"__proto__":{"x":1},"choices":[]}'), 'provider_invalid'],
    [
      'many calls',
      delta({
        tool_calls: Array.from({ length: 9 }, (_, index) => ({ index, id: `${index}`, function: { name: 'a' } })),
      }),
      'provider_invalid',
    ],
    [
      'a long name',
      call({ index: 0, id: 'a', function: { name: 'x'.repeat(201) } }) + event('[DONE]'),
      'provider_invalid',
    ],
    [
      'long arguments',
      call({ index: 0, id: 'a', function: { name: 'a', arguments: 'x'.repeat(16 * 1024 + 1) } }),
      'provider_invalid',
    ],
  ];
  for (const [name, stream, code] of cases) t.equal((await read(stream)).code, code, name);
});
