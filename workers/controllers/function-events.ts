import type { FunctionEvents, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { WorkloadIdentity } from './workload.ts';

export interface EventRecords {
  /**
   * Has a function's data source read as it is now, or no more. Repeating it is free.
   * @returns why it could not be read, or nothing be marked as done in it, the last time; undefined where both went well
   */
  projectEvents(workloadId: Id, settings: FunctionEvents | undefined): Promise<string | undefined>;
}

/** Hands a function's data source to the queue that reads it. @returns what is wrong with it, for the function's status */
export async function sourceProblem(
  records: EventRecords,
  { events }: Pick<FunctionSpec, 'events'>,
  { id }: Pick<WorkloadIdentity, 'id'>,
): Promise<string | undefined> {
  const problem = await records.projectEvents(id, events);
  return events && problem !== undefined ? `Data source "${events.source}": ${problem}` : undefined;
}
