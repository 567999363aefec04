module testcluster/ferretdb

go 1.25.0

require github.com/FerretDB/FerretDB v1.24.2
