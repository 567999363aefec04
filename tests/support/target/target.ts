import type { Platform } from '../platform.ts';
import { clusterTarget } from './cluster.ts';
import { localTarget } from './local.ts';

/** Something that ends what it was told of, such as a test. */
export interface Teardown {
  teardown(end: () => unknown): void;
}

/** What lies between the checkers and their store. */
export interface StoreSwitch {
  /** Drops what they send, in the way in which a network does that has failed: nobody is told. */
  cut(checkers: readonly { ip: string }[]): Promise<void>;
  restore(): Promise<void>;
}

/** What tests of faults do to the machine below the platform, each kind of platform in its own way. */
export interface Target {
  /**
   * Sends a signal to the process in a pod of the platform.
   * @param pod a pod's name, or `deploy/` and a Deployment's for any of its pods
   */
  signal(pod: string, signal: 'STOP' | 'KILL'): Promise<void>;
  /** Stops the process in a pod of the platform for so long. How long kubectl takes makes it no longer. */
  pause(pod: string, seconds: number): Promise<void>;
  /** Puts a switch between the checkers and their store, until the test ends; the checkers may be others afterwards. */
  storeSwitch(t: Teardown): Promise<StoreSwitch>;
  /**
   * A second ingress that believes what a client on this machine says about whom it forwards for: as one does behind a
   * load balancer. Gone when the test ends. @returns its address
   */
  trustingIngress(t: Teardown): Promise<string>;
}

/** The machine below the running platform. */
export function targetOf(platform: Platform): Target {
  return platform.info.target === 'local' ? localTarget(platform) : clusterTarget(platform);
}
