import { executionAsyncResource } from 'node:async_hooks';

/**
 * Takes the place of the package `async-hook-domain` in test processes. By it, tap finds the test that an error which nothing
 * catches belongs to. The package follows every promise to the test that made it, which takes a large part of a test's
 * time. The tests of one file run one after another, so such an error belongs to the innermost test that has started.
 */

type Owner = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin) => void;

/** In the order of their construction: after a test come those of its file that wait for its end, and then its own. */
const running: Domain[] = [];

process.on('uncaughtExceptionMonitor', (error, origin) => {
  // A test that handles such errors itself expects them.
  if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
  const owner = running.findLast((domain) => domain.test?.started) ?? running[0];
  if (!owner) return;
  owner.onerror(error, origin);
  // The process goes on with the next test.
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
});

/** From a test's construction to its end. tap constructs it in the test's asynchronous resource. */
export class Domain {
  readonly #owner: Owner;
  readonly test: { readonly started: boolean } | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
    this.test = (executionAsyncResource() as { test?: { started: boolean } }).test;
    running.push(this);
  }

  onerror(...parameters: Parameters<Owner>): void {
    this.#owner(...parameters);
  }

  destroy(): void {
    const index = running.lastIndexOf(this);
    if (index >= 0) running.splice(index, 1);
  }
}
