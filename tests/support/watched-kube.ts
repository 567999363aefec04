import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { KubeClient, WatchEvent } from '../../runtime/kube/kube-client.ts';
import type { FakeKube } from './fake-kube.ts';

/** An API server whose watches a test interrupts. */
export interface WatchedKube {
  kube: FakeKube;
  /** From now on, watches are open but deliver nothing, until {@link WatchedKube.resume}. */
  hold(): void;
  resume(): void;
  /** Ends all watches; new ones are refused until {@link WatchedKube.accept}. */
  cut(): void;
  accept(): void;
}

/** Adds the interruptions to a fake API server. */
export function watchedKube(kube: FakeKube): WatchedKube {
  let held: PromiseWithResolvers<void> | undefined;
  let cutting = new AbortController();
  const watch = async function* <T extends KubeObject>(
    ...[kind, selection, signal, onOpen]: Parameters<KubeClient['watch']>
  ): AsyncIterable<WatchEvent<T>> {
    const { signal: cut } = cutting;
    if (cut.aborted) throw new Error('connection refused');
    const ended = AbortSignal.any([signal, cut]);
    for await (const event of kube.watch<T>(kind, selection, ended, onOpen)) {
      if (held) await Promise.race([held.promise, new Promise((resolve) => ended.addEventListener('abort', resolve))]);
      if (ended.aborted) break;
      yield event;
    }
    if (cut.aborted) throw new Error('connection lost');
  };
  return {
    // The calls are the same list.
    kube: Object.defineProperties(
      { ...kube, watch },
      {
        intercept: {
          get: () => kube.intercept,
          set: (intercept: FakeKube['intercept']) => {
            kube.intercept = intercept;
          },
        },
      },
    ),
    hold() {
      held = Promise.withResolvers();
    },
    resume() {
      held?.resolve();
      held = undefined;
    },
    cut: () => cutting.abort(),
    accept() {
      cutting = new AbortController();
    },
  };
}
