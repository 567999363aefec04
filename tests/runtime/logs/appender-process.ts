import { systemClock } from '../../../runtime/domain/clock.ts';
import { createLogStore } from '../../../runtime/logs/store.ts';
import { silentLog } from '../../support/log.ts';
import { record } from './rig.ts';

/**
 * A process that appends batches until it is killed, for the tests of kills: <folder> <first sequence>. It prints the
 * sequence of each batch that the store has acknowledged.
 */
const [folder = '', first = '1'] = process.argv.slice(2);
const options = { clock: systemClock, log: silentLog, maxBytes: 1e9, sync: false, flushLength: 20_000 };
const store = createLogStore({ ...options, folder });
await store.start();
process.stdout.write('started\n');
for (let sequence = Number(first); ; sequence++) {
  const records = [0, 1, 2].flatMap((workload) =>
    Array.from({ length: 5 }, (_, index) =>
      record(`${sequence}-${index}`, sequence, { workload: { kind: 'app', name: `api-${workload}` } }),
    ),
  );
  await store.append({ shipper: { name: 'node-1', sequence }, records });
  process.stdout.write(`${sequence}\n`);
}
