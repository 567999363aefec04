import { open, type FileHandle } from 'node:fs/promises';

/** The writes of the store, so that tests can make them fail. */
export interface Disk {
  /** Appends to an open file. @throws Error, such as ENOSPC; a part may have been written */
  append(file: FileHandle, bytes: Buffer): Promise<void>;
}

export const systemDisk: Disk = { append: (file, bytes) => file.appendFile(bytes) };

/** Whether a write failed because nothing more can be stored. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

/** Uses a file and closes it. */
export async function withFile<T>(path: string, flags: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags, 0o600);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Stores the names of new and renamed files in a folder. */
export async function syncFolder(path: string): Promise<void> {
  await withFile(path, 'r', (folder) => folder.sync());
}
