import type { RunInfo } from '../run-info.ts';
import { requestThroughIngress, type IngressAnswer, type IngressRequest } from './ingress.ts';
import { run } from './program.ts';

/** Runs the demo's commands, prints each with its output, and keeps all of it as Markdown. */
export interface Transcript {
  heading(title: string, prose: string): void;
  /** `svc …`; the answer is what it printed on stdout. @throws Error when it fails */
  svc(args: string[], options?: { input?: string; show?: string }): Promise<string>;
  /** As {@link svc}, shown nowhere. */
  quiet(args: string[]): Promise<string>;
  /**
   * A request through the ingress, shown as the curl command that does the same. Where the ingress does not know the host
   * yet (404), it is asked again, unseen.
   */
  curl(url: string, request?: IngressRequest): Promise<{ status: number; body: string }>;
  /** Asks, unseen, until the status is as wanted: what was just applied spreads within moments. */
  until(url: string, status: number, request?: IngressRequest): Promise<void>;
  /** Everything so far, with secrets masked. */
  markdown(): string;
}

/** @param options.print takes every piece of text as it comes */
export function createTranscript(options: { info: RunInfo; home: string; print: (text: string) => void }): Transcript {
  const { info, home } = options;
  const env = { XDG_CONFIG_HOME: home, SVC_API: info.api, NO_COLOR: '1' };
  const runSvc = (args: string[], input?: string) => run(process.execPath, ['cli/svc.js', ...args], { env, input });
  const send = (url: string, request: IngressRequest) => requestThroughIngress(info.ingress, url, request);
  let markdown = '';
  const emit = (shown: string) => {
    markdown += shown;
    options.print(shown);
  };
  const block = (command: string, output: string) =>
    emit(`\n\`\`\`console\n$ ${command}\n${output.trimEnd()}${output.trim() ? '\n' : ''}\`\`\`\n`);
  return {
    heading: (title, prose) => emit(`\n## ${title}\n\n${prose}\n`),
    svc: async (args, { input, show } = {}) => {
      const ended = await runSvc(args, input);
      block(show ?? `svc ${args.map(quoted).join(' ')}`, ended.stderr + ended.stdout);
      if (ended.code !== 0) throw new Error(`svc ${args.join(' ')} ended with code ${ended.code}`);
      return ended.stdout.trim();
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
    markdown: () => masked(markdown),
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

/** A document shows that there is a secret, not which. */
function masked(shown: string): string {
  return shown
    .replaceAll(/(svc_[a-z0-9]{8}_)[a-z0-9]{46}/g, '$1…')
    .replaceAll(/(svcwh_)[a-z0-9]{40}/g, '$1…')
    .replaceAll(/(whsec_)[A-Za-z0-9+/]{20,}=*/g, '$1…');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}

/** The headers that the walkthrough is about; the others would only make it longer. */
const shownHeaders = /^(content-type|retry-after|access-control-allow-origin|x-svc-cold-start|location)$/;

function shownHead({ headers }: IngressAnswer): string {
  return Object.entries(headers)
    .filter(([name]) => shownHeaders.test(name))
    .map(([name, value]) => `${name}: ${String(value)}\n`)
    .join('');
}
