import { setTimeout as wait } from 'node:timers/promises';
import type { Platform } from './platform.ts';

/** A request of a load and its answer. */
export interface NodeCall {
  /** What was asked. */
  name: string;
  sentAt: number;
  tookMs: number;
  /** 0 without an answer in time. */
  status: number;
  expected: number;
}

/** A request that a load repeats. */
interface Question {
  url: string;
  headers?: Record<string, string>;
  /** The status of the right answer; default 200. */
  status?: number;
}

/** Requests in the background, while nodes are disturbed. */
export interface NodeLoad {
  calls: NodeCall[];
  /** Resolves when the last request has been answered. */
  stop(): Promise<NodeCall[]>;
}

/** After this time, a client gives up. */
const patienceMs = 10_000;
const pauseMs = 25;

/** Repeats each question, one request after the other, on `width` connections. */
export function startNodeLoad(platform: Platform, questions: Record<string, Question>, width = 2): NodeLoad {
  const calls: NodeCall[] = [];
  const stopping = new AbortController();
  const loop = async (name: string, { url, headers = {}, status: expected = 200 }: Question) => {
    while (!stopping.signal.aborted) {
      const sentAt = performance.now();
      const signal = AbortSignal.timeout(patienceMs);
      const { status } = await platform.request(url, { headers, signal }).catch(() => ({ status: 0 }));
      calls.push({ name, sentAt, tookMs: performance.now() - sentAt, status, expected });
      await wait(pauseMs);
    }
  };
  const ended = Promise.all(
    Object.entries(questions).flatMap(([name, question]) => Array.from({ length: width }, () => loop(name, question))),
  );
  return {
    calls,
    async stop() {
      stopping.abort();
      await ended;
      return calls;
    },
  };
}

/** The requests of one question without the right answer. */
export function failedCalls(calls: readonly NodeCall[], name: string): NodeCall[] {
  return calls.filter((call) => call.name === name && call.status !== call.expected);
}

/** For each question, how many requests had which wrong answers, and when they were sent. */
export function summaries(calls: readonly NodeCall[], since: number): string[] {
  return [...new Set(calls.map(({ name }) => name))].map((name) => {
    const failed = failedCalls(calls, name);
    const seconds = failed.map(({ sentAt }) => Math.round((sentAt - since) / 100) / 10);
    const statuses = [...new Set(failed.map(({ status }) => status))].map(
      (status) => `${failed.filter((call) => call.status === status).length} with ${status}`,
    );
    const all = calls.filter((call) => call.name === name);
    const slowest = Math.round(Math.max(...all.map(({ tookMs }) => tookMs)));
    const wrong = failed.length === 0 ? '' : ` (${statuses.join(', ')}, sent at ${seconds[0]} to ${seconds.at(-1)} s)`;
    return `${name}: ${all.length} requests, ${failed.length} failed${wrong}, the slowest took ${slowest} ms`;
  });
}
