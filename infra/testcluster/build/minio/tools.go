// Package minio pins MinIO: go.mod names the command as a tool, so there is nothing to write here.
package minio
