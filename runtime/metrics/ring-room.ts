/** The series of one namespace. */
export interface Crowd<Member> {
  name: string;
  size: number;
  members: () => Member[];
  lastAt: (member: Member) => number;
}

/** A series without a value for this long belongs to a workload that has gone or is at rest. */
const restSeconds = 600;

/**
 * Chooses the series that makes room for a new one of a namespace when the ring is full: one of the namespace that has
 * most, so that a namespace with many workloads takes no room from the others. A namespace that itself has most gives a
 * series at rest, or gets no room. Pure.
 */
export function chooseVictim<Member>(
  namespace: string,
  crowds: Iterable<Crowd<Member>>,
  now: number,
): Member | undefined {
  let own: Crowd<Member> | undefined;
  let largest: Crowd<Member> | undefined;
  for (const crowd of crowds) {
    if (crowd.name === namespace) own = crowd;
    if (!largest || crowd.size > largest.size) largest = crowd;
  }
  if (!largest) return undefined;
  const takesFromOthers = largest.size > (own?.size ?? 0) + 1;
  const giver = takesFromOthers ? largest : own;
  if (!giver) return undefined;
  const oldest = giver.members().reduce((one, other) => (giver.lastAt(other) < giver.lastAt(one) ? other : one));
  return takesFromOthers || now - giver.lastAt(oldest) > restSeconds ? oldest : undefined;
}
