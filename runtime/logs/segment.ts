import type { FileHandle } from 'node:fs/promises';
import { decodeBlock, headerLength, isIntact, parseHeader, type BlockHeader } from './block.ts';
import { withFile, type Disk } from './disk.ts';

/** A block in a segment. */
export interface BlockPlace extends BlockHeader {
  offset: number;
}

/** The blocks of a segment up to `size`. Stops at the first byte that is no block: the rest of a write that was cut. */
export async function listBlocks(file: FileHandle, size: number): Promise<BlockPlace[]> {
  const blocks: BlockPlace[] = [];
  let offset = 0;
  while (offset + headerLength <= size) {
    const bytes = await readAt(file, offset, headerLength);
    const header = parseHeader(bytes);
    const end = offset + headerLength + (header?.length ?? 0);
    if (!header || end > size) break;
    blocks.push({ ...header, offset });
    offset = end;
  }
  return blocks;
}

/** The lines of a block as JSON lines; empty for a damaged block, so that one bad sector hides no other lines. */
export async function readBlock(path: string, place: BlockPlace): Promise<Buffer> {
  const block = await withFile(path, 'r', (file) => readAt(file, place.offset, headerLength + place.length));
  return isIntact(block, place) ? decodeBlock(block) : Buffer.alloc(0);
}

/**
 * Appends the blocks of a flush to a segment.
 * @param check first removes what an earlier write left: a cut block, and the blocks of the same flush
 * @returns the segment's size
 * @throws Error when the blocks are not stored; the segment is then as before
 */
export async function appendBlocks(
  path: string,
  blocks: Buffer,
  { generation, check, sync, disk }: { generation: number; check: boolean; sync: boolean; disk: Disk },
): Promise<number> {
  return withFile(path, 'a+', async (file) => {
    let { size } = await file.stat();
    if (check) {
      const intact = (await listBlocks(file, size)).filter((block) => block.generation < generation);
      const last = intact.at(-1);
      size = last ? last.offset + headerLength + last.length : 0;
      await file.truncate(size);
    }
    try {
      await disk.append(file, blocks);
      if (sync) await file.datasync();
    } catch (error) {
      await file.truncate(size).catch(() => undefined);
      throw error;
    }
    return size + blocks.length;
  });
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(bytes, 0, length, offset);
  return bytes.subarray(0, bytesRead);
}
