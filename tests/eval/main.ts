import { performance } from 'node:perf_hooks';
import { runTask } from './run.ts';
import { tasks } from './tasks.ts';

/**
 * `npm run eval`: asks a provider about recorded states of a platform, and prints which answers have the facts.
 * SVC_EVAL_URL, SVC_EVAL_MODEL and, if the provider needs one, SVC_EVAL_KEY name the provider; SVC_EVAL_NETWORK the private
 * network in which it is. Arguments select tasks by their names.
 */
const { SVC_EVAL_URL: url, SVC_EVAL_MODEL: model, SVC_EVAL_KEY: key, SVC_EVAL_NETWORK: network } = process.env;
if (!url || !model) {
  process.stderr.write('Set SVC_EVAL_URL and SVC_EVAL_MODEL, and SVC_EVAL_KEY if the provider needs a key.\n');
  process.exit(2);
}
const provider = { url: url.replace(/\/+$/, ''), model, key: key || undefined, networks: network ? [network] : [] };
const words = process.argv.slice(2);
const chosen = tasks.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));

const print = (line: string) => process.stdout.write(`${line}\n`);

let [passed, facts, stated, tokens] = [0, 0, 0, 0];
for (const task of chosen) {
  const start = performance.now();
  const verdict = await runTask(task, provider);
  const count = Object.keys(task.facts).length;
  passed += verdict.passed ? 1 : 0;
  facts += count;
  stated += count - verdict.missing.length;
  tokens += verdict.tokens;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  print(`${verdict.passed ? 'passed' : 'failed'} ${task.name} (${seconds} s, ${verdict.tokens} tokens)`);
  if (verdict.passed) continue;
  for (const name of verdict.missing) print(`  not stated: ${name}`);
  for (const fault of verdict.faults) print(`  ${fault}`);
  print(`  tools: ${verdict.tools.join(', ') || 'none'}`);
  print(`  answer: ${verdict.answer.replaceAll('\n', '\n    ')}`);
}
print(`${model}: ${passed} of ${chosen.length} tasks passed, ${stated} of ${facts} facts stated, ${tokens} tokens`);
