module github.com/dolthub/gozstd

go 1.26

require github.com/klauspost/compress v1.18.7
