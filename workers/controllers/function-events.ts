import type { FunctionEvents, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { WorkloadIdentity } from './workload.ts';

export interface EventRecords {
  /**
   * Starts, changes or stops reading a function's data source. Idempotent.
   * @returns why it could not be read, or events not be marked as done, the last time; undefined without a problem
   */
  projectEvents(workloadId: Id, settings: FunctionEvents | undefined): Promise<string | undefined>;
}

/**
 * Hands a function's data source to the queue that reads it.
 * @returns its problem, for the function's status
 */
export async function sourceProblem(
  records: EventRecords,
  { events }: Pick<FunctionSpec, 'events'>,
  { id }: Pick<WorkloadIdentity, 'id'>,
): Promise<string | undefined> {
  const problem = await records.projectEvents(id, events);
  return events && problem !== undefined ? `Data source "${events.source}": ${problem}` : undefined;
}
