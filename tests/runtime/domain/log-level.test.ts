import t from 'tap';
import { logLevels, severityOf } from '../../../runtime/domain/log-level.ts';

const levelOf = (line: string) => {
  const severity = severityOf(line);
  return severity === undefined ? undefined : logLevels[severity];
};
const of = (level: unknown) => levelOf(JSON.stringify({ level }));

t.test('words of several programs mean the same levels', async (t) => {
  for (const level of logLevels) t.equal(of(level), level);
  for (const [word, level] of [
    ['WARNING', 'warn'],
    ['Notice', 'info'],
    ['information', 'info'],
    ['verbose', 'debug'],
    ['err', 'error'],
    ['SEVERE', 'error'],
    ['critical', 'fatal'],
    ['ALERT', 'fatal'],
    ['emergency', 'fatal'],
    ['panic', 'fatal'],
  ] as const) {
    t.equal(of(word), level, word);
  }
  for (const word of ['', 'loud', 'toString', '__proto__', 'x'.repeat(10_000), ' info']) t.equal(of(word), undefined);
});

t.test('numbers are those of pino, and any other is the nearest level', async (t) => {
  const levels = [-Number.MAX_VALUE, -1, 0, 9, 10, 19, 20, 30, 40, 50, 59, 60, 70, Number.MAX_VALUE].map(of);
  const [trace, error, fatal] = ['trace', 'error', 'fatal'];
  t.same(levels, [
    ...[trace, trace, trace, trace, trace, trace, 'debug', 'info', 'warn'],
    ...[error, error, fatal, fatal, fatal],
  ]);
  t.equal(levelOf('{"level":1e999}'), undefined);
});

t.test('the first field that has a level decides', async (t) => {
  t.equal(levelOf('{"severity":"INFO"}'), 'info');
  t.equal(levelOf('{"lvl":"debug"}'), 'debug');
  t.equal(levelOf('{"severity":"info","lvl":"warn","level":"error"}'), 'error');
  t.equal(levelOf('{"severity":"info","lvl":"warn","level":"loud"}'), 'warn');
  t.equal(levelOf('{"severity":"info","lvl":null,"level":[]}'), 'info');
});

t.test('a line that is no JSON object with a level has none', async (t) => {
  t.equal(levelOf('  {"level":"info"}\n'), 'info', 'space around it');
  for (const line of [
    '',
    'level info',
    '"level"',
    'x {"level":"info"}',
    '["level"]',
    '[{"level":"info"}]',
    '{"level":"info"',
    '{"msg":"the level is info"}',
    '{"msg":"\\"level\\":\\"info\\""}',
    '{"a":{"level":"info"}}',
    '{"lev\\u0065l":"info"}',
  ]) {
    t.equal(levelOf(line), undefined, line);
  }
});
