package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	provisionerName  = "testcluster.svc/directory"
	claimAnnotation  = "volume.kubernetes.io/storage-provisioner" // set on a claim when its volume must be provisioned
	nodeAnnotation   = "volume.kubernetes.io/selected-node"       // the node of the first pod that mounts the claim
	volumeAnnotation = "pv.kubernetes.io/provisioned-by"
	nodeNameLabel    = "kubernetes.io/hostname"
	resyncPeriod     = time.Minute
	directoryMode    = 0o777 // pods run as any user, and every user can write to a new volume
	claimPrefix      = "claim/"
	volumePrefix     = "volume/"
	volumeNamePrefix = "pvc-"
)

type work = workqueue.TypedRateLimitingInterface[string]

// provisioner creates a directory on this node for each claim of its storage class, and deletes it with the volume.
type provisioner struct {
	client    kubernetes.Interface
	directory string
	node      string
	claims    cache.Indexer
	volumes   cache.Indexer
	queue     work
}

func newVolumeProvisionerCommand() *cobra.Command {
	var kubeconfig, directory, node string
	command := &cobra.Command{
		Use:          "volume-provisioner",
		Short:        "Provisions persistent volumes as directories of this node",
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runVolumeProvisioner(ctx, client, directory, node)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server")
	command.Flags().StringVar(&directory, "directory", "", "folder with a folder for each volume")
	command.Flags().StringVar(&node, "node", "", "name of the node that the volumes belong to")
	return command
}

func runVolumeProvisioner(ctx context.Context, client kubernetes.Interface, directory, node string) error {
	factory := informers.NewSharedInformerFactory(client, resyncPeriod)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	volumes := factory.Core().V1().PersistentVolumes().Informer()
	p := &provisioner{
		client: client, directory: directory, node: node,
		claims: claims.GetIndexer(), volumes: volumes.GetIndexer(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	for prefix, informer := range map[string]cache.SharedIndexInformer{claimPrefix: claims, volumePrefix: volumes} {
		enqueue := func(object any) {
			if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
				p.queue.Add(prefix + key)
			}
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, object any) { enqueue(object) },
		}); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), claims.HasSynced, volumes.HasSynced) {
		return ctx.Err()
	}
	go wait.UntilWithContext(ctx, p.process, time.Second)
	<-ctx.Done()
	p.queue.ShutDown()
	return nil
}

func (p *provisioner) process(ctx context.Context) {
	for {
		key, stopped := p.queue.Get()
		if stopped {
			return
		}
		err := p.reconcile(ctx, key)
		if err == nil {
			p.queue.Forget(key)
		} else {
			klog.ErrorS(err, "reconcile failed; it is retried", "key", key)
			p.queue.AddRateLimited(key)
		}
		p.queue.Done(key)
	}
}

func (p *provisioner) reconcile(ctx context.Context, key string) error {
	if name, isVolume := strings.CutPrefix(key, volumePrefix); isVolume {
		object, exists, err := p.volumes.GetByKey(name)
		if err != nil || !exists {
			return err
		}
		return p.remove(ctx, object.(*core.PersistentVolume))
	}
	name, _ := strings.CutPrefix(key, claimPrefix)
	object, exists, err := p.claims.GetByKey(name)
	if err != nil || !exists {
		return err
	}
	return p.provision(ctx, object.(*core.PersistentVolumeClaim))
}

func (p *provisioner) provision(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	if claim.Annotations[claimAnnotation] != provisionerName || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return nil
	}
	// The provisioner of the other node serves its own.
	if claim.Annotations[nodeAnnotation] != p.node {
		return nil
	}
	name := volumeNamePrefix + string(claim.UID)
	directory := filepath.Join(p.directory, name)
	if err := os.MkdirAll(directory, directoryMode); err != nil {
		return err
	}
	// MkdirAll is subject to the umask.
	if err := os.Chmod(directory, directoryMode); err != nil {
		return err
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, p.volume(name, directory, claim), meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		klog.InfoS("provisioned", "volume", name, "claim", claim.Namespace+"/"+claim.Name)
	}
	return err
}

func (p *provisioner) volume(name, directory string, claim *core.PersistentVolumeClaim) *core.PersistentVolume {
	className := ""
	if claim.Spec.StorageClassName != nil {
		className = *claim.Spec.StorageClassName
	}
	return &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{volumeAnnotation: provisionerName}},
		Spec: core.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      claim.Spec.Resources.Requests,
			PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimDelete,
			StorageClassName:              className,
			VolumeMode:                    claim.Spec.VolumeMode,
			// With the uid, a later claim of the same name cannot bind this volume.
			ClaimRef: &core.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: types.UID(claim.UID),
			},
			// The kubelet applies the pod's fsGroup to a local volume, but not to a hostPath volume.
			PersistentVolumeSource: core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: directory}},
			NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{
				NodeSelectorTerms: []core.NodeSelectorTerm{{MatchExpressions: []core.NodeSelectorRequirement{{
					Key: nodeNameLabel, Operator: core.NodeSelectorOpIn, Values: []string{p.node},
				}}}},
			}},
		},
	}
}

// owns reports whether the directory of a volume is on this node.
func (p *provisioner) owns(volume *core.PersistentVolume) bool {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return false
	}
	for _, term := range affinity.Required.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			if expression.Key == nodeNameLabel && len(expression.Values) == 1 && expression.Values[0] == p.node {
				return true
			}
		}
	}
	return false
}

func (p *provisioner) remove(ctx context.Context, volume *core.PersistentVolume) error {
	released := volume.Status.Phase == core.VolumeReleased
	deletable := volume.Spec.PersistentVolumeReclaimPolicy == core.PersistentVolumeReclaimDelete
	if !released || !deletable || volume.Annotations[volumeAnnotation] != provisionerName || volume.DeletionTimestamp != nil {
		return nil
	}
	if !p.owns(volume) {
		return nil
	}
	// The path is not read from the object, because others may write the object.
	if err := os.RemoveAll(filepath.Join(p.directory, filepath.Base(volume.Name))); err != nil {
		return fmt.Errorf("remove the directory of %s: %w", volume.Name, err)
	}
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, meta.DeleteOptions{
		Preconditions: &meta.Preconditions{UID: &volume.UID},
	})
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}
