import { Writable } from 'node:stream';
import { pino, type Logger } from 'pino';

/** A logger that discards every entry. */
export const silentLog: Logger = pino({ level: 'silent' });

/** A logger whose entries a test can read. */
export function recordingLog(): { log: Logger; entries: Record<string, unknown>[]; text(): string } {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return {
    log: pino({ level: 'trace' }, stream),
    get entries() {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    text: () => lines.join(''),
  };
}
