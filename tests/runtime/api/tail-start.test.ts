import t from 'tap';
import { followLogLines } from '../../../runtime/api/pod-log-lines.ts';
import { findTailStart } from '../../../runtime/api/tail-start.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { fakeKube } from '../../support/fake-kube.ts';

interface Part {
  time: string;
  text: string;
  isLast: boolean;
}

const timeOf = (ms: number) => `${new Date(Date.UTC(2026, 10, 22, 3) + ms).toISOString().slice(0, -1)}000000Z`;

/** The lines as a container runtime writes them, long ones in parts that have times of their own. */
function partsOf(lines: readonly { ms: number; text: string }[]): Part[] {
  return lines.flatMap(({ ms, text }) => {
    const parts = text.match(/.{1,16384}/g) ?? [''];
    return parts.map((part, at) => ({ time: timeOf(ms + at), text: part, isLast: at === parts.length - 1 }));
  });
}

/** As a kubelet: `tailLines` counts parts, `sinceTime` is a whole second, and the parts of a line are joined. */
function kubelet(parts: readonly Part[], requests: URLSearchParams[] = []): KubeClient['stream'] {
  return async function* (path) {
    const query = new URLSearchParams(path.split('?')[1]);
    requests.push(query);
    const since = (query.get('sinceTime') ?? '').slice(0, 19);
    const last = parts.slice(-Number(query.get('tailLines') ?? Infinity)).filter(({ time }) => time >= since);
    let text = '';
    for (const [at, part] of last.entries()) {
      if (at === 0 || last[at - 1]?.isLast === true) text += `${part.time} `;
      text += part.text + (part.isLast ? '\n' : '');
    }
    // As it arrives: not by lines.
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
  };
}

const long = (name: string) => `${name} ${'x'.repeat(50_000)}`;
const at = (ms: number, ...texts: string[]) => texts.map((text) => ({ ms, text }));

const logs = {
  'short lines': [...at(100, 'one'), ...at(200, 'two'), ...at(2_300, 'three'), ...at(2_400, 'four')],
  'long lines': [...at(100, long('one')), ...at(990, long('two')), ...at(2_000, long('three'))],
  'a long line at the end': [...at(1, 'one'), ...at(2, 'two'), ...at(3, 'three'), ...at(999, long('four'))],
  'lines of one time': [...at(1, 'zero'), ...at(5, 'a', 'b', 'c', 'd', 'd', 'e'), ...at(6, 'f')],
  'only lines of one time': at(5, 'a', 'b', 'b', 'c'),
  'a line of two kilobytes': [...at(1, 'one'), ...at(2, 'y'.repeat(3_000)), ...at(3, 'three')],
  'no line': [],
};

async function followed(stream: KubeClient['stream'], tail: number): Promise<string[]> {
  const kube = fakeKube();
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'api-1', namespace: 'shop-prod', labels: { app: 'api' } },
    spec: { containers: [{ name: 'app' }] },
    status: { containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: {} } }] },
  });
  kube.stream = stream;
  const source = { namespace: 'shop-prod', labelSelector: 'app=api', container: 'app' };
  const options = { clock: systemClock, signal: new AbortController().signal, hasEnded: () => Promise.resolve(true) };
  const lines: string[] = [];
  for await (const { line } of followLogLines(kube, source, { tail }, options)) lines.push(line);
  return lines;
}

for (const [name, lines] of Object.entries(logs)) {
  t.test(`following begins with whole lines, exactly as many as asked for: ${name}`, async (t) => {
    const texts = lines.map(({ text }) => text);
    for (let tail = 0; tail <= lines.length + 1; tail++) {
      const shown = await followed(kubelet(partsOf(lines)), tail);
      const expected = tail === 0 ? [] : texts.slice(-tail);
      t.ok(
        JSON.stringify(shown) === JSON.stringify(expected),
        `${tail}: ${shown.map((line) => line.slice(0, 9)).join()}`,
      );
    }
  });
}

t.test('a log of short lines is not read as a whole to find its last ones', async (t) => {
  const requests: URLSearchParams[] = [];
  const lines = Array.from({ length: 1_000 }, (_, n) => ({ ms: n * 10, text: `line ${n}` }));
  const stream = kubelet(partsOf(lines), requests);
  const { signal } = new AbortController();
  const read = (tailLines: number | undefined) => stream(`/log?tailLines=${tailLines ?? lines.length}`, signal);
  t.same(await findTailStart(read, 100), { time: timeOf(9_000), count: 0 });
  t.same(
    requests.map((query) => query.get('tailLines')),
    ['102'],
  );
});

t.test('a pod whose log could not be read at first is still followed from its last lines', async (t) => {
  const requests: URLSearchParams[] = [];
  const whole = kubelet(partsOf(logs['short lines']), requests);
  let failures = 1;
  const stream: KubeClient['stream'] = async function* (path, signal) {
    if (failures-- > 0) throw new Error('the node does not answer');
    yield* whole(path, signal);
  };
  const kube = fakeKube();
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'api-1', namespace: 'shop-prod', labels: { app: 'api' } },
    spec: { containers: [{ name: 'app' }] },
    status: { containerStatuses: [{ name: 'app', ready: true, restartCount: 0, state: { running: {} } }] },
  });
  kube.stream = stream;
  const source = { namespace: 'shop-prod', labelSelector: 'app=api', container: 'app' };
  const log = followLogLines(kube, source, { tail: 1 }, { clock: systemClock, signal: new AbortController().signal });
  t.match((await log.next()).value, { line: 'four' });
  await log.return(undefined);
});
