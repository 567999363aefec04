/** How far a log was read: every line before `time`, and `count` lines with that time, because lines can share one. */
interface Position {
  time: string;
  count: number;
}

/** Tells the new lines of one log from those that repeat after it was opened again. */
export interface LogPosition {
  /** The time of the last line that was read; undefined before the first one with a time. */
  time(): string | undefined;
  /** Call it before the log is read again from {@link time} or an earlier time. */
  reopen(): void;
  /**
   * Whether the next line is new. A line without a time always is.
   * @param time of the line, in a form that can be compared as text; may be empty
   */
  isNew(time: string): boolean;
}

/** The beginning of a log. */
export function createLogPosition(): LogPosition {
  let last: Position | undefined;
  /** The lines that are still expected to repeat. */
  let repeated: Position | undefined;
  return {
    time: () => last?.time,
    reopen() {
      repeated = last && { ...last };
    },
    isNew(time) {
      if (time === '') return true;
      if (repeated) {
        if (time < repeated.time) return false;
        if (time === repeated.time && repeated.count > 0) {
          repeated.count -= 1;
          return false;
        }
        repeated = undefined;
      }
      last = { time, count: time === last?.time ? last.count + 1 : 1 };
      return true;
    },
  };
}
