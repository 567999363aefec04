import t from 'tap';
import { includesRole, projectRoles } from '../../../runtime/domain/roles.ts';

t.test('each role includes itself and those before it', async (t) => {
  const included = projectRoles.map((role) => projectRoles.filter((needed) => includesRole(role, needed)));
  t.same(included, [['viewer'], ['viewer', 'deployer'], ['viewer', 'deployer', 'admin']]);
});
