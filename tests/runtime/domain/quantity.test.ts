import t from 'tap';
import {
  canonicalBytes,
  canonicalCpu,
  checkBytes,
  checkCpu,
  checkLimits,
  formatBytes,
  parseBytes,
  parseMillicores,
} from '../../../runtime/domain/quantity.ts';

t.test('bytes are parsed in every unit, and formatted in the largest exact binary unit', (t) => {
  t.same(['64', '1k', '1M', '10G', '1T', '1P'].map(parseBytes), [64, 1e3, 1e6, 1e10, 1e12, 1e15]);
  t.same(
    ['1Ki', '1Mi', '1.5Gi', '1Ti', '2Pi'].map(parseBytes),
    [1024, 1_048_576, 1_610_612_736, 1_099_511_627_776, 2_251_799_813_685_248],
  );
  t.same(
    ['', 'Gi', '1gi', '-1Gi', '1e3', '1 Gi'].map(parseBytes),
    Array.from({ length: 6 }, () => undefined),
  );
  t.same([384 * 2 ** 20, 2 ** 30, 1e10, 1, 0].map(formatBytes), ['384Mi', '1Gi', '9765625Ki', '1Ki', '1Ki']);
  t.same([1025, 2 ** 40, 2 ** 50, 2 ** 60].map(formatBytes), ['2Ki', '1Ti', '1Pi', '1024Pi']);
  t.end();
});

t.test('the canonical form is the one in which the API server returns a quantity', (t) => {
  t.same(['1024Mi', '1.5Gi', '512Mi', 'lots'].map(canonicalBytes), ['1Gi', '1536Mi', '512Mi', 'lots']);
  t.same(['0.5', '1000m', '250m', '2', 'fast'].map(canonicalCpu), ['500m', '1', '250m', '2', 'fast']);
  t.same(['250m', '1.5', '0.001', '1e3', 'm'].map(parseMillicores), [250, 1500, 1, undefined, undefined]);
  t.end();
});

t.test('an invalid quantity is refused with an example', (t) => {
  t.equal(checkBytes('1Gi', 'size', { min: '1Mi' }), 2 ** 30);
  t.equal(checkBytes('1Mi', 'size', { min: '1Mi' }), 2 ** 20);
  t.throws(() => checkBytes('1Ki', 'size', { min: '1Mi' }), {
    code: 'invalid_value',
    message: /valid size value; use at least 1Mi/,
  });
  t.throws(() => checkBytes('big', 'memory', { min: '4Mi' }), { code: 'invalid_value', message: /valid memory value/ });
  for (const cpu of ['1m', '500m']) checkCpu(cpu);
  t.throws(() => checkCpu('0'), { code: 'invalid_value' });
  t.throws(() => checkCpu('fast'), { code: 'invalid_value' }, 'not a quantity');
  t.end();
});

t.test('limits that are present are checked', (t) => {
  for (const limits of [{}, { memory: null, cpu: null }, { memory: '4Mi', cpu: '1m' }]) checkLimits(limits);
  t.throws(() => checkLimits({ memory: '3Mi' }), { code: 'invalid_value', details: { field: 'memory' } });
  t.throws(() => checkLimits({ cpu: '0' }), { code: 'invalid_value', details: { field: 'cpu' } });
  t.end();
});
