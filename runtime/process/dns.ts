import { Resolver } from 'node:dns/promises';

/** How long an attempt waits for a DNS server, in ms, and their number: a request of a user waits for the answer. */
const attemptMs = 2_000;
const attempts = 2;

/** Reads the TXT records of a name, each as its parts. @throws for a name without any, and when DNS does not answer */
export function resolveTxt(name: string): Promise<string[][]> {
  return new Resolver({ timeout: attemptMs, tries: attempts }).resolveTxt(name);
}
