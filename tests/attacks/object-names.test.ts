import t from 'tap';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { tokenCredentials } from '../../runtime/kube/credentials.ts';
import { isKubeError } from '../../runtime/kube/kube-client.ts';
import { world } from '../cli/world.ts';
import { collectionPath, objectPath } from '../../runtime/kube/resource-paths.ts';

/**
 * Users choose names, which become parts of paths on the API server. It decodes a path before it divides it, so that
 * `api%2Fstatus` would address a subresource, and `..` another object.
 */
const hostile = ['.', '..', 'api/status', '../secrets/svc-admin', '/', '%2e%2e', 'api%2Fstatus', 'a/../../b'];

const refused = { message: /^no object has the name/ };

t.test('a name that no object can have reaches no path', (t) => {
  for (const name of hostile) {
    t.throws(() => objectPath(kinds.App, name, 'shop-prod'), refused, name);
    t.throws(() => objectPath(kinds.App, 'api', name), refused, `namespace ${name}`);
    t.throws(() => collectionPath(kinds.App, name), refused, `collection of ${name}`);
  }
  t.equal(
    objectPath(kinds.App, 'a b?c#d\r\n', 'shop-prod'),
    '/apis/platform.svc/v1/namespaces/shop-prod/apps/a%20b%3Fc%23d%0D%0A',
  );
  t.end();
});

t.test('reading or deleting such an object finds nothing, and sends no request', async (t) => {
  const requests: string[] = [];
  const credentials = tokenCredentials('https://127.0.0.1:1', () => {
    requests.push('credentials');
    return Promise.reject(new Error('a request was made'));
  });
  const kube = createKubeClient(credentials);
  t.teardown(() => kube.close());
  for (const name of hostile) {
    t.equal(await kube.get(kinds.Secret, name, 'shop-prod'), undefined, `get ${name}`);
    t.equal(await kube.delete({ ...kinds.Secret, name, namespace: 'shop-prod' }), false, `delete ${name}`);
    const patched = await kube
      .mergePatch({ ...kinds.App, name, namespace: 'shop-prod' }, {})
      .catch((error: unknown) => error);
    t.ok(isKubeError(patched, 404), `patch ${name}`);
  }
  t.same(requests, []);
});

t.test('the command line sends nothing for a name that would address what is above it', async (t) => {
  const { run, seen } = await world(t);
  for (const name of ['', '.', '..']) {
    for (const args of [
      ['app', 'delete', name, '--yes', '--project', 'shop'],
      ['app', 'show', 'api', '--project', name],
      ['project', 'delete', name, '--yes'],
      ['user', 'delete', name, '--yes'],
      ['notification', 'redeliver', 'ops', name, '--project', 'shop'],
      ['app', 'secret', 'unset', 'api', name, '--project', 'shop'],
    ]) {
      const { code, stderr } = await run(args);
      t.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    }
  }
  t.same(seen, []);
});
