/**
 * Tells the readers of logs of each write. Writers and readers are in one process, so that readers need not look at the
 * files: a log that nothing writes to costs its followers nothing.
 */
export interface LogWatch {
  /** Call it when a log is opened for writing. */
  begin(file: string): void;
  /** Call it after each write. */
  notify(file: string): void;
  /** Call it when the log is complete. */
  end(file: string): void;
  /** Whether more can be written to a log. */
  isOpen(file: string): boolean;
  /** Calls `onChange` after each write to an open log, and when it ends. @returns a function that ends this */
  follow(file: string, onChange: () => void): () => void;
}

export function createLogWatch(): LogWatch {
  /** The open logs with their followers. */
  const logs = new Map<string, Set<() => void>>();
  const notify = (file: string) => {
    for (const onChange of logs.get(file) ?? []) onChange();
  };
  return {
    begin: (file) => void logs.set(file, logs.get(file) ?? new Set()),
    notify,
    end(file) {
      const followers = logs.get(file) ?? [];
      logs.delete(file);
      for (const onChange of followers) onChange();
    },
    isOpen: (file) => logs.has(file),
    follow(file, onChange) {
      const followers = logs.get(file);
      followers?.add(onChange);
      return () => void followers?.delete(onChange);
    },
  };
}
