// SPDX-License-Identifier: Apache-2.0

// Package jsonedit edits JSON documents by a sequence of bytes, for fuzz targets and property tests: a fuzzer and a
// random source can both drive it. It plants nulls and values of other types, copies a value of one place to another,
// and cuts, empties and reorders lists.
package jsonedit
