import { promisify } from 'node:util';
import { constants, crc32, zstdCompress, zstdDecompress } from 'node:zlib';
import type { StoredLine } from './record.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** A decoder skips a frame that begins with this number, so `zstdcat` reads a segment as JSON lines. */
const skippable = 0x184d2a50;
const mark = 0x314c5653;
const timeLength = 30;
const payloadLength = 28 + 2 * timeLength;
/** Bytes before the compressed lines of a block. */
export const headerLength = 8 + payloadLength;
/** Lines of a block in bytes before compression. A reader has a few blocks in memory. */
const blockBytes = 512 * 1024;
/** Of the decoder: a block in one piece, because many small ones cost more time than the decoding. */
const chunkSize = blockBytes + 64 * 1024;

/** What a segment says of one block of lines. */
export interface BlockHeader {
  /** The flush that wrote it. */
  generation: number;
  /** Bytes of the compressed lines. */
  length: number;
  count: number;
  oldest: string;
  newest: string;
  checksum: number;
}

/** Encodes lines, which are sorted by time and id, as blocks. */
export async function encodeBlocks(lines: readonly StoredLine[], generation: number): Promise<Buffer> {
  const blocks: Buffer[] = [];
  let texts: string[] = [];
  let bytes = 0;
  let first = 0;
  for (const [index, line] of lines.entries()) {
    const text = `${JSON.stringify(line)}\n`;
    texts.push(text);
    bytes += text.length;
    const isLast = index === lines.length - 1;
    if (bytes < blockBytes && !isLast) continue;
    const [oldest, newest] = [lines[first]?.time ?? '', line.time];
    blocks.push(await encodeBlock(texts.join(''), { generation, count: texts.length, oldest, newest }));
    texts = [];
    bytes = 0;
    first = index + 1;
  }
  return Buffer.concat(blocks);
}

async function encodeBlock(
  text: string,
  { generation, count, oldest, newest }: Pick<BlockHeader, 'generation' | 'count' | 'oldest' | 'newest'>,
): Promise<Buffer> {
  const data = await compress(Buffer.from(text), { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
  const header = Buffer.alloc(headerLength);
  header.writeUInt32LE(skippable, 0);
  header.writeUInt32LE(payloadLength, 4);
  header.writeUInt32LE(mark, 8);
  header.writeUInt32LE(data.length, 16);
  header.writeUInt32LE(count, 20);
  header.writeDoubleLE(generation, 24);
  header.write(oldest, 36, timeLength, 'latin1');
  header.write(newest, 36 + timeLength, timeLength, 'latin1');
  header.writeUInt32LE(crc32(data, crc32(header.subarray(16))), 12);
  return Buffer.concat([header, data]);
}

/** Reads a block's header; undefined for bytes that are none, such as those of a write that was cut. */
export function parseHeader(bytes: Buffer): BlockHeader | undefined {
  if (bytes.length < headerLength || bytes.readUInt32LE(0) !== skippable || bytes.readUInt32LE(8) !== mark) {
    return undefined;
  }
  return {
    checksum: bytes.readUInt32LE(12),
    length: bytes.readUInt32LE(16),
    count: bytes.readUInt32LE(20),
    generation: bytes.readDoubleLE(24),
    oldest: bytes.toString('latin1', 36, 36 + timeLength),
    newest: bytes.toString('latin1', 36 + timeLength, 36 + 2 * timeLength),
  };
}

/** Whether a block, header included, is complete. */
export function isIntact(block: Buffer, header: BlockHeader): boolean {
  if (block.length !== headerLength + header.length) return false;
  return crc32(block.subarray(headerLength), crc32(block.subarray(16, headerLength))) === header.checksum;
}

/** The lines of a block as JSON lines. */
export async function decodeBlock(block: Buffer): Promise<Buffer> {
  // A line is at most four bytes a character, and escaped six.
  return decompress(block.subarray(headerLength), { maxOutputLength: 8 * 1024 * 1024, chunkSize });
}
