import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { isAwayFromStorage, isOnLostNode, isUnplaced, placementText } from '../../../workers/controllers/placement.ts';

interface Case {
  node?: string;
  /** The scheduler's message. */
  refused?: string;
  ready?: boolean;
  containersReady?: boolean;
  deleted?: boolean;
}

function pod({ node, refused, ready = false, containersReady, deleted = false }: Case): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'api-1',
      namespace: 'shop-prod',
      uid: 'uid-1',
      resourceVersion: '1',
      ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { containers: [{ name: 'app' }], ...(node !== undefined && { nodeName: node }) },
    status: {
      phase: node === undefined ? 'Pending' : 'Running',
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False' },
        ...(refused === undefined
          ? []
          : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: refused }]),
      ],
      ...(containersReady !== undefined && {
        containerStatuses: [{ name: 'app', ready: containersReady, restartCount: 0, state: { running: {} } }],
      }),
    },
  };
}

const taint = "1 node(s) had untolerated taint(s), 1 node(s) didn't match PersistentVolume's node affinity";
const away = pod({ refused: `0/2 nodes are available: ${taint}.` });
const awayBefore = pod({ refused: '0/2 nodes are available: 2 node(s) had volume node affinity conflict.' });
const full = pod({ refused: '0/2 nodes are available: 2 Insufficient memory.' });
const lost = pod({ node: 'b', containersReady: true });
const starting = pod({ node: 'a', containersReady: false });
const serving = pod({ node: 'a', containersReady: true, ready: true });

t.test(
  'a pod without a node, and one whose storage is elsewhere, are told apart by the scheduler’s message',
  async (t) => {
    t.ok([away, awayBefore, full].every(isUnplaced));
    t.strictSame([away, awayBefore, full, starting].map(isAwayFromStorage), [true, true, false, false]);
    t.notOk(isUnplaced(starting));
    t.match(
      placementText([full], 'the new pods'),
      /^No node has room for the new pods: 0\/2 nodes .*Insufficient memory/,
    );
  },
);

t.test('a node is lost when its pod is declared not ready although its containers are', async (t) => {
  t.strictSame([lost, starting, serving, away].map(isOnLostNode), [true, false, false, false]);
  t.match(placementText([lost], 'its pods'), /^The node b does not respond\. Its pods are replaced/);
});

t.test('a pod on a lost node does not count once another one starts', async (t) => {
  const deleted = pod({ node: 'b', containersReady: true, deleted: true });
  t.equal(placementText([deleted, starting], 'its pods'), undefined);
  t.match(placementText([deleted], 'its pods'), /node b does not respond/);
  t.match(placementText([lost, serving], 'its pods'), /node b does not respond/);
  t.equal(placementText([starting], 'its pods'), undefined);
  t.equal(placementText([serving], 'its pods'), undefined);
});

t.test('pods that wait for their storage say where it is, and what to do', async (t) => {
  const text = placementText([away], 'its pods', 'b');
  t.match(
    text,
    /^The storage of a volume is on the node b, which does not accept its pods: it is lost, drained or full/,
  );
  t.match(text, /Bring b back\. If it is gone for good, so is the data: delete the volume.* restore a backup/);
  const deleted = pod({ node: 'c', containersReady: true, deleted: true });
  t.match(placementText([deleted, away], 'its pods'), /on the node c/, 'the node of the pod before it');
  t.match(
    placementText([awayBefore], 'the server'),
    /on a node, which does not accept the server.*Bring the node back/,
  );
  t.equal(placementText([pod({ refused: taint, deleted: true })], 'its pods'), undefined, 'one that is being deleted');
});
