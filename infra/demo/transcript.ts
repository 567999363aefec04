import type { RunInfo } from '../run-info.ts';
import { requestThroughIngress, type IngressAnswer, type IngressRequest } from './ingress.ts';
import { run } from './program.ts';

/** Runs the demo's commands, prints each with its output, and records both as Markdown. */
export interface Transcript {
  heading(title: string, prose: string): void;
  /** Runs `svc` with these arguments. @returns its stdout @throws Error when it fails */
  svc(args: string[], options?: { input?: string; show?: string }): Promise<string>;
  /** As {@link svc}, without printing or recording it. */
  quiet(args: string[]): Promise<string>;
  /**
   * Sends a request through the ingress, shown as the equivalent curl command. Repeats it, without showing that, while the
   * ingress does not know the host yet (404).
   */
  curl(url: string, request?: IngressRequest): Promise<{ status: number; body: string }>;
  /** Repeats a request, without showing it, until it returns this status: a change takes a moment to apply. */
  until(url: string, status: number, request?: IngressRequest): Promise<void>;
  /** The record so far, with secrets masked. */
  markdown(): string;
}

/** @param options.print prints each piece of text immediately */
export function createTranscript(options: { info: RunInfo; home: string; print: (text: string) => void }): Transcript {
  const { info, home } = options;
  const env = { XDG_CONFIG_HOME: home, SVC_API: info.api, NO_COLOR: '1' };
  const runSvc = (args: string[], input?: string) => run(process.execPath, ['cli/svc.js', ...args], { env, input });
  const send = (url: string, request: IngressRequest) => requestThroughIngress(info.ingress, url, request);
  let markdown = '';
  const emit = (text: string) => {
    markdown += text;
    options.print(text);
  };
  const block = (command: string, output: string) =>
    emit(`\n\`\`\`console\n$ ${command}\n${output.trimEnd()}${output.trim() ? '\n' : ''}\`\`\`\n`);
  return {
    heading: (title, prose) => emit(`\n## ${title}\n\n${prose}\n`),
    svc: async (args, { input, show } = {}) => {
      const result = await runSvc(args, input);
      block(show ?? `svc ${args.map(quoted).join(' ')}`, result.stderr + result.stdout);
      if (result.code !== 0) throw new Error(`svc ${args.join(' ')} failed with exit code ${result.code}`);
      return result.stdout.trim();
    },
    quiet: async (args) => (await runSvc(args)).stdout,
    curl: async (url, request = {}) => {
      let answer = await send(url, request);
      while (answer.status === 404) answer = await pause().then(() => send(url, request));
      const flags = [
        ...(request.method ? [`-X ${request.method}`] : []),
        ...Object.entries(request.headers ?? {}).map(([name, value]) => `-H '${name}: ${String(value)}'`),
        ...(request.body === undefined ? [] : [`-d '${request.body}'`]),
      ];
      block(['curl -i', ...flags, url].join(' '), `HTTP/1.1 ${answer.status}\n${shownHead(answer)}\n${answer.body}`);
      return answer;
    },
    until: async (url, status, request = {}) => {
      while ((await send(url, request)).status !== status) {
        await pause();
      }
    },
    markdown: () => maskSecrets(markdown),
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

const passwordGroup = '[a-km-np-z2-9]{5}';
/** A one-time password, which has no prefix. */
const oneTimePassword = new RegExp(`(?<![\\w-])${passwordGroup}(?:-${passwordGroup}){3}(?![\\w-])`, 'g');

/** Removes secrets from a text, keeping their prefixes. */
export function maskSecrets(text: string): string {
  return (
    text
      // API keys and access tokens, with their handles.
      .replaceAll(/(svct?_[a-z0-9]{8}_)[a-z0-9]{46}/g, '$1…')
      // Tokens of webhooks, also in secret URLs, and of sessions.
      .replaceAll(/(svc(?:wh|s)_)[a-z0-9]{40}/g, '$1…')
      .replaceAll(/(whsec_)[A-Za-z0-9+/]{20,}=*/g, '$1…')
      .replaceAll(oneTimePassword, '…')
      // The password in the URL of a service or a repository.
      .replaceAll(/(\w:\/\/[^/\s:@]*:)[^/\s@]+@/g, '$1…@')
  );
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}

/** The headers that matter to the walkthrough. */
const shownHeaders = /^(content-type|retry-after|access-control-allow-origin|x-svc-cold-start|location)$/;

function shownHead({ headers }: IngressAnswer): string {
  return Object.entries(headers)
    .filter(([name]) => shownHeaders.test(name))
    .map(([name, value]) => `${name}: ${String(value)}\n`)
    .join('');
}
