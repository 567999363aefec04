import t from 'tap';
import { commandOf, placeFlags } from '../../../functions/console/ui/api/command.ts';

t.test('a command that is copied does what it shows, whatever a name or an address contains', async (t) => {
  t.equal(
    commandOf('app', 'show', 'api', undefined, ...placeFlags({ project: 'shop', environment: 'prod' })),
    'svc app show api --project shop --environment prod',
  );
  t.equal(commandOf('a b', '$(id)', "it's", ''), `svc 'a b' '$(id)' 'it'\\''s' ''`);
  t.equal(commandOf('run\u0003rm\u001B[2J\u202Ex'), `svc 'runrm[2Jx'`, 'a terminal obeys control characters in quotes');
  t.equal(commandOf('two\nlines'), `svc 'two\nlines'`);
});
