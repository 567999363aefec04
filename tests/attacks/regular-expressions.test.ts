import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { parseSync, Visitor } from 'oxc-parser';
import t from 'tap';
import { customResourceDefinitions } from '../../infra/crds/custom-resources.ts';
import { storeEventsPath } from '../../runtime/contracts/event-exchange.ts';
import { apiKeySearch } from '../../runtime/domain/api-key.ts';
import { gitPatterns } from '../../runtime/domain/git-source.ts';
import { publicKeyPattern } from '../../runtime/domain/public-key.ts';
import { figureLine } from '../bench/figure.ts';
import { isSuperLinear } from '../support/growth.ts';
import { attacksOn, attackText, type Attack } from '../support/pattern-attacks.ts';

const root = join(import.meta.dirname, '../..');
/** What only operators and developers run on their own input is left out: the command line, the installer, test clusters. */
const folders = ['runtime', 'functions', 'gate', 'workers', 'infra/manifests', 'infra/images', 'infra/local'];

const name = '([a-z0-9-]{1,63})';
/** The expressions that are made of other texts, as they are for usual ones; none where the text is a literal elsewhere. */
const composed: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'functions/event-delivery/store-events.ts': [`^${storeEventsPath(name, name)}$`],
  'infra/images/builder/buildah.ts': [/^[ \t]*ARG\s(?:.*\s)?PIP_INDEX_URL(?:[\s=]|$)/im],
  'infra/local/apiserver/custom-resource.ts': [],
  'infra/local/apiserver/pattern.ts': [],
  'infra/local/apiserver/schema.ts': customResourceDefinitions.flatMap((definition) => patternsIn(definition)),
  'infra/local/ingress/objects.ts': [/^x[-_]svc[-_]key[-_].*$/iu],
  'infra/local/node/paths.ts': [/(?<![\w./~-])(?:\/data|\/var\/lib\/x)(?![\w.-])/g],
  'runtime/contracts/api/invocations.ts': [apiKeySearch],
  'runtime/domain/git-source.ts': Object.values(gitPatterns),
  'runtime/domain/public-key.ts': [publicKeyPattern],
  'runtime/process/log.ts': [/"(?:authorization|cookie|x-api-key)":/],
};

/** Every `pattern` of a schema. */
function patternsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    key === 'pattern' && typeof entry === 'string' ? [entry] : patternsIn(entry),
  );
}

/** The regular expressions of a source file. */
function expressionsIn(file: string): RegExp[] {
  const expressions: RegExp[] = [];
  let count = 0;
  const text = readFileSync(join(root, file), 'utf8');
  const visitor = new Visitor({
    Literal: (node) => {
      if ('regex' in node) expressions.push(new RegExp(node.regex.pattern, node.regex.flags));
    },
    NewExpression: ({ callee }) => {
      if (callee.type === 'Identifier' && callee.name === 'RegExp') count++;
    },
    CallExpression: ({ callee }) => {
      if (callee.type === 'Identifier' && callee.name === 'RegExp') count++;
    },
  });
  visitor.visit(parseSync(file, text).program);
  const listed = composed[file];
  if (count > 0 !== (listed !== undefined)) throw new Error(`${file}: list the composed expressions in this test`);
  return [...expressions, ...(listed ?? []).map((expression) => new RegExp(expression))];
}

/** Far more than linear work takes for 16 KiB, and far less than work of a higher degree or an exponential one. */
const suspiciousMicroseconds = 4_000;
/** From this on, much shorter texts show the growth as well, and sooner. */
const slowMicroseconds = 100_000;
/** Far more than {@link attacksAtOnce} attacks on a linear expression take, unless the machine is busy with other work. */
const endlessMs = 2_000;

/** How many attacks share a time limit, since setting one takes longer than an attack. */
const attacksAtOnce = 100;

