// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const cgroups = "/sys/fs/cgroup"

// unified says that the machine has cgroup v2 alone; otherwise every controller has a tree of its own.
func unified() bool {
	_, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers"))
	return err == nil
}

// trees are the roots of all cgroup trees.
func trees() ([]string, error) {
	if unified() {
		return []string{cgroups}, nil
	}
	entries, err := os.ReadDir(cgroups)
	var found []string
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, filepath.Join(cgroups, e.Name()))
		}
	}
	return found, err
}

// makeGroup makes a cgroup in every tree.
func makeGroup(path ...string) error {
	all, err := trees()
	if err != nil {
		return err
	}
	for _, group := range all {
		for _, name := range path {
			parent := group
			group = filepath.Join(group, name)
			if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			// A cgroup of cpuset takes no process before it has processors and memory.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				text, err := os.ReadFile(filepath.Join(parent, file))
				if err != nil || unified() {
					continue
				}
				if err := os.WriteFile(filepath.Join(group, file), text, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeGroups removes a cgroup and those below it from every tree. Their last processes may still be ending.
func removeGroups(name string) error {
	all, err := trees()
	if err != nil {
		return err
	}
	for _, tree := range all {
		group := filepath.Join(tree, name)
		end := time.Now().Add(20 * time.Second)
		for {
			if err = removeTree(group); err == nil || time.Now().After(end) {
				break
			}
			<-time.After(100 * time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a folder of folders, the innermost first. The files of a cgroup go with it.
func removeTree(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, folder := range slices.Backward(folders) {
		if problem := os.Remove(folder); problem != nil && !errors.Is(problem, fs.ErrNotExist) {
			err = errors.Join(err, problem)
		}
	}
	return err
}

// containerMemory is the memory of a container, from its cgroup, in MiB: its limit, and the most that it has used.
func containerMemory(group, container string) (limit, most float64, err error) {
	root, limitFile, mostFile := filepath.Join(cgroups, "memory", group), "memory.limit_in_bytes",
		"memory.max_usage_in_bytes"
	if unified() {
		root, limitFile, mostFile = filepath.Join(cgroups, group), "memory.max", "memory.peak"
	}
	folder := ""
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == container {
			folder = path
		}
		return nil // others come and go
	})
	if err != nil || folder == "" {
		return 0, 0, errors.Join(fmt.Errorf("container %s has no cgroup below %s", container, root), err)
	}
	limit, err = mebibytes(filepath.Join(folder, limitFile))
	most, second := mebibytes(filepath.Join(folder, mostFile))
	return limit, most, errors.Join(err, second)
}

func mebibytes(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	bytes, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return bytes / (1 << 20), err
}
