import t from 'tap';
import { newId } from '../../runtime/domain/ids.ts';
import type { TokenScope } from '../../runtime/domain/token-scopes.ts';
import type { SessionToken } from '../../runtime/http/route.ts';
import { revisionsOfApp, variables } from '../support/revisions.ts';

const token = (...scopes: TokenScope[]): SessionToken => ({
  name: 'ci',
  projectId: newId(),
  project: 'shop',
  environmentId: null,
  environment: null,
  scopes,
  expiresAt: new Date('2099-01-01'),
  userRole: 'member',
  projectRole: 'deployer',
});

for (const [who, caller, sees] of [
  ['a viewer', { role: 'viewer' }, false],
  ['a token that only reads', { role: 'deployer', token: token('read') }, false],
  ['a token that deploys', { role: 'deployer', token: token('deploy') }, true],
  ['a deployer', { role: 'deployer' }, true],
] as const) {
  t.test(`a value that was replaced stays unreadable, unless the caller can restore it: ${who}`, async (t) => {
    const { rollOut, change, read } = await revisionsOfApp(t, caller);
    const old = { PASSWORD: 'leaked-password', LEVEL: 'debug', REMOVED: 'removed-password' };
    const now = { PASSWORD: '${TOKEN}', LEVEL: 'debug' };
    await rollOut({ settings: { port: 80, env: variables(old) }, environment: { ...old, TOKEN: 'hidden-token-1' } });
    await rollOut({
      settings: { port: 80, env: variables(now) },
      environment: { ...now, PASSWORD: 'hidden-token-2', TOKEN: 'hidden-token-2' },
    });
    await change({ env: variables(now) });
    const answers = [await read(1), await read(2), await read(1, '?compareWith=now'), await read(1, '?compareWith=2')];
    const texts = answers.map(({ text }) => text).join(' ');
    t.equal(texts.includes('leaked-password'), sees);
    t.equal(texts.includes('removed-password'), sees);
    t.notMatch(texts, /hidden-token|aGlkZGVu/, 'values of secrets stay in the cluster');
    t.notMatch(texts, /app-api-env/, 'names of environments are digests of values');
    t.match(answers[0]?.body.variables, [{ name: 'PASSWORD' }, { name: 'LEVEL', value: 'debug' }, { name: 'REMOVED' }]);
    t.match(answers[1]?.body.comparison.differences, [
      { kind: 'variable', name: 'PASSWORD', change: 'changed', after: '${TOKEN}' },
      { kind: 'variable', name: 'REMOVED', change: 'removed' },
      { kind: 'secret', name: 'TOKEN', change: 'changed' },
    ]);
  });
}
