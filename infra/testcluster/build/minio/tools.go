// Package minio pins the version of MinIO: go.mod declares its command as a tool, so this package has no code.
package minio
