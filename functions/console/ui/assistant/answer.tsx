import { CopyText } from '../parts/copy.tsx';
import type { Block, Span } from './answer-text.ts';

/** An answer. All of it is text: the console makes no links, images or HTML of what a model writes. */
export function Answer({ blocks }: { blocks: readonly Block[] }) {
  return (
    <div className="flex flex-col gap-2">
      {blocks.map((block, index) => (
        // Blocks are only added at the end, while the answer is written.
        <AnswerBlock key={index} block={block} />
      ))}
    </div>
  );
}

function AnswerBlock({ block }: { block: Block }) {
  switch (block.kind) {
    case 'code':
      return <CopyText value={block.text} />;
    case 'list': {
      const items = block.items.map((lines, index) => (
        <li key={index}>
          <Lines lines={lines} />
        </li>
      ));
      return block.ordered ? (
        <ol start={block.start} className="list-decimal pl-6">
          {items}
        </ol>
      ) : (
        <ul className="list-disc pl-6">{items}</ul>
      );
    }
    case 'table':
      return (
        <p className="font-mono text-xs whitespace-pre-wrap">
          <Lines lines={block.lines} />
        </p>
      );
    case 'heading':
    case 'paragraph':
    default:
      return (
        <p className={block.kind === 'heading' ? 'font-semibold' : ''}>
          <Lines lines={block.lines} />
        </p>
      );
  }
}

function Lines({ lines }: { lines: readonly Span[][] }) {
  return lines.map((spans, index) => (
    <span key={index}>
      {index > 0 && <br />}
      {spans.map((span, at) => (
        <SpanText key={at} span={span} />
      ))}
    </span>
  ));
}

function SpanText({ span: { kind, text } }: { span: Span }) {
  if (kind === 'code') return <code className="rounded bg-zinc-100 px-1 text-xs dark:bg-zinc-900">{text}</code>;
  return kind === 'strong' ? <strong>{text}</strong> : text;
}