/** An attack for which the time of an expression grows faster than its input; undefined if none is known. */
function effectiveAttack(expression: RegExp): Attack | undefined {
  // All matches, since that is what `replaceAll`, `matchAll` and `split` look for.
  const pattern = new RegExp(expression, expression.flags.replace('g', '').concat('g'));
  const attacks = attacksOn(pattern);
  let next = 0;
  while (next < attacks.length) {
    const { attack, endless, microseconds, tried } = suspiciousAttack(
      pattern,
      attacks.slice(next, next + attacksAtOnce),
    );
    next += tried;
    const isEffective =
      attack &&
      (endless ||
        isSuperLinear(
          (size) => attackText(attack, size),
          (text) => text.replace(pattern, ''),
          { size: microseconds < slowMicroseconds ? 4_096 : 1_024 },
        ));
    if (isEffective) return attack;
  }
  return undefined;
}

/**
 * The first attack that takes suspiciously long, if any, with its time, and how many were tried: an attack that succeeds
 * takes long. One that reached the time limit because of other work on the machine is not tried yet.
 */
function suspiciousAttack(
  pattern: RegExp,
  attacks: readonly Attack[],
): { attack: Attack | undefined; endless: boolean; microseconds: number; tried: number } {
  let tried = 0;
  let before = process.threadCpuUsage();
  const sinceBefore = () => {
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };
  let microseconds = 0;
  const run = () =>
    attacks.find((attack) => {
      tried++;
      const text = attackText(attack, 16_384);
      before = process.threadCpuUsage();
      text.replace(pattern, '');
      microseconds = sinceBefore();
      return microseconds >= suspiciousMicroseconds;
    });
  try {
    const attack = vm.runInNewContext('run()', { run }, { timeout: endlessMs }) as Attack | undefined;
    return { attack, endless: false, microseconds, tried };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    microseconds = sinceBefore();
    if (tried === 0 || microseconds < (endlessMs * 1_000) / 4) {
      return { attack: undefined, endless: false, microseconds, tried: Math.max(tried - 1, 0) };
    }
    return { attack: attacks[tried - 1], endless: true, microseconds, tried };
  }
}

t.test('the generated attacks find expressions of every harmful kind', (t) => {
  const harmful = [
    /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
    /\s*<[^>]*>\s*$/,
    /\/+$/,
    / \(default[^)]*\)$/,
    /[^\x20-\x7e]+|%|^ +| +$/g,
    /\ntransfer-encoding:[^\r]*\t/i,
    /^web:\s*(.+?)\s*$/m,
    /^([\w-]+):\s*(.*)$/,
    /^[^@]*(:latest|\/[^:@]+|^[^:@/]+)$/,
    /,(?![^(]*\))/,
    /<(Queue|Topic)Configuration>.*?<\/\1Configuration>/gs,
    /^(?:[^\\([{]|\[(?!\^?\])\^?(?:[^\\[\]]|\\[dDwW])+\])*$/u,
  ];
  for (const expression of harmful) t.ok(effectiveAttack(expression), String(expression));
  t.end();
});

t.test('the time of every expression for input from outside is linear', (t) => {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      // The built web console runs in browsers, and most of it is from packages.
      .filter((file) => /\.(?:tsx?|mjs|cjs|js)$/.test(file) && !file.startsWith('console/dist/'))
      .map((file) => `${folder}/${file}`),
  );
  const checkedExpressions = new Set<string>();
  for (const file of files) {
    for (const expression of expressionsIn(file)) {
      if (checkedExpressions.has(String(expression))) continue;
      checkedExpressions.add(String(expression));
      const attack = effectiveAttack(expression);
      t.notOk(attack, `${file}: ${String(expression)} ${attack ? JSON.stringify(attack) : ''}`);
    }
  }
  t.ok(checkedExpressions.size > 200, `${checkedExpressions.size} expressions`);
  t.comment(figureLine({ name: 'expressions.attacked', value: checkedExpressions.size, unit: 'expressions' }));
  t.same(
    Object.keys(composed).filter((file) => !files.includes(file)),
    [],
  );
  t.end();
});
