/** Runs teardowns at its end, as a test does. */
export interface Teardown {
  teardown(end: () => unknown): void;
}

/** A switch between the checkers and their store. */
interface StoreSwitch {
  /** Drops their traffic silently, as a failed network does. */
  cut(checkers: readonly { ip: string }[]): Promise<void>;
  restore(): Promise<void>;
}

/** The faults that tests cause in the machine below the platform, implemented by each target. */
export interface Target {
  /**
   * Sends a signal to the process in a pod of the platform.
   * @param pod a pod's name, or `deploy/` and a Deployment's for any of its pods
   */
  signal(pod: string, signal: 'STOP' | 'CONT' | 'KILL'): Promise<void>;
  /** Stops the process in a pod of the platform for exactly this time, independent of kubectl's speed. */
  pause(pod: string, seconds: number): Promise<void>;
  /** Puts a switch between the checkers and their store, until the test ends; this may replace the checkers. */
  storeSwitch(t: Teardown): Promise<StoreSwitch>;
  /**
   * A second ingress that trusts forwarded headers from clients on this machine, as behind a load balancer. Stopped at
   * the end of the test. @returns its address
   */
  trustingIngress(t: Teardown): Promise<string>;
}
