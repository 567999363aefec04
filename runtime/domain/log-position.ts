/**
 * A place between two lines of a log: after every line before `time`, and after `count` lines with that time, because lines
 * can share one.
 */
export interface LineStart {
  time: string;
  count: number;
}

/** Tells the new lines of one log from those that repeat after it was opened again. */
export interface LogPosition {
  /** The time of the last line that was read; undefined before the first one with a time. */
  time(): string | undefined;
  /** Before the log is first read: lines before `start` are not new. */
  startAfter(start: LineStart): void;
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
  let last: LineStart | undefined;
  /** The lines that are still expected to repeat. */
  let repeated: LineStart | undefined;
  return {
    time: () => last?.time,
    startAfter(start) {
      last = { ...start };
      repeated = { ...start };
    },
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
