import t from 'tap';
import { componentNames, memoryCeilings, profileMemory, raisePauseMs } from '../../../runtime/domain/monitoring.ts';
import { platformProfiles } from '../../../runtime/domain/platform-profile.ts';
import { parseBytes } from '../../../runtime/domain/quantity.ts';

const bytesOf = (quantity: string) => parseBytes(quantity) ?? Number.NaN;

t.test('only the stores get more memory with the profile, up to half of their ceiling', async (t) => {
  for (const name of componentNames) {
    const limits = platformProfiles.map((profile) => bytesOf(profileMemory(name, profile)));
    t.same(
      limits,
      limits.toSorted((one, other) => one - other),
      name,
    );
    const isStore = name === 'metrics-store' || name === 'log-store';
    t.equal(new Set(limits).size > 1, isStore, name);
    t.equal(profileMemory(name), profileMemory(name, 'small'), 'the default');
    if (isStore) t.equal(limits.at(-1), bytesOf(memoryCeilings[name]) / 2);
  }
});

t.test('a store is raised at most every ten minutes', async (t) => {
  t.equal(raisePauseMs, 600_000);
});
