// Package traefik pins Traefik: go.mod names the command as a tool, so there is nothing to write here.
package traefik
