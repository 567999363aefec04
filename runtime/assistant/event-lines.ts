import { ProviderError } from './provider-error.ts';

/** Limits of one answer of a provider. */
const limits = { bytes: 4 * 1024 * 1024, lineLength: 256 * 1024, events: 50_000 } as const;

/** Bounds a stream of server-sent events, which a parser that trusts its sender then reads. */
export interface EventLines {
  /** @returns the complete lines that the bytes add, up to the end of the answer @throws ProviderError */
  push(bytes: Uint8Array): string;
  /** Whether the provider has said that it sends nothing more. */
  isDone(): boolean;
}

/** Bounds bytes, lines and events, and refuses what is not UTF-8. It keeps only the line that is not complete. */
export function createEventLines(): EventLines {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let [rest, bytes, events, isDone] = ['', 0, 0, false];

  return {
    push(more) {
      bytes += more.length;
      if (bytes > limits.bytes) throw invalid(`more than ${limits.bytes} bytes`);
      // Only the new text is searched: a provider that sends a long line byte by byte would else take quadratic time.
      const [first = '', ...others] = decode(decoder, more).split('\n');
      rest += first;
      const lines: string[] = [];
      for (const other of others) {
        lines.push(rest);
        rest = other;
      }
      let complete = '';
      for (const line of [...lines, rest]) {
        if (line.length > limits.lineLength) throw invalid('a line that is too long');
      }
      for (const line of lines) {
        if (isDone) break;
        complete += `${line}\n`;
        if (!line.startsWith('data:')) continue;
        if (++events > limits.events) throw invalid(`more than ${limits.events} events`);
        isDone = line.slice('data:'.length).trim() === '[DONE]';
      }
      return complete;
    },
    isDone: () => isDone,
  };
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw invalid('text that is not UTF-8');
  }
}

/** @param what what the provider sent */
export function invalid(what: string): ProviderError {
  return new ProviderError('provider_invalid', `the provider sent ${what}`);
}
