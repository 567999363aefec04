// Package traefik pins the version of Traefik: go.mod declares its command as a tool, so this package has no code.
package traefik
