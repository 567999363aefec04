// Package kwok pins the version of KWOK: go.mod declares its command as a tool, so this package has no code.
package kwok
