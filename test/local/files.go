package local

import (
	"fmt"
	"os"
)

// OpenFiles is how many files and connections its process has open.
func (g *Gate) OpenFiles() (int, error) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.command.Process.Pid))
	return len(files), err
}
