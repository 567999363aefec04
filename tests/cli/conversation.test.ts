import t from 'tap';
import type { AssistantMessage } from '../../runtime/contracts/api/assistant.ts';
import { id, now, world } from './world.ts';

const root = '/api/v1/projects/shop/assistant/conversations';
const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
const view = { id, title: 'Why did it fail?', createdAt: ago(60), updatedAt: ago(5) };
const message: AssistantMessage = {
  id,
  question: 'Why did \u001b[2Jit fail?',
  files: [{ name: 'a.yaml', bytes: 8 }],
  status: 'answered',
  answer: 'It has no `PORT`.\n',
  tools: [],
  prepared: [{ method: 'PATCH', path: '/x', command: 'svc app env set api PORT=8080 --project shop' }],
  sources: [{ kind: 'app', name: 'api', project: 'shop', command: 'svc app show api --project shop' }],
  createdAt: ago(5),
};

t.test('conversations are listed, shown and deleted', async (t) => {
  const failed = { code: 'provider_cut_off', error: 'The connection ended.' };
  const { run, seen } = await world(t, {
    [`GET ${root}`]: { body: { items: [view] } },
    [`GET ${root}/${id}`]: {
      body: {
        ...view,
        messages: [
          message,
          { ...message, question: 'Since when?', files: [], answer: 'half', sources: [], prepared: [], error: failed },
          { ...message, question: 'And now?', files: [], answer: '', sources: [], prepared: [], status: 'cancelled' },
        ],
      },
    },
    [`DELETE ${root}/${id}`]: { status: 204 },
  });
  const list = await run(['conversation', 'list', '--project', 'shop']);
  t.match(list.stdout, /^CONVERSATION +TITLE +LAST MESSAGE\n/);
  t.match(list.stdout, `${id}   Why did it fail?   5 minutes ago`);
  t.equal((await run(['conversation', 'list', '-o', 'name'])).stdout, `${id}\n`);

  const { stdout, code } = await run(['conversation', 'show', id]);
  t.equal(code, 0);
  t.equal(
    stdout,
    [
      '5 minutes ago: Why did  [2Jit fail? (a.yaml)',
      'It has no `PORT`.',
      'Based on:\n  app api: svc app show api --project shop',
      'Prepared, not run:\n  svc app env set api PORT=8080 --project shop',
      '5 minutes ago: Since when?',
      'half',
      'The connection ended.',
      '5 minutes ago: And now?',
      'The answer was cancelled.\n',
    ].join('\n\n'),
  );

  t.match(await run(['conversation', 'delete', id, '--yes']), { code: 0, stderr: /conversation .* is deleted/ });
  t.equal(seen.at(-1)?.method, 'DELETE');
  t.match(await run(['conversation', 'show', 'none']), { code: 1 });
});

t.test('a conversation without messages', async (t) => {
  const { run } = await world(t, { [`GET ${root}/${id}`]: { body: { ...view, messages: [] } } });
  t.equal((await run(['conversation', 'show', id])).stdout, 'no messages\n');
});
