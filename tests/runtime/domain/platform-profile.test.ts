import t from 'tap';
import { platformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';

const accepts = (builds: Record<string, number>) => {
  const parsed = platformConfigSpec.shape.builds.safeParse({
    image: 'r.test/builder:1',
    registry: 'r.test/builds',
    baseImages: {},
    ...builds,
  });
  return parsed.success;
};

t.test('settings of builds have a range', async (t) => {
  t.same(
    [9, 10, 86_400, 86_401].map((timeoutSeconds) => accepts({ timeoutSeconds })),
    [false, true, true, false],
  );
  t.same(
    [0, 1, 500, 501].map((keepImages) => accepts({ keepImages })),
    [false, true, true, false],
  );
});
